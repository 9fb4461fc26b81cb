"""Product codes: every few numbers of a row are one code in a small codebook for all columns."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.forms.base import Form
from kerascompact.forms.codebook import CodebookForm
from kerascompact.forms.direction_norm import all_numbers

LEVELS = 256  # that the lengths of rows are rounded to, as in fastText
LARGEST = 127


@register
class ProductCodesForm(Form):
    """Looks up a code for every `g` numbers of a row, and scales its vector by row and column.

    `E[i, j] = s_i c_j B[k(i, j // g), j mod g]`, with one codebook `B` of `K` vectors of `g`
    integers for all places, codes `k` in `[0, K)`, factors `c` of columns and, if wanted, lengths
    `s` of rows, which share 256 values. A codebook per place (`CodebookForm` with "concat") needs
    `d / g` times the numbers. The last code of a row may have numbers beyond the width; they are
    cut off.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        cardinality: Vectors `K` in the codebook, 2 to 65,536.
        group: Numbers `g` of a code; with 1, the codebook is a list of values.
        row_scales: Whether rows have lengths `s`.
        factors: Whether columns have factors `c`; `False` if another form multiplies by them, see
            `unscaled`.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: `V ceil(d / g) ceil(log2 K) + 8 K g` bits, `32 d` for factors, and `8 V + 32 * 256` for
        lengths; `stored_as` changes nothing.
    Raises: ValueError, for a wrong argument, a code not below `K`, or an id out of range.

    Example:
    >>> codes, book = np.array([[1, 0]]), np.array([[1, 2], [3, 4]])
    >>> form = ProductCodesForm.from_codes(codes, book, np.array([1.0, 1.0, 10.0]))
    >>> form(np.array([0])).numpy().tolist()
    [[3.0, 4.0, 10.0]]

    Reference: [Jegou et al., TPAMI 2011](https://hal.inria.fr/inria-00514462), sec. II.B;
    [Joulin et al., 2016](https://arxiv.org/abs/1612.03651), sec. 3.2 (lengths apart).
    Differs: one codebook for all places, and factors of columns.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        cardinality: int,
        group: int,
        row_scales: bool = False,
        factors: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.group = checks.integer_in("group", group, 1, self.output_dim)
        self.row_scales = checks.boolean("row_scales", row_scales)
        self.factors = checks.boolean("factors", factors)
        length = -(-self.output_dim // self.group)
        self.directions = CodebookForm(
            self.input_dim,
            length * self.group,
            cardinality,
            length,
            combine="concat",
            shared=True,
            precision="int8",
            scaled=False,
        )
        self.cardinality = self.directions.cardinality
        self.lengths = CodebookForm(self.input_dim, 1, LEVELS) if self.row_scales else None

    @classmethod
    def from_codes(
        cls,
        codes: np.ndarray,
        codebook: np.ndarray,
        factors: np.ndarray | None,
        row_codes: np.ndarray | None = None,
        levels: np.ndarray | None = None,
        **config: Any,
    ) -> "ProductCodesForm":
        """Packs codes.

        Args:
            codes: Integers in `[0, K)`, `(V, ceil(d / g))`.
            codebook: Integers from -127 to 127, `(K, g)`.
            factors: Factors of the columns, `(d,)`, or `None`, which needs `output_dim`.
            row_codes: Number of the length of each row, `(V,)`, or `None`.
            levels: Lengths, `(256,)`, with `row_codes`.
            **config: Further arguments of the form.

        Raises: ValueError, if an array has another shape or type of numbers.
        """
        codes, codebook = np.asarray(codes), np.asarray(codebook)
        if codebook.ndim != 2 or np.abs(codebook).max(initial=0) > LARGEST:
            expected = f"a matrix (K, g) of integers from -{LARGEST} to {LARGEST}"
            checks.fail("codebook", expected, codebook)
        width = config.pop("output_dim", None) if factors is None else len(factors)
        sizes = dict(zip(("cardinality", "group"), codebook.shape, strict=True))
        own: dict[str, Any] = {"factors": factors is not None, "row_scales": row_codes is not None}
        form = cls(input_dim=len(codes), output_dim=width, **sizes, **own, **config)
        form.build()
        shape = (form.input_dim, form.directions.code_length)
        if codes.shape != shape:
            checks.fail("codes", f"an array of shape {shape}", f"one of shape {codes.shape}")
        inner = CodebookForm.from_codes(codes, codebook, combine="concat")
        form.directions.codes.assign(inner.codes)
        form.directions.codebook.assign(codebook.astype(np.int8))
        if factors is not None:
            form.column_factors.assign(checks.finite("factors", np.asarray(factors, np.float32)))
        if form.lengths is not None:
            levels = checks.finite("levels", np.asarray(levels, np.float32))
            numbers = CodebookForm.from_codes(np.asarray(row_codes), levels.reshape(-1, 1))
            form.lengths.set_weights(numbers.get_weights())
        return form

    def build(self, input_shape: Any = None) -> None:
        for part in (self.directions, self.lengths):
            if part is not None and not part.built:
                part.build()
        if self.factors:
            self.add_array("column_factors", (self.output_dim,), "float32")
        self.built = True

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        flat = tf.reshape(ids, [-1])
        rows = self.directions.lookup(flat)
        if self.directions.output_dim > self.output_dim:
            rows = rows[:, : self.output_dim]
        if self.factors:
            rows *= self.column_factors.value
        if self.lengths is not None:
            rows *= self.lengths.lookup(flat)
        return reshape_as(rows, ids, self.output_dim)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Computes `s_v sum_j t^j[k_v^j]` from the scores `t^j_k = (c h)^j . B[k]` of all codes."""
        scaled = hidden * self.column_factors.value if self.factors else hidden
        beyond = self.directions.output_dim - self.output_dim
        if beyond:
            scaled = tf.pad(scaled, [[0, 0]] * (hidden.shape.rank - 1) + [[0, beyond]])
        logits = self.directions.word_logits(scaled)
        if self.lengths is None:
            return logits
        return logits * all_numbers(self.lengths, hidden)

    def storage(self) -> list[Stored]:
        inside = {"directions": self.directions, "lengths": self.lengths}
        return [
            *(
                one._replace(name=f"{name}/{one.name}")
                for name, part in inside.items()
                if part is not None
                for one in part.storage()
            ),
            *super().storage(),
        ]

    def quantized(self, precision: str) -> "ProductCodesForm":
        return self

    def unscaled(self) -> tuple[Form, np.ndarray | None]:
        if not self.factors:
            return self, None
        form = type(self)(**{**self.get_config(), "factors": False})
        form.build()
        form.directions.set_weights(self.directions.get_weights())
        if form.lengths is not None and self.lengths is not None:
            form.lengths.set_weights(self.lengths.get_weights())
        return form, self.column_factors.numpy()

    def get_config(self) -> dict[str, Any]:
        own: dict[str, Any] = {
            key: getattr(self, key) for key in ("cardinality", "group", "row_scales", "factors")
        }
        return {**super().get_config(), **own}
