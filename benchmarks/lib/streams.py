"""Zaremba's language model with any embedding: compiled, read in one stream, counted, shipped."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from benchmarks.lib import next_word
from kerascompact.core.storage import total_bits
from kerascompact.export.freezing import freeze
from kerascompact.forms.base import Form
from kerascompact.models.language_model import ZarembaSize
from kerascompact.text.stream import stateful_batches
from kerascompact.training import ResetStates
from kerascompact.training.losses import SparseSoftmaxCrossEntropy
from kerascompact.training.metrics import Perplexity

STEPS_OF_TEST = 500  # tokens in a batch of the evaluation that reads the text in one stream

# An embedding named "embedding" and a number of streams (`None`: no state) -> a model around it.
Build = Callable[[keras.layers.Layer, int | None], keras.Model]


def compiled(model: keras.Model, optimizer: Any, size: ZarembaSize) -> keras.Model:
    """The model with the full softmax's cross entropy, summed over the steps of a batch.

    The published rates belong to such a loss.
    """
    model.compile(
        optimizer,
        SparseSoftmaxCrossEntropy(),
        loss_weights=[float(size.steps)],
        metrics=[Perplexity()],
        jit_compile=False,
    )
    return model


def with_batch(build: Build, model: keras.Model, batch_size: int | None) -> keras.Model:
    """A copy of a trained model for another number of streams; `None`: without state."""
    embedding = model.get_layer("embedding")
    other = build(type(embedding).from_config(embedding.get_config()), batch_size)
    other.set_weights(model.get_weights())
    return other


def perplexity(build: Build, model: keras.Model, ids: np.ndarray) -> float:
    """That of a whole text, read in one stream from its first token to its last."""
    single = with_batch(build, model, 1)
    single.compile(loss=SparseSoftmaxCrossEntropy(), metrics=[Perplexity()])
    batches = stateful_batches(ids, 1, STEPS_OF_TEST)
    found = single.evaluate(batches, callbacks=[ResetStates()], verbose=0, return_dict=True)
    return float(found["perplexity"])


def size_up(model: keras.Model) -> dict[str, int]:
    """Bits of a trained model's embedding: by its paper's count, and as they are stored."""
    form = next(layer for layer in freeze(model, "float32").model.layers if isinstance(layer, Form))
    stored = total_bits(form.storage())
    return {"paper_bits": form.paper_bits or stored, "stored_bits": stored}


def numbers(model: keras.Model) -> int:
    """Numbers of a trained model's embedding, by its paper's count; zeros are none."""
    return size_up(model)["paper_bits"] // 32


def ship(build: Build, model: keras.Model, ids: np.ndarray, steps: int) -> dict[str, Any]:
    """What `next_word.measure` says of the model's file, float32, on a text."""
    return next_word.measure(with_batch(build, model, None), ids, steps, "float32")
