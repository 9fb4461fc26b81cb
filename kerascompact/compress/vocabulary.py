"""Vocabularies of trained models, trimmed to the tokens of one's own texts."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact.compress.same_outputs import check_same_outputs
from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.core.keras_graph import (
    all_layers,
    copy_with,
    inputs_of,
    is_graph,
    is_stock_embedding,
    maker_of,
    operations_of,
    own_variables,
    set_array,
    sources_of,
)
from kerascompact.text.subwords import token_counts, tokens_of, with_tokens

LORA = ("lora_embeddings_b", "lora_kernel_a")  # the factors of LoRA that have no token's numbers
# Attributes of layers and models of keras-hub.
SIZES = ("vocabulary_size", "vocab_size", "text_vocab_size", "vocab_size_per_layer_input")
# What makes a column of each id, and the attribute that holds their number.
ONE_HOT = {"OneHot": "num_classes", "MultiHot": "num_classes", "CategoryEncoding": "num_tokens"}


class Trimmed(NamedTuple):
    """A model and its tokenizer with fewer tokens, and the former ids of the tokens, `(V',)`."""

    model: keras.Model
    tokenizer: Any
    ids: np.ndarray


def trim_vocabulary(
    model: keras.Model,
    tokenizer: Any,
    texts: Sequence[str],
    keep: int | None = None,
    layers: Sequence[str] | None = None,
) -> Trimmed:
    """Copies a model and its tokenizer with only the tokens that texts need.

    Tables, heads and biases of the vocabulary keep the rows of the tokens that stay, and the logits
    are theirs. A text that the old tokenizer split into kept tokens is split into the same ones,
    and the model gives the same outputs; only a word that WordPiece gave up behind a piece that is
    gone may become a known one. The id 0 stays, and so do special tokens, characters of
    kept tokens, bytes of a byte-level vocabulary and what kept tokens are merged from.

    Args:
        model: Functional model, built, such as any text model of keras-hub; it does not change.
        tokenizer: Its tokenizer: of keras-hub (WordPiece, BPE, SentencePiece), a
            `tokenizers.Tokenizer`, or the path of a `tokenizer.json`.
        texts: Texts such as the model will read.
        keep: Number of tokens of the texts that stay, the most frequent ones. Default: all of them.
        layers: Names of the tables of tokens. Default: every table of the vocabulary's size.

    Returns: A `Trimmed`; the model has the class of the old one, and saves like it. Its
        preprocessor, if it has one, cuts texts with the new tokenizer; with a tokenizer of another
        package it has none.

    Raises: ValueError, if the tokenizer is of another kind, the model has no table of its size,
        quantized ones, or several, which read different inputs, so that `layers` has to name those
        of tokens; if `layers` names another layer; if anything else reads the ids of its tokens,
        such as a one-hot or a larger table; or if an output's logits are those of a layer that is
        no head.

    Example:
    >>> from tokenizers import Tokenizer, models
    >>> words = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "b": 2, "c": 3}, unk_token="[UNK]"))
    >>> model = keras.Sequential([keras.Input((2,), dtype="int32"), keras.layers.Embedding(4, 2)])
    >>> small = trim_vocabulary(model, words, ["a", "c"])
    >>> small.ids.tolist(), small.model.layers[0].input_dim
    ([0, 1, 3], 3)
    """
    if isinstance(tokenizer, str | os.PathLike):
        package = require("tokenizers", "vectors")
        tokenizer = package.Tokenizer.from_file(str(tokenizer))
    if isinstance(texts, str) or not len(texts):
        checks.fail("texts", "a list of at least one text", texts)
    size = len(tokens_of(tokenizer))
    counts = token_counts(tokenizer, texts, size)
    found = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    if keep is not None:
        found = found[: checks.integer_in("keep", keep, 1)]
    small, ids = with_tokens(tokenizer, {0, *found.tolist()})
    copy = with_rows(model, ids, size, layers)
    before = getattr(model, "preprocessor", None)
    if before is not None:  # of keras-hub: it cuts texts itself
        fits = isinstance(small, type(before.tokenizer))
        own = {**before.get_config(), "tokenizer": small} if fits else None
        copy.preprocessor = None if own is None else type(before).from_config(own)
    return Trimmed(copy, small, ids)


def with_rows(
    model: keras.Model, ids: np.ndarray, size: int, layers: Sequence[str] | None = None
) -> keras.Model:
    """Copies a model whose vocabulary has only some ids.

    Args:
        model: Functional or Sequential model, built.
        ids: The ids that stay, in their new order.
        size: Number of ids in the model.
        layers: Names of the tables. Default: every table of this size.

    Raises: ValueError, if the model has no table of this size, several of different inputs, or
        quantized ones; or an output of this size whose numbers cannot be left out.
    """
    tables = []
    heads = _heads(model)
    chosen = [
        layer
        for layer in all_layers(model)
        if is_stock_embedding(layer) and layer.input_dim == size
    ]
    if chosen and layers is not None:
        layers = [layers] if isinstance(layers, str) else list(layers)
        names = [layer.name for layer in chosen]
        if not layers or not {*layers} <= {*names}:
            expected = f"names of its embeddings of {size:,} rows, {', '.join(map(repr, names))}"
            checks.fail("layers", expected, layers)
        chosen = [layer for layer in chosen if layer.name in layers]
    else:
        _check_one_input(model, chosen, size)
    _check_not_packed(model, heads, size)
    _check_no_one_hot(model, chosen, size)

    def adapt(layer: Any, copy: Any) -> None:
        """Takes the rows of the ids in a copied layer, before it is called."""
        if any(layer is table for table in chosen):
            tables.append(copy)
            copy.input_dim = len(ids)
        elif type(layer) is keras.layers.Dense:
            if layer.units != size or not any(layer is head for head in heads):
                return
            copy.units = len(ids)
        elif not _resized(copy, ids, size):
            return
        for variable in own_variables(copy):
            if size in variable.shape and variable.name not in LORA:
                is_table = variable.name == "embeddings" or variable.shape[-1] != size
                axis = 0 if is_table else len(variable.shape) - 1
                rows = np.take(keras.ops.convert_to_numpy(variable), ids, axis=axis)
                set_array(variable, rows)

    copy = copy_with(model, lambda layer: None, adapt=adapt)
    if not tables:
        expected = f"one with an embedding of the tokenizer's {size} tokens"
        checks.fail("model", expected, model.name)
    if not np.array_equal(ids, np.arange(size)):
        _check_outputs(model, copy, tables, size)
    check_same_outputs(model, copy, chosen, ids)
    for one in all_layers(copy):
        if isinstance(one, keras.Model):
            _resized(one, ids, size)
    return copy


def _heads(model: Any) -> list[Any]:
    """The layers that compute a model's outputs, before activations, in time or in a model."""
    outputs = keras.tree.flatten(model.outputs)
    return [head for output in outputs for head in _heads_of(model, output)]


