"""Product of two forms: directions of vectors times their lengths."""

from typing import Any

import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.composed import Composed, read_forms
from kerascompact.ops.vocabulary_chunks import unknown_zero


@register
class DirectionNormForm(Composed):
    """Multiplies the vectors of one form by the lengths in another.

    `E[i] = n_i D[i]`, with the directions `D` in the first form and the lengths `n` in the second,
    which has width 1. Codes for directions alone need no values for lengths.

    Args:
        input_dim: Vocabulary size `V` of both parts.
        output_dim: Embedding width `d`, the width of the first part.
        parts: Form of the directions and form of the lengths.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: the sum of the bits of both parts.
    Raises: ValueError, if widths or vocabularies do not fit.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> one = DenseForm.from_arrays({"table": np.eye(2)}, input_dim=2, output_dim=2)
    >>> two = DenseForm.from_arrays({"table": np.array([[3], [5]])}, input_dim=2, output_dim=1)
    >>> DirectionNormForm(2, 2, [one, two])(np.array([1])).numpy().tolist()
    [[0.0, 5.0]]

    Reference: [Joulin et al., 2016](https://arxiv.org/abs/1612.03651), sec. 3.2 (the norms of
    product quantization).
    """

    def __init__(self, input_dim: int, output_dim: int, parts: list[Form], **kwargs: Any) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.parts = read_forms(parts, "a list of two forms")
        if len(self.parts) != 2:
            checks.fail("parts", "a list of two forms", parts)
        widths = [part.output_dim for part in self.parts]
        if widths != [self.output_dim, 1]:
            expected = f"the width of the first part, with widths [d, 1] and not {widths}"
            checks.fail("output_dim", expected, output_dim)
        if any(part.input_dim != self.input_dim for part in self.parts):
            checks.fail("input_dim", f"the vocabulary of every part {self.parts}", input_dim)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        vectors, numbers = self.parts
        return vectors.lookup(ids) * numbers.lookup(ids)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        vectors, numbers = self.parts
        return vectors.word_logits(hidden) * all_numbers(numbers, hidden)


def all_numbers(form: Form, hidden: tf.Tensor) -> tf.Tensor:
    """The numbers `(V,)` of a form of width 1, as a file computes them.

    Args:
        form: Form of width 1.
        hidden: Vectors that depend on the input of the model.
    """
    # All numbers are the logits of a 1. The TFLite converter must not know this one: it would
    # multiply the table with it and store the result.
    one = tf.reshape(1.0 + tf.cast(unknown_zero(hidden), tf.float32), [1, 1])
    return tf.reshape(form.word_logits(one), [-1])
