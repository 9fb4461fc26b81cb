"""What every stored form keeps."""

from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from kerascompact.core import checks
from kerascompact.core.storage import Stored
from kerascompact.ops.quantize import quantize_columns

PRECISIONS = ("float32", "int8")


class Form(keras.layers.Layer):
    """An embedding as it ships: named constant arrays, and a lookup made of TFLite built-ins.

    A subclass builds its arrays with `add_array` and `add_table`, and defines
    `lookup(ids) -> float32 vectors` and `quantized`. It is an ordinary Keras layer: it evaluates,
    saves and loads, and has nothing to train.

    Args:
        input_dim: Vocabulary size `V`.
        output_dim: Embedding width `d`.
        mask_zero: Whether id 0 is padding, as in `keras.layers.Embedding`.
        paper_bits: Bits by the size formula of the paper whose method was frozen, if it has one.
        **kwargs: Those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Raises: ValueError, for a wrong argument, or (outside a graph) an id out of range.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        mask_zero: bool = False,
        paper_bits: int | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("trainable", False)
        super().__init__(autocast=False, **kwargs)  # stored arrays keep their own types
        self.input_dim = checks.integer_in("input_dim", input_dim, 1)
        self.output_dim = checks.integer_in("output_dim", output_dim, 1)
        self.mask_zero = checks.boolean("mask_zero", mask_zero)
        self.supports_masking = self.mask_zero
        self.paper_bits = paper_bits
        self._stored: list[Stored] = []

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        form = super().__new__(cls, *args, **kwargs)
        # Keras wraps a layer's `quantize` into one that works in place and returns nothing.
        form.__dict__.pop("quantize")
        return form

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], **config: Any) -> Self:
        """Builds a form and fills the arrays it declares."""
        form = cls(**config)
        form.build()
        for name, array in arrays.items():
            getattr(form, name).assign(array)  # Keras checks the shape
        return form

    def add_array(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: str,
        stored: tuple[tuple[int, ...], int] | None = None,
    ) -> None:
        """Declares one stored array; `stored`: shape and bits, where packing hides them."""
        weight = self.add_weight(
            shape=shape,
            initializer="zeros",
            dtype=dtype,
            trainable=False,
            autocast=False,
            name=name,
        )
        setattr(self, name, weight)
        shape, bits = stored or (shape, 8 * np.dtype(dtype).itemsize)
        self._stored.append(Stored(name, shape, bits))

    def add_table(self, name: str, shape: tuple[int, int], precision: str) -> None:
        """Declares a table of rows: float32, or int8 with one float32 scale per column."""
        self.add_array(name, shape, precision)
        if precision == "int8":
            self.add_array(f"{name}_scale", (shape[1],), "float32")

    def rows(self, name: str, index: tf.Tensor) -> tf.Tensor:
        """Reads rows of a table as float32; only these rows are ever converted."""
        rows = tf.gather(getattr(self, name).value, index)
        if rows.dtype == tf.float32:
            return rows
        return tf.cast(rows, tf.float32) * getattr(self, f"{name}_scale").value

    def quantized_table(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of `add_table(name, ..., "int8")` for a table stored as float32."""
        codes, scale = quantize_columns(keras.ops.convert_to_numpy(getattr(self, name)))
        return {name: codes, f"{name}_scale": scale}

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Vectors `(..., d)` of int32 ids `(...)`, as float32."""
        raise NotImplementedError(f"{type(self).__name__} must define `lookup`.")

    def quantize(self, precision: str = "int8", **from_keras: Any) -> "Form":
        """The same form with its float tables stored as `precision`; itself, if they are already.

        Unlike the `quantize` of other Keras layers it changes nothing in place.
        """
        if from_keras:  # `keras.Model.quantize` turns this error into a warning and goes on
            raise NotImplementedError("A stored form is not quantized in place: see Form.quantize.")
        checks.choice("precision", precision, ("int8",))
        return self.quantized()

    def quantized(self) -> "Form":
        """The same form with int8 tables; itself, if they are int8 already."""
        raise NotImplementedError(f"{type(self).__name__} must define `quantized`.")

    def call(self, ids: Any) -> tf.Tensor:
        return call_on_ids(self, ids, self.lookup)

    def storage(self) -> list[Stored]:
        """Every stored array with its bits: what the file must hold, nothing else."""
        return list(self._stored)

    def compute_mask(self, ids: Any, mask: Any = None) -> Any:
        return ops.not_equal(ids, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape, self.output_dim)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            "mask_zero": self.mask_zero,
            "paper_bits": self.paper_bits,
        }


def call_on_ids(layer: keras.layers.Layer, ids: Any, lookup: Any) -> tf.Tensor:
    """Runs `lookup` on ids of any rank and type (ragged too), in the layer's compute type.

    Ids that can be looked at (outside a graph) are checked; in a graph, TensorFlow's own gather
    reports them on CPU and clamps them on GPU and TPU.
    """
    if isinstance(ids, tf.RaggedTensor):
        return ids.with_flat_values(call_on_ids(layer, ids.flat_values, lookup))
    ids = ops.convert_to_tensor(ids)
    if tf.executing_eagerly():
        known = ids.numpy()
        if np.issubdtype(known.dtype, np.floating):  # keras.Input is float unless told otherwise
            known = known.astype(np.int64)
        checks.ids_below("ids", known, layer.input_dim)
    return tf.cast(lookup(tf.cast(ids, tf.int32)), layer.compute_dtype)