def _heads_of(model: Any, tensor: Any) -> list[Any]:
    """The layers that compute the numbers of a tensor; there may be several, as in a sum."""
    if same := _same_numbers(tensor, inputs_of(model, tensor)):
        return [head for one in same for head in _heads_of(model, one)]
    layer = maker_of(tensor)
    if isinstance(layer, keras.layers.TimeDistributed):
        layer = layer.layer
    return _heads(layer) if is_graph(layer) else [layer]


def _same_numbers(output: Any, inputs: list[Any]) -> list[Any]:
    """Those of the inputs of a layer that have the logits of its output.

    So has a softmax, a cast, a slice or a mean of them, or their product with a mask. A reshape
    holds the size in its settings, which are copied as they are.
    """
    layer = maker_of(output)
    if getattr(layer, "weights", []) or type(layer).__name__ == "Reshape":
        return []
    return [one for one in inputs if one.shape[-1:] == output.shape[-1:]]


def _check_not_packed(model: Any, heads: list[Any], size: int) -> None:
    """Refuses quantized layers of the vocabulary, but heads whose integers are not packed."""
    packed = []
    for layer in all_layers(model):
        mode, units = getattr(layer, "quantization_mode", None), getattr(layer, "units", None)
        if isinstance(layer, keras.layers.Embedding):
            found = layer.input_dim == size and mode is not None
        else:
            found = units == size and mode in ("int4", "gptq", "awq")
            found = found and any(layer is head for head in heads)
        packed += [layer.name] * found
    if packed:
        raise ValueError(
            "`model` must be trimmed before its tables and heads are quantized. "
            f"Received: {model.name!r}, in which {', '.join(map(repr, packed))} of {size:,} "
            "tokens are quantized."
        )


def _check_outputs(model: Any, copy: Any, tables: list[Any], size: int) -> None:
    """Refuses a copy with an output that still has a number for each of the former tokens."""
    if any(table.output_dim == size for table in tables):
        return  # the model is as wide as its vocabulary: these may be vectors
    both = zip(*(keras.tree.flatten(one.outputs) for one in (model, copy)), strict=True)
    left = [maker_of(old).name for old, new in both if size == old.shape[-1] == new.shape[-1]]
    if left:
        raise ValueError(
            f"`model` must compute its outputs of {size:,} numbers by a Dense or by a tied table, "
            f"with layers without weights behind it at most. Received: outputs of {left}."
        )


def _check_one_input(model: Any, tables: list[Any], size: int) -> None:
    """Refuses tables of one size that may read different inputs: not all are of tokens.

    What a table inside another layer reads is not known: it may be positions.
    """
    read = {id(table): [one.name for one in sources_of(model, table)] for table in tables}
    if len({*map(tuple, read.values())}) > 1 or (len(read) > 1 and not all(read.values())):
        found = [f"{table.name!r}: {read[id(table)] or 'unknown'}" for table in tables]
        raise ValueError(
            f"`layers` must name the tables of tokens: several have {size:,} rows, and read "
            f"different inputs, or what is not known. Received: {found}."
        )


def _check_no_one_hot(model: Any, tables: list[Any], size: int) -> None:
    """Refuses what counts or marks ids: its columns would be those of the former tokens."""
    tokens = {one.name for table in tables for one in sources_of(model, table)}
    found = [
        one.name
        for graph in filter(is_graph, [model, *all_layers(model)])
        for one in operations_of(graph)
        if getattr(one, ONE_HOT.get(type(one).__name__, ""), None) == size
        and (graph is not model or not tokens or tokens & {x.name for x in sources_of(model, one)})
    ]
    if found:
        checks.fail("model", f"one that reads its {size:,} tokens by tables, not a one-hot", found)


def _resized(layer: Any, ids: np.ndarray, size: int) -> bool:
    """Tells a layer or model of keras-hub the new size; whether it has one."""
    names = [name for name in SIZES if getattr(layer, name, None) == size]
    for name in names:
        setattr(layer, name, len(ids))
    return bool(names)
