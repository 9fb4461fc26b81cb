"""Code LSTM: an LSTM reads the codebook vectors of each id."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.registration import register
from kerascompact.core.storage import code_bits
from kerascompact.forms.base import Form
from kerascompact.forms.packed_codes import add_codes, code_rows, read_codes
from kerascompact.forms.tables import PRECISIONS, at_most
from kerascompact.ops import bits
from kerascompact.ops.unique import unique_ids


@register
class CodeLSTMForm(Form):
    """Runs an LSTM over the codebook vectors of id `i` and adds its outputs.

    `E[i] = sum_j h_j` with `h = LSTM(W^1[c_i^1], ..., W^D[c_i^D])` and Keras' gates (in the order
    i, f, c, o), `x @ kernel + h @ recurrent_kernel + bias`. One loop over the `D` steps serves any
    number of ids, which keeps the file small. In a batch, each id is computed once.

    When it is quantized, `kernel` takes over the scales of the codebooks in its rows, and both
    kernels become int8 with a scale for each column. They stay int8 if the codebooks are int4: an
    error in a kernel counts in every step, and int4 kernels would raise the error of random vectors
    from 14 to 20 %.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, the units of the LSTM.
        cardinality: Vectors `K` in a codebook, 2 to 65,536.
        code_length: Codes `D` per id, the steps of the LSTM.
        width: Width `d'` of the codebook vectors.
        shared: Whether one codebook serves all positions.
        precision: Type of the codebooks: "float32", "int8" or "int4".
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: in float32 `V D ceil(log2 K) + 32 K D d' + 32 (4 d (d' + d + 1))` bits, with `K d'` in
        place of `K D d'` if the codebook is shared; in int8 the codebooks and kernels take
        `8 K D d' + 8 (4 d (d' + d)) + 3 * 32 * 4 d`.
    Raises: ValueError, for a wrong argument, a code not below `K`, or an id out of range.

    Example:
    >>> codes, books = np.array([[0, 1], [1, 1]]), np.ones((2, 2, 3))
    >>> lstm = dict(kernel=np.zeros((3, 8)), recurrent_kernel=np.zeros((2, 8)), bias=np.ones(8))
    >>> CodeLSTMForm.from_codes(codes, books, **lstm)(np.array([0])).shape
    TensorShape([1, 2])

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 2.3.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        cardinality: int,
        code_length: int,
        width: int,
        shared: bool = False,
        precision: str = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**bits.MAX_BITS)
        self.code_length = checks.integer_in("code_length", code_length, 1)
        self.width = checks.integer_in("width", width, 1)
        self.shared = checks.boolean("shared", shared)
        self.precision = checks.choice("precision", precision, PRECISIONS)
        self.code_bits = code_bits(self.cardinality)
        self.num_codebooks = 1 if shared else self.code_length
        longest = 2**31 // (self.code_bits * self.code_length) - 1
        checks.integer_in("input_dim", self.input_dim, 1, longest)

    @classmethod
    def from_codes(
        cls,
        codes: np.ndarray,
        codebooks: np.ndarray,
        kernel: np.ndarray,
        recurrent_kernel: np.ndarray,
        bias: np.ndarray,
        **config: Any,
    ) -> "CodeLSTMForm":
        """Packs codes and stores them with float codebooks and the weights of an LSTM.

        Args:
            codes: Integers in `[0, K)`, `(V, D)`.
            codebooks: Float vectors `(D, K, d')`, or `(K, d')` for a codebook that is shared.
            kernel: Kernel of a `keras.layers.LSTM`, `(d', 4 d)`.
            recurrent_kernel: Recurrent kernel of the LSTM, `(d, 4 d)`.
            bias: Bias of the LSTM, `(4 d,)`.
            **config: Further arguments of the form.

        Raises: ValueError, if the arrays do not fit.
        """
        arrays, sizes = read_codes(codes, codebooks)
        width, units = sizes["output_dim"], len(np.asarray(recurrent_kernel))
        lstm = {"kernel": kernel, "recurrent_kernel": recurrent_kernel, "bias": bias}
        shapes = ((width, 4 * units), (units, 4 * units), (4 * units,))
        for (name, array), shape in zip(lstm.items(), shapes, strict=True):
            arrays[name] = checks.finite(name, np.asarray(array))
            if arrays[name].shape != shape:
                raise ValueError(
                    f"`{name}` must have the shape {shape}, for an LSTM of {units} units over "
                    f"vectors of width {width}. Received: {arrays[name].shape}."
                )
        return cls.from_arrays(arrays, **{**sizes, "output_dim": units, "width": width, **config})

    def build(self, input_shape: Any = None) -> None:
        add_codes(self)
        rows, units = self.num_codebooks * self.cardinality, self.output_dim
        kernels = "float32" if self.precision == "float32" else "int8"
        self.add_table("codebook", (rows, self.width), self.precision, scale_shape=())
        self.add_table("kernel", (self.width, 4 * units), kernels)
        self.add_table("recurrent_kernel", (units, 4 * units), kernels)
        self.add_array("bias", (4 * units,), "float32")

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        if ids.shape[:1] == [1]:  # one text, as on a phone
            return reshape_as(self.outputs(tf.reshape(ids, [-1])), ids, self.output_dim)
        unique, inverse = unique_ids(ids, self.input_dim)
        return tf.gather(self.outputs(unique), inverse)

    def outputs(self, ids: tf.Tensor) -> tf.Tensor:
        """Adds the LSTM's outputs over all steps: float32 `(n, d)` for ids `(n,)`."""
        rows = code_rows(self, ids, codes_first=True)  # (D, n)

        def step(
            place: tf.Tensor, hidden: tf.Tensor, cell: tf.Tensor, total: tf.Tensor
        ) -> tuple[tf.Tensor, ...]:
            vectors = self.raw_rows("codebook", tf.gather(rows, place))
            zero = tf.minimum(place, 0)
            gates = self.times(vectors, "kernel", zero)
            gates += self.times(hidden, "recurrent_kernel", zero)
            entry, keep, new, exit = tf.split(gates + self.bias.value, 4, axis=-1)
            cell = tf.sigmoid(keep) * cell + tf.sigmoid(entry) * tf.tanh(new)
            hidden = tf.sigmoid(exit) * tf.tanh(cell)
            return place + 1, hidden, cell, total + hidden

        # Computed zeros: constant ones would be stored in the file for all ids.
        zero = tf.cast(tf.minimum(tf.reduce_min(ids), 0), tf.float32)
        zeros = tf.fill([tf.shape(ids)[0], self.output_dim], zero)
        start = (tf.constant(0), zeros, zeros, zeros)
        # XLA differentiates a loop only if the largest number of steps is given.
        return tf.while_loop(lambda *_: True, step, start, maximum_iterations=self.code_length)[-1]

    def quantized(self, precision: str) -> "CodeLSTMForm":
        if at_most(self.precision, precision):
            return self
        book = self.quantized_table("codebook", precision)
        kernel = book["codebook_scale"][:, None] * self.table_values("kernel")
        arrays = {
            "codes": self.codes.numpy(),
            "codebook": book["codebook"],
            **dict(zip(("kernel", "kernel_scale"), quantize_columns(kernel), strict=True)),
            **self.quantized_table("recurrent_kernel", "int8"),
            "bias": self.bias.numpy(),
        }
        return CodeLSTMForm.from_arrays(arrays, **{**self.get_config(), "precision": precision})

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "cardinality": self.cardinality,
            "code_length": self.code_length,
            "width": self.width,
            "shared": self.shared,
            "precision": self.precision,
        }
