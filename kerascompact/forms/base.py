"""Base class of all forms."""

from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import call_on_ids, reshape_as
from kerascompact.core.masked_mean import attach_mean
from kerascompact.forms.tables import StoredTables
from kerascompact.ops.vocabulary_chunks import columns_in_chunks


class Form(StoredTables):
    """Looks up vectors in named constant arrays, with operators that TFLite has built in.

    `E[i] = f(arrays, i)`: a subclass declares its arrays with `add_array` and `add_table`, and
    defines `lookup(ids) -> float32 vectors` and `quantized`. A form is an ordinary Keras layer: it
    can be evaluated, saved and loaded, and has nothing to train.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        mask_zero: Whether id 0 is padding, as in `keras.layers.Embedding`.
        paper_bits: Size in bits by the formula of the method's paper, if it has one.
        **kwargs: Further arguments of `keras.layers.Layer`, such as `name`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`; with `reverse=True`, vectors
        `(..., d)` -> logits `(..., V)`.
    Storage: the sum of the arrays' bits, `sum(array.total_bits for array in form.storage())`.
    Raises: ValueError, for a wrong argument, or (outside a graph) an id out of range.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> form = DenseForm.from_arrays({"table": np.eye(2)}, input_dim=2, output_dim=2)
    >>> form(np.array([1])).numpy().tolist(), form.storage()[0].total_bits
    ([[0.0, 1.0]], 128)
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
        super().__init__(input_dim, output_dim, mask_zero=mask_zero, **kwargs)
        self.paper_bits = paper_bits
        self.is_averaged = False  # see `core.masked_mean`

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], **config: Any) -> Self:
        """Builds a form and fills its arrays.

        Args:
            arrays: An array for each name that the form declares.
            **config: Arguments of the form.

        Raises: ValueError, if an array has another shape than the form declares.
        """
        form = cls(**config)
        form.build()
        for name, array in arrays.items():
            getattr(form, name).assign(array)  # Keras checks the shape
        return form

    def to_form(self) -> "Form":
        """Returns itself: a form is already in the format of the file."""
        return self

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Looks up float32 vectors `(..., d)` for int32 ids `(...)`."""
        raise NotImplementedError(f"{type(self).__name__} must define `lookup`.")

    def stored_as(self, precision: str = "int8") -> "Form":
        """Returns the same form with its tables stored as `precision`; nothing changes in place.

        Args:
            precision: "int8" or "int4". A table with no more bits stays as it is; if all do, the
                form itself is returned.
        """
        return self.quantized(checks.choice("precision", precision, ("int8", "int4")))

    def quantized(self, precision: str) -> "Form":
        """The form with tables of at most this precision; itself, if nothing needs rounding."""
        raise NotImplementedError(f"{type(self).__name__} must define `quantized`.")

    def unscaled(self) -> "tuple[Form, np.ndarray | None]":
        """Splits off the column scales: a form without them, and the scales `(d,)`.

        A matrix that multiplies the vectors anyway can then hold the scales. A form without column
        scales returns itself and `None`.
        """
        return self, None

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Computes logits `(..., V)` of float32 vectors `(..., d)`: `h . E[v]` for every word.

        This works for any form: it multiplies with the vectors of one chunk of the vocabulary at a
        time. Subclasses have faster ways.
        """
        flat = tf.reshape(hidden, [-1, self.output_dim])

        def columns_of(ids: tf.Tensor) -> tf.Tensor:
            return tf.matmul(flat, self._rows(ids), transpose_b=True)  # no id occurs twice

        logits = columns_in_chunks(columns_of, self.input_dim, flat)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def call(self, inputs: Any, reverse: bool = False, training: bool | None = None) -> tf.Tensor:
        if reverse:
            return self.call_in_reverse(inputs, self._rows if training else None)
        found = call_on_ids(self, inputs, self.lookup)
        of_one_text = self.is_averaged and tuple(inputs.shape[:-1]) == (1,)
        if not of_one_text or not self.means_faster(inputs.shape[-1]):
            return found
        return attach_mean(found, lambda mask: self.mean_of(tf.cast(inputs, tf.int32), mask))

    def means_faster(self, length: int | None) -> bool:
        """Whether `mean_of` takes less time than adding the vectors of `lookup`.

        Args:
            length: Ids of a text, with padding; `None` if it is open.
        """
        return False

    def mean_of(self, ids: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Mean `(1, d)` of the vectors of one text's int32 ids `(1, n)` that a bool mask keeps.

        Scales of columns come last: the converter multiplies a kernel that follows with them.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `mean_of`.")

    def _rows(self, ids: tf.Tensor) -> tf.Tensor:
        return self.lookup(ids[None])[0]  # as a batch of one text

    @property
    def float32_bits(self) -> int:
        """Bits of the float32 table that the form replaces."""
        return 32 * self.input_dim * self.output_dim

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "paper_bits": self.paper_bits}


def read_form(name: str, form: Any) -> Form:
    """Reads the form inside another form, from its configuration if that comes from a file.

    Args:
        name: Name of the argument, for errors.
        form: A form or its configuration.

    Raises: ValueError, if it is not a form.
    """
    read = keras.saving.deserialize_keras_object(form) if isinstance(form, dict) else form
    if not isinstance(read, Form):
        checks.fail(name, "a form", form)
    return read
