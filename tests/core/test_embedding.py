"""What trainable embeddings and forms have in common."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import forms, layers
from kerascompact.core.embedding import BaseEmbedding, TableEmbedding

TABLE = np.eye(3, 2, dtype=np.float32)


def classes(room, wanted):
    found = [getattr(room, name) for name in room.__all__]
    return [one for one in found if isinstance(one, type) and wanted(one.__name__)]


@pytest.mark.parametrize(
    "kind",
    [
        *classes(layers, lambda name: name.endswith("Embedding") and name != "Embedding"),
        *classes(forms, lambda name: name.endswith("Form")),
    ],
)
def test_every_embedding_and_form_is_one(kind):
    assert issubclass(kind, BaseEmbedding)
    assert issubclass(kind, TableEmbedding) or kind is layers.ProjectionEmbedding


@pytest.mark.parametrize(
    "kind", [layers.BitCache, layers.WordLogits, layers.Embedding, keras.layers.Embedding]
)
def test_other_layers_are_none(kind):
    assert not issubclass(kind, BaseEmbedding)


@pytest.mark.parametrize("dtype, largest", [("float16", 2048), ("bfloat16", 256)])
def test_float_ids_that_mixed_precision_has_made_too_coarse_are_refused(dtype, largest):
    """Keras casts the float ids of a model without an `Input`: 2049 would be the word 2048."""
    layer, ids = layers.LowRankEmbedding(largest + 1, 2, 1), tf.constant([0, largest], dtype)
    np.testing.assert_array_equal(layer(ids), layer(np.array([0, largest])))
    more = tf.function(layers.LowRankEmbedding(largest + 2, 2, 1), autograph=False)
    with pytest.raises(ValueError, match=f"{dtype} tells no ids above {largest} apart"):
        more(ids)


def test_a_form_is_its_own_form():
    form = forms.DenseForm.from_arrays({"table": TABLE}, input_dim=3, output_dim=2)
    assert form.to_form() is form


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TableEmbedding(0, 2), "`input_dim` must be an integer"),
        (lambda: TableEmbedding(3, 2.5), "`output_dim` must be an integer"),
        (lambda: BaseEmbedding(2, mask_zero=1), "`mask_zero` must be"),
        (lambda: BaseEmbedding(2).check_built(), "has no weights yet"),
    ],
)
def test_refuses(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_configuration_holds_the_sizes():
    config = TableEmbedding(3, 2, mask_zero=True).get_config()
    assert [config[name] for name in ("input_dim", "output_dim", "mask_zero")] == [3, 2, True]


def test_subclasses_must_define_the_rest():
    layer = TableEmbedding(3, 2)
    for method in (layer.to_form, lambda: layer.word_logits(np.ones((1, 2)))):
        with pytest.raises(NotImplementedError, match="TableEmbedding must define"):
            method()
