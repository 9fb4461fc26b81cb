"""What a file's metadata are made of."""

import numpy as np
import tensorflow as tf

from form_examples import KINDS, V, dense
from kerascompact.export import facts
from kerascompact.forms import RowsForm


def test_equal_embeddings_of_two_models_are_one():
    (one, _), (same, _), (other, _) = dense(name="e"), dense(name="e"), dense(name="e", seed=1)
    assert len(facts.of_embeddings([one, same])) == 1
    assert len(facts.of_embeddings([one, other])) == 2
    (found,) = facts.of_embeddings([one])
    assert found == {
        "form": "DenseForm",
        "input_dim": V,
        "output_dim": 4,
        "stored_bits": 32 * V * 4,
        "paper_bits": None,
    }


def test_tables_of_every_form_are_looked_into():
    concat, _ = KINDS["concat"]()
    small = concat.quantize("int8")
    assert facts.precisions([concat]) == {"float32"} and facts.precisions([small]) == {"int8"}
    scales = facts.scales([small])
    assert sorted(scale.shape for scale in scales) == [(2,), (3,)]
    rows = RowsForm.from_table(np.eye(5), "int4", 32)
    (found,) = facts.rows([small, rows])
    assert (found.table.shape, found.scale.shape, found.block) == ((5, 32), (5, 1), 32)


def test_labels_of_any_number_of_outputs():
    assert facts.of_labels(None, []) is None
    assert facts.of_labels(("a", "b"), [tf.TensorShape([1, 2])]) == ["a", "b"]
    assert facts.of_labels(["a"], [tf.TensorShape([1, 2]), tf.TensorShape([1, 3])]) == ["a"]
    assert facts.of_vocabulary(None) is None
