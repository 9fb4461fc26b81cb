"""Preconditions of a conversion, checked before the converter runs for minutes."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.keras_graph import (
    all_layers,
    build_shapes,
    direct_layers,
    is_graph,
    is_graph_of,
    readers_of_inputs,
    replaced,
)
from kerascompact.export.embedding_forms import is_embedding
from kerascompact.export.recipe import Recipe
from kerascompact.forms.logits import LogitsForm
from kerascompact.layers.unknown_as_padding import UnknownAsPadding
from kerascompact.text.buckets import Buckets
from kerascompact.text.slot_vocabulary import SlotVocabulary
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.text.wordpiece import WordPiece, is_tokenizer

# Layers that need string tables or 64-bit hashes of strings.
LAYERS = {"HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization"}


def check_model(model: Any) -> None:
    """Checks that a model can be converted.

    Args:
        model: Keras model.

    Raises: ValueError, if it is not a built model with finite weights, or if it has layers of
        strings or stateful layers.
    """
    if not isinstance(model, keras.Model):
        checks.fail("model", "a keras.Model", model)
    if not model.built or (not is_graph(model) and not build_shapes(model)):
        raise ValueError(
            f"`model` must be built before it is converted: call it on data, or train it. "
            f"Received: model={model.name!r} without weights."
        )
    for variable in model.weights:
        checks.finite(variable.path, keras.ops.convert_to_numpy(variable))
    for path, layer in paths(model):
        if isinstance(layer, keras.layers.RNN) and layer.stateful:
            raise ValueError(
                "`model` must not be stateful, since a file keeps no states: convert "
                "`export.with_states(model)`, which has them as inputs and outputs. "
                f"Received: {path}, a stateful {type(layer).__name__}."
            )
        if type(layer).__name__ in LAYERS and type(layer).__module__.startswith("keras."):
            raise ValueError(
                "`model` must not have layers of strings, of hashes or of keys, which no built-in "
                "operator computes: split texts into words and find ids before it, or give `text`. "
                f"Received: {path}, a {type(layer).__name__}."
            )


def paths(model: Any) -> Iterator[tuple[str, Any]]:
    """Every layer inside a model, with the names of the layers that contain it.

    >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="last")])
    >>> [path for path, _ in paths(model)]
    ['last']
    """
    for layer in direct_layers(model):
        if isinstance(layer, keras.layers.InputLayer) or is_graph_of(layer, model):
            continue
        yield layer.name, layer
        for path, inner in paths(layer):
            yield f"{layer.name}/{path}", inner


@contextlib.contextmanager
def traced(batch_size: int | None = 1) -> Iterator[None]:
    """Context that turns the error of a layer that cannot be traced into one with its path.

    Args:
        batch_size: Examples in the inputs; `None` for any number.

    Raises: ValueError, naming the layer.
    """
    filtering = keras.config.is_traceback_filtering_enabled()
    keras.config.disable_traceback_filtering()
    try:
        yield
    except Exception as error:
        outer: Any = None
        names, trace = [], error.__traceback__
        while trace is not None:
            layer: Any = trace.tb_frame.f_locals.get("self")
            is_layer = isinstance(layer, keras.layers.Layer) and layer.name not in names
            if is_layer and not (outer and is_graph_of(layer, outer)):
                outer = layer
                names.append(layer.name)
            trace = trace.tb_next
        if not names:  # the error is not from a layer
            raise
        said = " ".join(str(error).splitlines()[:1])
        raise ValueError(
            "`model` must run as a TensorFlow function of inputs of "
            f"{'any batch size' if batch_size is None else f'batch size {batch_size}'}. Received: "
            f"the layer {'/'.join(names)}, which raises {type(error).__name__}: {said}"
        ) from error
    finally:
        if filtering:
            keras.config.enable_traceback_filtering()


def known_steps() -> contextlib.AbstractContextManager[None]:
    """Context in which Keras' `TimeDistributed` refuses sequences of an open length.

    Of these Keras computes as many steps as the batch has examples, in a file one.
    """
    return replaced({(keras.layers.TimeDistributed, "call"): _on_known_steps})


_time_distributed = keras.layers.TimeDistributed.call


def _on_known_steps(self: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    if inputs.shape[1] is None:
        raise ValueError(
            "of an open number of steps Keras computes as many as the batch has examples: give "
            "`sequence_length`, or call the layer inside by itself, as a Dense works on every step"
        )
    return _time_distributed(self, inputs, *args, **kwargs)


def check_fused(fused_lstm: bool, recipe: Recipe) -> None:
    """Raises a `ValueError` if `fused_lstm` is not a bool, or does not fit the recipe."""
    checks.boolean("fused_lstm", fused_lstm)
    if fused_lstm and recipe.kernels == "int16x8":
        raise ValueError(
            "`fused_lstm` must be False with kernels of 'int16x8': the converter finds no ranges "
            "inside the operator. Unroll the LSTM (unroll=True), or take 'full_int8'. "
            "Received: True."
        )


def check_order(name: str, lstms: list[str], later: bool, recipe: Recipe) -> None:
    """Raises a `ValueError` for fused LSTMs in a model that is not the first of a file of integers.

    Args:
        name: Name of the model.
        lstms: Names of its fused LSTMs.
        later: Whether the file has a model before this one.
        recipe: Recipe of the file.
    """
    if lstms and later and recipe.kernels == "full_int8":
        raise ValueError(
            "`model` must have fused LSTMs in its first model alone with kernels of 'full_int8': "
            "the converter crashes on those of the others. Put that model first, or write two "
            f"files. Received: {name!r} with {', '.join(map(repr, lstms))}."
        )


def check_batch(batch_size: Any, takes_text: bool, fused_lstm: bool) -> None:
    """Checks `batch_size`.

    Args:
        batch_size: Examples per run; `None` for any number.
        takes_text: Whether the file takes text.
        fused_lstm: Whether LSTMs become operators, whose states have a fixed size.

    Raises: ValueError, if it is not a number or `None`, or does not fit.
    """
    if batch_size is not None:
        checks.integer_in("batch_size", batch_size, 1)
    if takes_text and batch_size != 1:
        checks.fail("batch_size", "1 for a file that takes text, one at a time", batch_size)
    if fused_lstm and batch_size is None:
        checks.fail(
            "batch_size", "a number with `fused_lstm`, whose states have a fixed size", batch_size
        )


def check_vocabulary(
    models: list[keras.Model], vocabulary: Vocabulary | Buckets | WordPiece
) -> None:
    """Raises a `ValueError` if a vocabulary has another size than the embedding of the inputs.

    In a graph of layers this is the largest embedding, or one that reads an input as it is. Of a
    subclassed model it is not known which embedding looks up words, and which positions.
    """
    layers = [layer for model in models for layer in all_layers(model)]
    # rows of a head are outputs, not words
    heads = {id(i) for layer in layers if isinstance(layer, LogitsForm) for i in all_layers(layer)}
    sizes = [
        layer.input_dim
        for layer in layers
        if isinstance(getattr(layer, "input_dim", None), int) and id(layer) not in heads
    ]
    graphs = all(map(is_graph, models))
    fitting = {max(sizes, default=0)} if graphs else {*sizes}
    fitting |= {size for model in models for size in sizes_of_inputs(model).values()}
    if sizes and len(vocabulary) not in fitting:
        raise ValueError(
            "`vocabulary` must have as many ids as the embedding, "
            f"{' or '.join(map(str, sorted(fitting)))}. "
            f"Received: {'buckets' if isinstance(vocabulary, Buckets) else 'a vocabulary'} of "
            f"{len(vocabulary)}."
        )
    if isinstance(vocabulary, Buckets) and any(
        isinstance(layer, UnknownAsPadding) for model in models for layer in all_layers(model)
    ):
        raise ValueError(
            "`model` must not skip unknown words, if they have buckets: id 1 is a bucket. "
            "Received: a model with an UnknownAsPadding layer."
        )


def sizes_of_inputs(model: Any) -> dict[str, int]:
    """For each input that embeddings read as it is, the rows of the smallest of them.

    >>> ids = keras.Input((4,), dtype="int32", name="ids")
    >>> sizes_of_inputs(keras.Model(ids, keras.layers.Embedding(9, 2)(ids)))
    {'ids': 9}
    """
    readers = readers_of_inputs(model) if is_graph(model) else {}
    sizes = {
        name: [one.input_dim for one in layers if is_embedding(one) and one.input_dim]
        for name, layers in readers.items()
    }
    return {name: min(found) for name, found in sizes.items() if found}


def check_listed(vocabulary: Any) -> None:
    """Raises a `ValueError` for what apps cannot look up in a list of words."""
    if isinstance(vocabulary, Buckets | SlotVocabulary) or is_tokenizer(vocabulary):
        expected = "a kerascompact.text.Vocabulary; buckets, slots and tokenizers are `text`"
        checks.fail("vocabulary", expected, vocabulary)


def same_vocabulary(
    text: Any, vocabulary: Vocabulary | None
) -> Vocabulary | Buckets | WordPiece | None:
    """Checks that `text` and `vocabulary` are the same vocabulary, and returns it.

    For a projection, `text` is the name of token rules, and `vocabulary` is returned as it is.

    Raises: ValueError, if they differ.
    """
    check_listed(vocabulary)
    if text is None or isinstance(text, str):
        return vocabulary
    if not isinstance(text, Vocabulary | Buckets | WordPiece):
        expected = "the kerascompact.text.Vocabulary or Buckets of the model, or its tokenizer"
        checks.fail("text", expected, text)
    if vocabulary is not None and vocabulary.sha256 != text.sha256:
        checks.fail("vocabulary", "the same as `text`, or None", vocabulary)
    return text
