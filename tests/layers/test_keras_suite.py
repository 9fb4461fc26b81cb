"""`run_layer_test`, by which Keras tests its own layers, from the installed Keras, on ours."""

import numpy as np
import pytest
from keras.src.testing import test_case

from kerascompact import layers
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.optimizers import Proximal

FLOATS = np.random.default_rng(0).normal(size=(3, 5, 4)).astype(np.float32)
IDS = np.random.default_rng(1).integers(2, 18, (3, 5)).astype(np.int32)
BITS = np.random.default_rng(2).integers(0, 2, (3, 5, 16)).astype(np.int8)
TEXTS = np.frombuffer(b"turn it on\0", np.uint8)[None].astype(np.int32)
EMBEDDINGS = [
    name
    for name in layers.__all__
    if isinstance(getattr(layers, name), type)
    and issubclass(getattr(layers, name), CompactEmbedding)
]
# Arguments (`EXAMPLE`, if None) and an input of every other layer of one input.
OTHERS = {
    "ActivationRegularization": (None, FLOATS),
    "LockedDropout": (None, FLOATS),
    "BitCache": (dict(input_dim=20), IDS),
    "Embedding": (dict(input_dim=20, output_dim=4), IDS),
    "MaskedMax": ({}, FLOATS),
    "MaskedMean": ({}, FLOATS),
    "ProjectionEmbedding": (
        dict(output_dim=4, hidden_units=(6,), num_projections=2, projection_dim=8),
        BITS,
    ),
    "SparseGRU": (None, FLOATS),
    "SparseSimpleRNN": (None, FLOATS),
    "SparseLSTM": (None, FLOATS),
    "TextToBits": (None, TEXTS),
    "TextToBuckets": (None, TEXTS),
    "TextToIds": (None, TEXTS),
    "TextToSlots": (None, TEXTS),
    "TextConvolution": (dict(filters=3, kernel_size=2), FLOATS),
    "UnknownAsPadding": ({}, IDS),
    "WeightDropGRU": (dict(units=3, weight_dropout=0.5), FLOATS),
    "WeightDropSimpleRNN": (dict(units=3, weight_dropout=0.5), FLOATS),
    "WeightDropLSTM": (dict(units=3, weight_dropout=0.5), FLOATS),
    "WeightedMean": ({}, FLOATS),
    "WordBias": ({}, FLOATS),
    "WordLogits": (dict(num_words=7), FLOATS),
}
# Layers that are called on several tensors or none, or on a batch of one, which the test of one
# input cannot do, and what is no layer to call.
NOT_OF_ONE_INPUT = {
    "EmbeddingDropout",
    "GraphConvolution",
    "OnlineGuidance",
    "PretrainedGuidance",
    "TextToPieces",
}


class WithProximal(test_case.Model):
    """Keras' test trains by "sgd"; layers with a penalty need the proximal step after it."""

    def compile(self, optimizer, **kwargs):
        super().compile(Proximal(optimizer), **kwargs)


def run(name, arguments, data, **expected):
    cls = getattr(layers, name)
    case = test_case.TestCase()
    case.setUp()
    arguments = cls.EXAMPLE if arguments is None else arguments
    case.run_layer_test(cls, arguments, input_data=data, **expected)
    case.doCleanups()


def test_no_public_layer_is_missing():
    public = {name for name in layers.__all__ if isinstance(getattr(layers, name), type)}
    assert {*EMBEDDINGS, *OTHERS, *NOT_OF_ONE_INPUT} == public


@pytest.mark.slow
@pytest.mark.parametrize("mask_zero", [False, True])
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_embeddings(name, mask_zero, monkeypatch):
    cls = getattr(layers, name)
    monkeypatch.setattr(test_case, "Model", WithProximal)
    shape = (3, 5, cls.EXAMPLE["output_dim"])
    arguments = {**cls.EXAMPLE, "mask_zero": mask_zero}
    run(name, arguments, IDS, expected_output_shape=shape, supports_masking=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_layers(name):
    run(name, *OTHERS[name])
