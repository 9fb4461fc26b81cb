"""A frozen model as one TensorFlow function, and that as a TFLite file."""

from typing import Any

import keras
import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError

from kerascompact.core import checks
from kerascompact.core.cloning import is_graph
from kerascompact.export.quiet import quiet
from kerascompact.export.text_in import INPUT, SPANS, TextIn
from kerascompact.forms.base import Form


class Serve(tf.Module):
    """The model as one function with named inputs and outputs, text in front of it if wanted."""

    def __init__(
        self,
        model: Any,
        forms: list[Form],
        specs: dict[str, tf.TensorSpec],
        text_in: TextIn | None = None,
    ) -> None:
        super().__init__()
        parts = (model, *forms) if text_in is None else (model, *forms, text_in.layer)
        # The variables themselves: with the Keras model as an attribute the converter takes them
        # for state that may change, and leaves VAR_HANDLE and READ_VARIABLE in the file.
        self.constants = [v.value for part in parts for v in part.variables]
        names = list(specs)

        def run(inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
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

        @tf.function(autograph=False)
        def serve(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
            if text_in is None:
                return run(inputs)
            words, ids = text_in.read(inputs[INPUT])
            outputs = run(ids)
            return outputs | text_in.spans(words, outputs)

        given = specs if text_in is None else text_in.specs
        self.function = serve.get_concrete_function(**given)
        outputs = self.function.structured_outputs.items()
        self.output_shapes = [output.shape for name, output in outputs if name != SPANS]


def to_tflite(module: Serve) -> bytes:
    """The converter's file, of built-in operators only.

    Raises: ValueError, if the model needs others.
    """
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


def input_specs(model: Any, sequence_length: int | None) -> dict[str, tf.TensorSpec]:
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
