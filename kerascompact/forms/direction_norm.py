"""Directions and lengths of vectors, each in a form of its own."""

from typing import Any

import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.composed import Composed, read_forms
from kerascompact.ops.vocabulary_chunks import unknown_zero


@register
class DirectionNormForm(Composed):
    """Multiplies the vectors of one form with the numbers of another.

    `E[i] = n_i D[i]`, `D` the first form and `n` the second, of width 1: lengths that are stored
    apart from the directions, so that codes need not spend their letters on them.

    Args:
        input_dim: Vocabulary size `V`, that of both parts.
        output_dim: Embedding width `d`, that of the first part.
        parts: The form of the vectors and the form of the numbers.
        **kwargs: Those of `Form`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: the sum of the parts' bits.
    Raises: ValueError, if widths or vocabularies do not fit.

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
            checks.fail("output_dim", f"the width of the first part, [d, 1] = {widths}", output_dim)
        if any(part.input_dim != self.input_dim for part in self.parts):
            checks.fail("input_dim", f"the vocabulary of every part {self.parts}", input_dim)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        vectors, numbers = self.parts
        return vectors.lookup(ids) * numbers.lookup(ids)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        vectors, numbers = self.parts
        # All numbers, as logits of a 1 that the TFLite converter does not know: it would multiply
        # the table with it and store the result.
        one = tf.reshape(1.0 + tf.cast(unknown_zero(hidden), tf.float32), [1, 1])
        return vectors.word_logits(hidden) * tf.reshape(numbers.word_logits(one), [-1])
