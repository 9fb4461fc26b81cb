"""Composed forms: parts side by side, or one part for frequent ids and one for the others."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.forms.base import Form, read_form


class Composed(Form):
    """Base of forms that consist of other forms and store nothing themselves."""

    parts: list[Form]

    def build(self, input_shape: Any = None) -> None:
        for part in self.parts:
            if not part.built:
                part.build()

    def storage(self) -> list[Stored]:
        return [
            array._replace(name=f"{index}/{array.name}")
            for index, part in enumerate(self.parts)
            for array in part.storage()
        ]

    def quantized(self, precision: str) -> Form:
        return self.with_parts([part.quantized(precision) for part in self.parts])

    def with_parts(self, parts: list[Form]) -> Form:
        """The same form over other parts; itself, if they are its own."""
        if all(new is old for new, old in zip(parts, self.parts, strict=True)):
            return self
        config = self.get_config()
        config["parts"] = parts
        form = type(self)(**config)
        form.build()
        return form

    def get_config(self) -> dict[str, Any]:
        parts = [keras.saving.serialize_keras_object(part) for part in self.parts]
        return {**super().get_config(), "parts": parts}


def read_forms(parts: Any, expected: str = "a list of two or more forms") -> list[Form]:
    """Reads the parts of a form, from their configurations if these come from a file.

    Args:
        parts: Forms or their configurations.
        expected: Description of the right argument, for errors.

    Raises: ValueError, if they are not two or more forms.
    """
    if not isinstance(parts, list | tuple):
        checks.fail("parts", expected, parts)
    if len(parts) < 2 or not all(isinstance(part, Form | dict) for part in parts):
        checks.fail("parts", expected, parts)
    return [read_form("parts", part) for part in parts]


@register
class ConcatForm(Composed):
    """Concatenates the vectors of several forms.

    `E[i] = [E_1[i]; E_2[i]; ...]`, with the same ids in all parts.

    Args:
        input_dim: Vocabulary size `V` of every part.
        output_dim: Embedding width `d`, the sum of the parts' widths.
        parts: Two or more forms, in the order of the columns.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: the sum of the bits of all parts.
    Raises: ValueError, if widths or vocabularies do not fit.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> half = DenseForm.from_arrays({"table": np.eye(2)}, input_dim=2, output_dim=2)
    >>> ConcatForm(2, 4, [half, half])(np.array([1])).numpy().tolist()
    [[0.0, 1.0, 0.0, 1.0]]
    """

    def __init__(self, input_dim: int, output_dim: int, parts: list[Form], **kwargs: Any) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.parts = read_forms(parts)
        widths = [part.output_dim for part in self.parts]
        if sum(widths) != self.output_dim:
            checks.fail("output_dim", f"the sum of the parts' widths {widths}", output_dim)
        if any(part.input_dim != self.input_dim for part in self.parts):
            checks.fail("input_dim", f"the vocabulary of every part {self.parts}", input_dim)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        return tf.concat([part.lookup(ids) for part in self.parts], axis=-1)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        beside = tf.split(hidden, [part.output_dim for part in self.parts], axis=-1)
        return tf.add_n(
            [part.word_logits(own) for part, own in zip(self.parts, beside, strict=True)]
        )


@register
class SplitForm(Composed):
    """Looks up the most frequent ids in one form and all others in another.

    With `r` reserved ids and a first form of `u` rows: `E[i] = first[i - r]` where
    `r <= i < r + u`; else `E[i] = second[i]` for `i < r` and `second[i - u]` for `i >= r + u`.

    Args:
        input_dim: Vocabulary size `V`, the sum of the parts' vocabularies.
        output_dim: Embedding width `d` of both parts.
        parts: Form of the frequent ids and form of the others.
        num_reserved: Leading ids `r` (padding, unknown word) that belong to the second form.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: the sum of the bits of both parts; the split itself is arithmetic on the id.
    Raises: ValueError, if widths or vocabularies do not fit.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> one, zero = np.ones((1, 2)), np.zeros((3, 2))
    >>> first = DenseForm.from_arrays({"table": one}, input_dim=1, output_dim=2)
    >>> rest = DenseForm.from_arrays({"table": zero}, input_dim=3, output_dim=2)
    >>> SplitForm(4, 2, [first, rest])(np.array([0, 1])).numpy().tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        parts: list[Form],
        num_reserved: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.parts = read_forms(parts, "a list of two forms")
        if len(self.parts) != 2:
            checks.fail("parts", "a list of two forms", parts)
        first, second = self.parts
        if first.input_dim + second.input_dim != self.input_dim:
            both = f"{first.input_dim} + {second.input_dim}"
            checks.fail("input_dim", f"the sum of the parts' vocabularies {both}", input_dim)
        if not first.output_dim == second.output_dim == self.output_dim:
            both = f"{first.output_dim} and {second.output_dim}"
            checks.fail("output_dim", f"the width of both parts, {both}", output_dim)
        self.num_reserved = checks.integer_in("num_reserved", num_reserved, 0, second.input_dim)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        first, second = self.parts
        in_first, first_ids, second_ids = split_ids(ids, first.input_dim, self.num_reserved)
        chosen = tf.expand_dims(in_first, -1)
        return tf.where(chosen, first.lookup(first_ids), second.lookup(second_ids))

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        first, second = (part.word_logits(hidden) for part in self.parts)
        if self.num_reserved == 0:
            return tf.concat([first, second], axis=-1)
        reserved, rest = second[..., : self.num_reserved], second[..., self.num_reserved :]
        return tf.concat([reserved, first, rest], axis=-1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_reserved": self.num_reserved}


def split_ids(
    ids: tf.Tensor, num_first: int, num_reserved: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Whether each id belongs to the first part, and its row in both parts.

    An id gets a valid row in the other part as well, so that rows of both can be gathered.

    Args:
        ids: Int32 ids of any shape.
        num_first: Rows of the first part.
        num_reserved: Leading ids that belong to the second part.

    >>> in_first, first, second = split_ids(tf.constant([0, 1, 2, 3]), 2, 1)
    >>> in_first.numpy().tolist(), first.numpy().tolist(), second.numpy().tolist()
    ([False, True, True, False], [0, 0, 1, 0], [0, 0, 0, 1])
    """
    if num_reserved == 0:
        in_first, second_ids = ids < num_first, tf.maximum(ids - num_first, 0)
    else:
        in_first = tf.logical_and(ids >= num_reserved, ids < num_reserved + num_first)
        second_ids = tf.maximum(ids - num_first, tf.minimum(ids, num_reserved - 1))
    # Not clip_by_value: for 7 rows TFLite's converter makes it a Relu6, which is no integer
    # operator.
    return in_first, tf.where(in_first, ids - num_reserved, 0), second_ids


def rows_of_the_batch(ids: tf.Tensor, belongs: tf.Tensor) -> tf.Tensor:
    """Replaces the rows of ids that belong to the other part by a row that the batch uses.

    Both parts are gathered for every id, and every gathered row gets a gradient, even if that is 0.
    An optimizer with momentum would then move rows of words that the batch does not have. If no id
    of the batch belongs to the part, all get row 0.

    Args:
        ids: Rows in one part, from `split_ids`.
        belongs: Whether each id belongs to this part.

    >>> rows_of_the_batch(tf.constant([0, 4, 2]), tf.constant([False, True, True])).numpy().tolist()
    [4, 4, 2]
    """
    one = tf.reduce_max(tf.where(belongs, ids, 0))
    return tf.where(belongs, ids, one)
