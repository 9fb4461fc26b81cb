"""Conversion of tf_keras models into Keras 3 models for the exporter."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras

from kerascompact.compress.base import Compressor
from kerascompact.compress.models import compress_model
from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.core.keras_graph import all_layers, is_tf_keras_graph
from kerascompact.export.tf_keras.layer import TFKerasLayer

WRAPPERS = {
    "PruneLowMagnitude": "tfmot.sparsity.keras.strip_pruning(model)",
    "ClusterWeights": "tfmot.clustering.keras.strip_clustering(model)",
    "QuantizeAnnotate": "tfmot.quantization.keras.quantize_apply(model)",
}


def from_tf_keras(
    model: Any,
    compressor: Compressor | None = None,
    counts: Any = None,
    layers: Sequence[str] | None = None,
) -> keras.Model:
    """Turns a trained tf_keras model into a Keras 3 model with compressed embeddings.

    `model(x) = rest(E[x])`: each embedding becomes a layer of Keras 3, the rest of the model one
    `TFKerasLayer`. The result works with `export.convert`, `save` and `verify`, and takes text if
    these get a vocabulary.

    It is for models that tensorflow-model-optimization pruned or clustered (and stripped) or
    trained for quantization. Weights that it set to zero or made equal stay so in the file. A model
    with trained ranges computes with int8 in the file, whatever the recipe says, except for the
    embeddings; its outputs then differ from Keras' by steps of int8, 1/256 for probabilities.

    tensorflow-model-optimization cannot quantize a model whose inputs are integers. So quantize the
    rest, train both together, and give the two as a pair or as they were trained:
    `tf_keras.Sequential([embedding, quantized])`.

    Args:
        model: Functional or Sequential tf_keras model whose embeddings read its inputs; or a pair
            (`tf_keras.layers.Embedding`, model that takes its vectors). It does not change.
        compressor: Any compressor of `kerascompact.compress`. Default: tables are not compressed;
            the recipe of `export.convert` may round them.
        counts: How often each word occurs, as for `compress.compress_model`.
        layers: Names of the embeddings to compress. Default: all of them.

    Returns: A Keras 3 model with the same input names and the same outputs (a dictionary, if there
        are several), up to what the compressor rounded. It is not compiled and cannot be trained.

    Raises: ValueError, if the model still has wrappers to strip, is not a graph of layers, has no
        embedding or one that does not read an input, or if a table cannot be compressed;
        ImportError, without the extra `tfmot`.

    Example:
    >>> import tf_keras  # doctest: +SKIP
    >>> import tensorflow_model_optimization as tfmot  # doctest: +SKIP
    >>> layers = [tf_keras.layers.Embedding(9, 2), tf_keras.layers.Flatten()]  # doctest: +SKIP
    >>> layers = [tf_keras.Input((4,)), *layers, tf_keras.layers.Dense(3)]  # doctest: +SKIP
    >>> prune = tfmot.sparsity.keras.prune_low_magnitude  # doctest: +SKIP
    >>> pruned = prune(tf_keras.Sequential(layers))  # train this one  # doctest: +SKIP
    >>> stripped = tfmot.sparsity.keras.strip_pruning(pruned)  # doctest: +SKIP
    >>> compressor = kerascompact.compress.ScalarQuantization(4)  # doctest: +SKIP
    >>> small = from_tf_keras(stripped, compressor)  # doctest: +SKIP
    >>> file = kerascompact.export.convert(small)  # doctest: +SKIP
    >>> ids = np.array([[1, 2, 3, 4], [8, 0, 0, 0]])  # doctest: +SKIP
    >>> kerascompact.export.verify(small, file, ids).agreement  # doctest: +SKIP
    1.0

    Reference: [tensorflow-model-optimization](https://www.tensorflow.org/model_optimization).
    """
    tf_keras = require("tf_keras", "tfmot")
    if isinstance(model, list | tuple) and len(model) == 2:
        cut = _given(tf_keras, *model)
    else:
        cut = _cut(tf_keras, model)
    inputs = {name: keras.Input(shape, dtype=dtype, name=name) for name, shape, dtype in cut.inputs}
    tables: dict[int, keras.layers.Embedding] = {}
    fed = []
    for embedding, name in cut.reads:
        if embedding is None:
            fed.append(inputs[name])
            continue
        if id(embedding) not in tables:
            tables[id(embedding)] = _as_keras_3(embedding)
        fed.append(tables[id(embedding)](inputs[name]))
    names = cut.rest.output_names if cut.names is None else cut.names
    rest = TFKerasLayer(cut.rest.to_json(), name=names[0] if len(names) == 1 else cut.rest.name)
    # The masks of tfmot leave -0.0 in place of negative numbers, which gzips worse than 0.0.
    rest.set_weights([array + array.dtype.type(0) for array in cut.rest.get_weights()])
    outputs = rest(fed[0] if len(fed) == 1 else fed)
    if len(names) > 1:
        outputs = dict(zip(names, keras.tree.flatten(outputs), strict=True))
    given = list(inputs.values())
    built = keras.Model(given[0] if len(given) == 1 else given, outputs, name=cut.name)
    return built if compressor is None else compress_model(built, compressor, counts, layers)


class _Cut(NamedTuple):
    """A model that was cut after its embeddings.

    Args:
        name: Name of the model.
        inputs: Name, shape without the batch, and type of each input.
        reads: For each input of the rest, the embedding whose vectors it takes (`None`: it takes
            the input itself) and the name of the model's input.
        rest: The model after the embeddings.
        names: Names of the outputs; `None` for those of the rest.
    """

    name: str
    inputs: list[tuple[str, tuple[int | None, ...], str]]
    reads: list[tuple[Any, str]]
    rest: Any
    names: list[str] | None


def _given(tf_keras: Any, embedding: Any, rest: Any) -> _Cut:
    if type(embedding) is not tf_keras.layers.Embedding or not embedding.built:
        checks.fail("model[0]", "a tf_keras.layers.Embedding with weights", embedding)
    _check(tf_keras, rest, "model[1]")
    shape: tuple[Any, ...] = tuple(rest.inputs[0].shape) if len(rest.inputs) == 1 else ()
    if len(shape) < 2 or shape[-1] != embedding.output_dim:
        raise ValueError(
            "`model[1]` must have one input, vectors of the embedding's width, "
            f"{embedding.output_dim}. Received: inputs {[tuple(t.shape) for t in rest.inputs]}."
        )
    inputs = [("ids", shape[1:-1], "int32")]
    return _Cut(rest.name, inputs, [(embedding, "ids")], rest, None)


def _cut(tf_keras: Any, model: Any) -> _Cut:
    _check(tf_keras, model, "model")
    reads, waiting, seen = [], list(model.outputs), set()
    while waiting:
        tensor = waiting.pop()
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        if tensor.node.is_input or type(tensor.node.layer) is tf_keras.layers.Embedding:
            reads.append(tensor)
        else:
            waiting.extend(tensor.node.keras_inputs)
    found = []
    for tensor in reads:
        (source,) = [tensor] if tensor.node.is_input else tensor.node.keras_inputs
        layer = tensor.node.layer
        if not source.node.is_input:
            raise ValueError(
                f"Embedding {layer.name!r} must read an input of the model, to be replaced. "
                f"Received: one that reads the output of layer {source.node.layer.name!r}."
            )
        if any(tensor is output for output in model.outputs):
            checks.fail("model", "a model with a layer behind each embedding and input", layer.name)
        found.append((None if tensor.node.is_input else layer, source.node.layer.name))
    cut_off = {id(embedding) for embedding, _ in found if embedding is not None}
    for layer in all_layers(model):
        if isinstance(layer, tf_keras.layers.Embedding) and id(layer) not in cut_off:
            raise ValueError(
                f"Embedding {layer.name!r} must be a tf_keras.layers.Embedding of the model itself "
                "to be replaced. Received: one of a class of its own, or in a model inside; give "
                "the pair (embedding, rest) instead."
            )
    if not cut_off:
        checks.fail("model", "a model with a tf_keras.layers.Embedding", model.name)
    read = {name for embedding, name in found if embedding is not None}
    used = {name for _, name in found}
    inputs = [
        (name, tuple(tensor.shape[1:]), "int32" if name in read else tensor.dtype.name)
        for name, tensor in ((tensor.node.layer.name, tensor) for tensor in model.inputs)
        if name in used
    ]
    rest = tf_keras.Model(reads[0] if len(reads) == 1 else reads, model.outputs)
    return _Cut(model.name, inputs, found, rest, list(model.output_names))


def _check(tf_keras: Any, model: Any, name: str) -> None:
    if not isinstance(model, tf_keras.Model):
        kind = "a tf_keras model, or a pair (embedding, model)"
        if isinstance(model, keras.Model):
            kind += " (compress.compress_model takes models of Keras 3)"
        checks.fail(name, kind, model)
    if not is_tf_keras_graph(model):
        raise ValueError(
            f"`{name}` must be a functional or Sequential model that has been built; of others, "
            "give the pair (embedding, rest). "
            f"Received: {name}={model.name!r} (of type {type(model).__name__})."
        )
    for layer in all_layers(model):
        kind = type(layer).__name__
        if kind in WRAPPERS:
            checks.fail(name, f"stripped first, with {WRAPPERS[kind]}", layer.name)


def _as_keras_3(embedding: Any) -> keras.layers.Embedding:
    table = checks.finite(embedding.name, embedding.get_weights()[0])
    layer = keras.layers.Embedding(
        *table.shape, mask_zero=embedding.mask_zero, name=embedding.name, dtype="float32"
    )
    layer.build(())
    layer.set_weights([table])
    return layer
