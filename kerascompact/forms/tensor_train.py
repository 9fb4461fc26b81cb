"""Tensor train: vectors as products of small matrices, one from each core."""

import math
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.tables import PRECISIONS, TABLE_BITS, at_most
from kerascompact.ops import tensor_train
from kerascompact.ops.vocabulary_chunks import id_range, unknown_zero


@register
class TensorTrainForm(Form):
    """Multiplies one small matrix from each of several cores.

    `E[i] = G_0[i_0] G_1[i_1] ...`, where `i_0 i_1 ...` are the digits of id `i` in the bases
    `v_0, v_1, ...`, and `G_k[i_k]: (r_k, d_k r_{k+1})`. The products of all `d_k` columns are the
    `d` numbers of a vector.

    Args:
        input_dim: Vocabulary size `V`, at most the product of the bases.
        output_dim: Embedding width `d`, the product of `width_factors`.
        id_factors: Two or more bases `v_0, v_1, ...` of the ids.
        width_factors: Factors `d_0, d_1, ...` of the width, one for each base.
        ranks: Inner sizes `r_1, r_2, ...` between the cores, one less than there are bases.
        precision: Type of the cores: "float32", "int8" or "int4"; integers share one scale, the
            product of the cores' scales.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: `32 n` bits in float32, `8 n + 32` in int8 and `4 n + 32` in int4, with
        `n = sum_k v_k r_k d_k r_{k+1}`.
    Raises: ValueError, for a wrong argument or an id out of range.

    Example:
    >>> cores = [np.array([[3.0], [1.0]]), np.array([[1.0, 2.0], [0.0, 1.0]])]
    >>> sizes = dict(id_factors=(2, 2), width_factors=(1, 2), ranks=(1,))
    >>> form = TensorTrainForm.from_cores(cores, 4, **sizes)
    >>> form(np.array([0, 3])).numpy().tolist()
    [[3.0, 6.0], [0.0, 1.0]]

    Reference: [Hrinchuk et al., 2019](https://arxiv.org/abs/1901.10787), sec. 3.3.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        id_factors: Any,
        width_factors: Any,
        ranks: Any,
        precision: str = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.shape = read_shape(self.input_dim, self.output_dim, id_factors, width_factors, ranks)
        self.precision = checks.choice("precision", precision, PRECISIONS)

    @classmethod
    def from_cores(cls, cores: list[np.ndarray], input_dim: int, **config: Any) -> Any:
        """Stores float cores.

        Args:
            cores: A core `(v_k, r_k d_k r_{k+1})` for each base.
            input_dim: Vocabulary size `V`, in ids.
            **config: Further arguments of the form: `id_factors`, `width_factors`, `ranks`.
        """
        arrays = {f"core_{k}": checks.finite("cores", core) for k, core in enumerate(cores)}
        width = math.prod(config["width_factors"])
        return cls.from_arrays(arrays, input_dim=input_dim, output_dim=width, **config)

    def build(self, input_shape: Any = None) -> None:
        for k, shape in enumerate(self.shape.core_shapes):
            self.add_table(f"core_{k}", shape, self.precision, scale_shape=())
        if self.precision != "float32":
            self.add_array("scale", (), "float32")

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        found = tensor_train.digits(tf.reshape(ids, [-1]), self.shape.id_factors)
        matrices = [self.raw_rows(f"core_{k}", digit) for k, digit in enumerate(found)]
        vectors = tensor_train.train_rows(matrices, self.shape)
        return reshape_as(self._scaled(vectors), ids, self.output_dim)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Contracts one core after the other, without computing the words' vectors."""
        flat, zero = tf.reshape(hidden, [-1, self.output_dim]), unknown_zero(hidden)
        cores = []
        for k, size in enumerate(self.shape.id_factors):
            name = f"core_{k}"
            # An int4 core is gathered, as in `lookup`, so that the file stores it only once.
            if self.precision == "int4":
                cores.append(self.raw_rows(name, id_range(zero, size)))
            else:
                cores.append(self.full_table(name, zero))
        logits = tensor_train.train_logits(self._scaled(flat), cores, self.shape)
        return reshape_as(logits[:, : self.input_dim], hidden[..., 0], self.input_dim)

    def _scaled(self, vectors: tf.Tensor) -> tf.Tensor:
        return vectors if self.precision == "float32" else vectors * self.scale.value

    def quantized(self, precision: str) -> "TensorTrainForm":
        if at_most(self.precision, precision):
            return self
        arrays: dict[str, Any] = {}
        scale = np.float32(1 if self.precision == "float32" else self.scale.numpy())
        for k in range(len(self.shape.id_factors)):
            core = getattr(self, f"core_{k}").numpy().astype(np.float32)
            codes, step = quantize_columns(core.reshape(-1, 1), TABLE_BITS[precision])
            arrays[f"core_{k}"] = codes.reshape(core.shape)
            scale = scale * step[0]
        config = {**self.get_config(), "precision": precision}
        return TensorTrainForm.from_arrays({**arrays, "scale": np.asarray(scale)}, **config)

    def get_config(self) -> dict[str, Any]:
        sizes = {name: list(values) for name, values in self.shape._asdict().items()}
        return {**super().get_config(), **sizes, "precision": self.precision}


def read_shape(
    input_dim: int, output_dim: int, id_factors: Any, width_factors: Any, ranks: Any
) -> tensor_train.TrainShape:
    """Checks the sizes of a tensor train for a table `(V, d)`.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        id_factors: Bases of the ids.
        width_factors: Factors of the width.
        ranks: Inner sizes between the cores.

    Raises: ValueError, if the sizes do not fit.

    >>> read_shape(10, 4, [4, 3], [2, 2], [5]).size
    70
    """
    read = {}
    for name, sizes in dict(
        id_factors=id_factors, width_factors=width_factors, ranks=ranks
    ).items():
        if not isinstance(sizes, list | tuple):
            checks.fail(name, "a list of integers", sizes)
        read[name] = tuple(checks.integer_in(name, size, 1) for size in sizes)
    shape = tensor_train.TrainShape(**read)
    if len(shape.id_factors) < 2 or math.prod(shape.id_factors) < input_dim:
        expected = f"two or more integers whose product is at least {input_dim}"
        checks.fail("id_factors", expected, id_factors)
    if (
        len(shape.width_factors) != len(shape.id_factors)
        or math.prod(shape.width_factors) != output_dim
    ):
        expected = f"{len(shape.id_factors)} integers whose product is the width {output_dim}"
        checks.fail("width_factors", expected, width_factors)
    if len(shape.ranks) != len(shape.id_factors) - 1:
        checks.fail("ranks", f"{len(shape.id_factors) - 1} integers, between the cores", ranks)
    return shape
