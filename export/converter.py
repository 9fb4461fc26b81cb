"""Keras model -> the bytes of a `.tflite` file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError

import kerascompact
from kerascompact.core import checks, files
from kerascompact.core.cloning import is_graph
from kerascompact.core.storage import total_bits
from kerascompact.export import beside, flatbuffer, narrow
from kerascompact.export.freezing import shipped
from kerascompact.export.interpreter import Interpreter
from kerascompact.export.quiet import quiet
from kerascompact.export.recipe import Recipe, resolve
from kerascompact.forms.base import Form
from kerascompact.text.vocabulary import Vocabulary


def convert(
    model: keras.Model,
    recipe: str | Recipe = "int8",
    *,
    labels: Sequence[str] | None = None,
    vocabulary: Vocabulary | None = None,
    sequence_length: int | None = None,
) -> bytes:
    """Converts a trained model into the bytes of a TFLite file of built-in operators only.

    Every compact embedding that is not frozen yet is frozen first, then its tables are stored as
    the recipe says; no table is unpacked in memory. The batch is 1 (an LSTM needs that to do
    without Flex operators); a length that the model leaves open stays open.

    Args:
        model: Trained Keras model: functional, Sequential, or subclassed (built, one input of ids).
        recipe: "int8", "float32", "int4" or a `Recipe`.
        labels: Names of the classes, written into the file's metadata.
        vocabulary: Its size, token rules and SHA-256 are written into the metadata; the words
            are saved beside the file, see `save`.
        sequence_length: Fixes the length of the ids where the model leaves it open.

    Returns: The file's bytes. Converting twice gives the same bytes.

    Raises: ValueError, if the model is not built, its labels do not fit its output, or it needs an
        operator that plain TFLite does not have.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> convert(model)[4:8]
    b'TFL3'
    """
    recipe = resolve(recipe)
    _check_model(model)
    if vocabulary is not None:
        _check_vocabulary(model, vocabulary)
    with shipped(model, recipe) as (frozen, forms):
        specs = _input_specs(frozen, sequence_length)
        module = _Serve(frozen, forms, specs)
        if labels is not None:
            labels = _checked_labels(labels, module.output_shapes)
        parsed = flatbuffer.parse(_to_tflite(module))
        precisions = _precisions(forms)
        metadata = {
            "kerascompact": kerascompact.__version__,
            "recipe": recipe._asdict(),
            "labels": labels,
            "vocabulary": _vocabulary_facts(vocabulary),
            "embeddings": [_embedding_facts(form) for form in forms],
        }
    if precisions & {"int8", "int4"}:
        narrow.dequantize_kernels_once(parsed)
    if "int4" in precisions:
        narrow.store_tables_as_int4(parsed)
    flatbuffer.slim(parsed)
    flatbuffer.add_metadata(parsed, {k: v for k, v in metadata.items() if v})
    data = flatbuffer.pack(parsed)
    _check_runs(data, specs)
    return data


def save(
    model: keras.Model | bytes,
    path: str | os.PathLike[str],
    *,
    vocabulary: Vocabulary | None = None,
    **options: Any,
) -> Path:
    """Converts a model and writes it to `path`, its vocabulary beside it as `vocabulary.txt`.

    Args:
        model: A Keras model, or bytes from `convert`.
        path: The `.tflite` file; written whole or not at all.
        vocabulary: Saved beside the file, where other files with the same one may be.
        **options: Those of `convert`, if `model` is a Keras model.

    Returns: The path written.

    Raises: ValueError, as `convert` does, if the vocabulary is not that of the bytes, or if it
        would take the place of another file's; OSError.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> save(model, "small.tflite", recipe="float32").name
    'small.tflite'
    """
    if isinstance(model, bytes):
        facts = (flatbuffer.metadata_of(flatbuffer.parse(model)) or {}).get("vocabulary") or {}
        if vocabulary is not None and facts.get("sha256", vocabulary.sha256) != vocabulary.sha256:
            raise ValueError(
                "`vocabulary` must be the one that the file was converted with, SHA-256 "
                f"{facts['sha256'][:12]}... Received: one of SHA-256 {vocabulary.sha256[:12]}..."
            )
        data = model
    else:
        data = convert(model, vocabulary=vocabulary, **options)
    if vocabulary is not None:
        beside.check(Path(path), vocabulary)
        vocabulary.save(Path(path).parent / beside.NAME)
    return files.write_bytes(path, data)


class _Serve(tf.Module):
    """The model as one function with named inputs and outputs."""

    def __init__(self, model: Any, forms: list[Form], specs: dict[str, tf.TensorSpec]) -> None:
        super().__init__()
        # The variables themselves: with the Keras model as an attribute the converter takes them
        # for state that may change, and leaves VAR_HANDLE and READ_VARIABLE in the file.
        self.constants = [v.value for part in (model, *forms) for v in part.variables]
        names = list(specs)

        @tf.function(autograph=False)
        def serve(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
            flat = [inputs[name] for name in names]
            packed = (
                keras.tree.pack_sequence_as(_inputs(model), flat) if is_graph(model) else flat[0]
            )
            outputs = model(packed, training=False)
            if isinstance(outputs, dict):
                return outputs
            outputs = keras.tree.flatten(outputs)
            known = getattr(model, "output_names", None) or []
            if len(known) != len(outputs):
                known = [f"output_{i}" for i in range(len(outputs))]
            return dict(zip(known, outputs, strict=True))

        self.function = serve.get_concrete_function(**specs)
        self.output_shapes = [o.shape for o in keras.tree.flatten(self.function.structured_outputs)]


def _to_tflite(module: _Serve) -> bytes:
    converter = tf.lite.TFLiteConverter.from_concrete_functions([module.function], module)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    converter.exclude_conversion_metadata = True
    try:
        with quiet(native=True):
            return converter.convert()
    except ConverterError as error:
        raise ValueError(
            "`model` must convert to built-in TFLite operators. The converter says: "
            f"{str(error).splitlines()[0]}"
        ) from error


def _check_model(model: Any) -> None:
    if not isinstance(model, keras.Model):
        checks.fail("model", "a keras.Model", model)
    if not model.built or (not is_graph(model) and not getattr(model, "_build_shapes_dict", None)):
        raise ValueError(
            f"`model` must be built before it is converted: call it on data, or train it. "
            f"Received: model={model.name!r} without weights."
        )
    for variable in model.weights:
        checks.finite(variable.path, keras.ops.convert_to_numpy(variable))


def _check_vocabulary(model: keras.Model, vocabulary: Vocabulary) -> None:
    sizes = [
        layer.input_dim
        for layer in model._flatten_layers()
        if isinstance(getattr(layer, "input_dim", None), int)
    ]
    if sizes and len(vocabulary) != max(sizes):
        raise ValueError(
            f"`vocabulary` must have as many ids as the embedding, {max(sizes)}. "
            f"Received: a vocabulary of {len(vocabulary)}."
        )


def _checked_labels(labels: Sequence[str], shapes: list[tf.TensorShape]) -> list[str]:
    labels = list(labels)
    if not all(isinstance(label, str) and label for label in labels):
        checks.fail("labels", "a list of non-empty strings", labels)
    if len(shapes) == 1 and shapes[0][-1] is not None and shapes[0][-1] != len(labels):
        raise ValueError(
            f"`labels` must name each of the model's {shapes[0][-1]} outputs. "
            f"Received: {len(labels)} labels."
        )
    return labels


def _input_specs(model: Any, sequence_length: int | None) -> dict[str, tf.TensorSpec]:
    """Batch 1, and the lengths that the model fixes; others stay open unless they are given."""
    if sequence_length is not None:
        checks.integer_in("sequence_length", sequence_length, 1)
    if not is_graph(model):
        return {"ids": tf.TensorSpec((1, sequence_length), tf.int32, name="ids")}
    specs = {}
    for tensor in keras.tree.flatten(_inputs(model)):
        shape = [1, *(sequence_length if n is None else n for n in tensor.shape[1:])]
        dtype = tf.as_dtype(keras.backend.standardize_dtype(tensor.dtype))
        specs[tensor.name] = tf.TensorSpec(shape, dtype, name=tensor.name)
    return specs


def _inputs(model: Any) -> Any:
    """The inputs of a graph of layers, in the structure that it is called with."""
    # A Sequential has no `input` until it was called on something, but it has `inputs`.
    return model.inputs[0] if isinstance(model, keras.Sequential) else model.input


def _vocabulary_facts(vocabulary: Vocabulary | None) -> dict[str, Any] | None:
    if vocabulary is None:
        return None
    return {
        "size": len(vocabulary),
        "rules": vocabulary.rules,
        "bytes": vocabulary.num_bytes,
        "sha256": vocabulary.sha256,
    }


def _precisions(forms: list[Form]) -> set[str]:
    """What the tables of the forms, and of those inside them, are stored as."""
    layers = [layer for form in forms for layer in form._flatten_layers()]
    return {layer.precision for layer in layers if hasattr(layer, "precision")}


def _embedding_facts(form: Form) -> dict[str, Any]:
    return {
        "form": type(form).__name__,
        "input_dim": form.input_dim,
        "output_dim": form.output_dim,
        "stored_bits": total_bits(form.storage()),
        "paper_bits": form.paper_bits,
    }


def _check_runs(data: bytes, specs: dict[str, tf.TensorSpec]) -> None:
    """A file that this runtime cannot run never leaves `convert`."""
    zeros = {
        name: np.zeros([4 if n is None else n for n in spec.shape], spec.dtype.as_numpy_dtype)
        for name, spec in specs.items()
    }
    Interpreter(data).run(zeros)
