"""Trainable integer form: the layer that quantization-aware training fine-tunes."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import all_layers
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.forms.base import Form, read_form
from kerascompact.ops.straight_through import straight_through_estimate


@register
class TrainableForm(Form):
    """Computes what an integer form does, and trains a float behind each of its integers.

    A number of a table is `q s` with `q = round(clip(w / s, -m, m))` and `m` = 127 or 7. The float
    `w` is trained with the gradient that it would have without rounding (straight through), or 0
    where it is clipped. Scales `s`, codes and indices stay fixed. So training sees the numbers that
    the file will hold; `settled` returns the form with them.

    Only the rows that are looked up are rounded, except in tables that are always used entirely.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        part: Form with tables of integers. `TrainableForm.over(part)` takes the sizes from it.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: the bits of the part.
    Raises: ValueError, if the part has no table of integers.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> table = np.array([[0.9, -0.4], [0.2, 0.1]], "float32")
    >>> part = DenseForm.from_arrays({"table": table}, input_dim=2, output_dim=2).stored_as("int4")
    >>> form = TrainableForm.over(part)
    >>> [weight.name for weight in form.trainable_weights]
    ['latent_table']
    >>> bool(np.all(form(np.array([0, 1])) == part(np.array([0, 1]))))
    True

    Reference: [Jacob et al., CVPR 2018](https://arxiv.org/abs/1712.05877), sec. 3; the gradient:
    [Bengio et al., 2013](https://arxiv.org/abs/1308.3432), sec. 4.
    Differs: scales are fixed to those of rounding after training.
    """

    def __init__(self, input_dim: int, output_dim: int, part: Form, **kwargs: Any) -> None:
        kwargs.setdefault("trainable", True)
        super().__init__(input_dim, output_dim, **kwargs)
        self.part = read_form("part", part)

    @classmethod
    def over(cls, part: Form) -> "TrainableForm":
        """Builds the layer from a copy of `part`, which does not change."""
        options = {key: getattr(part, key) for key in ("mask_zero", "paper_bits", "name")}
        form = cls(part.input_dim, part.output_dim, _copy(part), **options)
        form.build()
        return form

    def build(self, input_shape: Any = None) -> None:
        if not self.part.built:
            self.part.build()
        self.tables = [
            _Table(self, form, name, largest)
            for form in _forms(self.part)
            for name, largest in form.largest.items()
        ]
        if not has_integers(self.part):
            checks.fail("part", "a form with a table of integers", self.part)
        self.built = True

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        return self.part.lookup(ids)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        return self.part.word_logits(hidden)

    def settled(self) -> Form:
        """The integer form with the present values."""
        for table in self.tables:
            getattr(table.form, table.name).assign(table.integers())
        return _copy(self.part)

    def storage(self) -> list[Stored]:
        return self.part.storage()

    def quantized(self, precision: str) -> Form:
        return self.settled().quantized(precision)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        return {**config, "part": keras.saving.serialize_keras_object(self.part)}


def has_integers(form: Form) -> bool:
    """Whether a built form has a table of integers other than codes and indices.

    >>> from kerascompact.forms import DenseForm
    >>> form = DenseForm.from_arrays({"table": np.eye(2)}, input_dim=2, output_dim=2)
    >>> has_integers(form), has_integers(form.stored_as("int8"))
    (False, True)
    """
    return any(inner.largest for inner in _forms(form))


class _Table:
    """One table of a form, computed from the floats behind it."""

    def __init__(self, owner: TrainableForm, form: Form, name: str, largest: int) -> None:
        self.form, self.name, self.largest = form, name, largest
        table = getattr(form, name)
        # Integers whose scale is in another form are trained as shares of the largest integer.
        scale = getattr(form, f"{name}_scale", None)
        self.scale = tf.constant(1 / largest) if scale is None else scale.value
        self.latent = owner.add_weight(
            table.shape,
            lambda shape, dtype=None: self._floats(),
            "float32",
            trainable=True,
            autocast=False,
            name=f"latent_{name}",
        )
        form.read_table_from(name, self)

    def _floats(self) -> np.ndarray:
        codes = keras.ops.convert_to_numpy(getattr(self.form, self.name)).astype(np.float32)
        return codes * keras.ops.convert_to_numpy(self._scales(np.arange(len(codes))))

    def _scales(self, index: Any) -> tf.Tensor:
        """The scales that multiply the integers of these rows."""
        if self.scale.shape.rank < 2:
            return self.scale
        # stacked tables with scales of their own
        rows = getattr(self.form, self.name).shape[0] // self.scale.shape[0]
        return tf.gather(self.scale, index // rows)

    def rows(self, index: tf.Tensor) -> tf.Tensor:
        return self._rounded(tf.gather(self.latent.value, index), index)

    def full(self) -> tf.Tensor:
        return self._rounded(self.latent.value, tf.range(self.latent.shape[0]))

    def _rounded(self, found: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
        exact = found / self._scales(index)
        exact = tf.clip_by_value(exact, -float(self.largest), float(self.largest))
        return straight_through_estimate(tf.round(exact), exact)

    def integers(self) -> np.ndarray:
        return np.rint(keras.ops.convert_to_numpy(self.full())).astype(np.int8)


def _forms(form: Form) -> Iterator[Form]:
    """A form and all forms inside it."""
    return (layer for layer in all_layers(form) if isinstance(layer, Form))


def _copy(form: Form) -> Form:
    copy = type(form).from_config(form.get_config())
    copy.build()
    copy.set_weights(form.get_weights())
    return copy
