"""What a file's metadata are made of."""

import numpy as np
import pytest
import tensorflow as tf

from form_examples import KINDS, V, dense
from kerascompact.export import metadata
from kerascompact.forms import RowScaledForm


def test_equal_embeddings_of_two_models_are_one():
    (one, _), (same, _), (other, _) = dense(name="e"), dense(name="e"), dense(name="e", seed=1)
    assert len(metadata.of_embeddings([one, same])) == 1
    assert len(metadata.of_embeddings([one, other])) == 2
    (found,) = metadata.of_embeddings([one])
    assert found == {
        "form": "DenseForm",
        "input_dim": V,
        "output_dim": 4,
        "stored_bits": 32 * V * 4,
        "paper_bits": None,
    }


def test_tables_of_every_form_are_looked_into():
    concat, _ = KINDS["concat"]()
    small = concat.stored_as("int8")
    assert metadata.precisions([concat]) == {"float32"} and metadata.precisions([small]) == {"int8"}
    rows = RowScaledForm.from_table(np.eye(5), "int4", 32)
    (found,) = metadata.row_scaled_tables([small, rows])
    assert (found.table.shape, found.scale.shape, found.block) == ((5, 32), (5, 1), 32)


def test_labels_of_any_number_of_outputs():
    assert metadata.of_labels(None, []) is None
    for ordered in (("a", "b"), {"a": 0, "b": 1}.keys()):
        assert metadata.of_labels(ordered, [tf.TensorShape([1, 2])]) == ["a", "b"]
    assert metadata.of_labels(["a"], [tf.TensorShape([1, 2]), tf.TensorShape([1, 3])]) == ["a"]
    for unordered in ({"a", "b"}, {"a": 0, "b": 1}, "ab"):
        with pytest.raises(ValueError, match="`labels` must be a list of .* in the order of the"):
            metadata.of_labels(unordered, [tf.TensorShape([1, 2])])
    assert metadata.of_vocabulary(None) is None
    two = [tf.TensorShape([1, 2])]
    assert metadata.of_outputs(None, two, True) is None
    assert metadata.of_outputs(None, two, True, of_text=True)  # readers number the labels
