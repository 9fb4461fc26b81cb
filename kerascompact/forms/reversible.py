"""Reversible form: looks up vectors in one form, and scores words with another or a capped one."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.forms.base import Form, read_form


@register
class ReversibleForm(Form):
    """Looks up vectors in one form, and scores all words with another form or with a capped one.

    `E[i] = part[i]`, and in reverse `x_v = h . head[v]`, or `c tanh(h . head[v] / c)` with a soft
    cap `c`: what `keras.layers.ReversibleEmbedding` computes. Without a head, the part scores the
    words, too, and is stored once.

    Args:
        input_dim: Vocabulary size `V`.
        output_dim: Embedding width `d`.
        part: Form of the vectors, `V` rows of width `d`.
        head: Form that scores words, of the same sizes. Default: the part.
        soft_cap: Number `c > 0` that no logit exceeds. Default: none.
        **kwargs: Further arguments of `Form`, such as `name`.

    Shapes: ids `(...)` -> vectors `(..., d)`; with `reverse=True`, vectors `(..., d)` -> logits
        `(..., V)`.
    Storage: the bits of the part and of the head.
    Raises: ValueError, for a wrong argument, or if the part or the head has other sizes.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> part, head = (
    ...     DenseForm.from_arrays({"table": n * np.eye(2)}, input_dim=2, output_dim=2)
    ...     for n in (1, 3)
    ... )
    >>> form = ReversibleForm.over(part, head)
    >>> form(np.array([1])).numpy().tolist(), form(np.eye(2)[:1], reverse=True).numpy().tolist()
    ([[0.0, 1.0]], [[3.0, 0.0]])

    Reference: `keras.layers.ReversibleEmbedding`; the cap is that of Gemma 2,
    [arXiv:2408.00118](https://arxiv.org/abs/2408.00118), sec. 2.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        part: Form,
        head: Form | None = None,
        soft_cap: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.part = read_form("part", part)
        self.head = None if head is None else read_form("head", head)
        self.soft_cap = None if soft_cap is None else checks.number("soft_cap", soft_cap, above=0)
        for name, form in (("part", self.part), ("head", self.scorer)):
            sizes = (form.input_dim, form.output_dim)
            if sizes != (self.input_dim, self.output_dim):
                expected = f"a form of {self.input_dim} rows of width {self.output_dim}"
                checks.fail(name, expected, f"one of {sizes[0]} rows of width {sizes[1]}")

    @classmethod
    def over(cls, part: Form, head: Form | None = None, **config: Any) -> "ReversibleForm":
        """Builds the layer over forms that are built.

        Args:
            part: Form of the vectors.
            head: Form that scores words. Default: the part.
            **config: Further arguments, such as `soft_cap` and `name`.
        """
        form = cls(part.input_dim, part.output_dim, part, head, **config)
        form.build()
        return form

    def with_parts(self, part: Form, head: Form | None) -> "ReversibleForm":
        """The same layer over other forms."""
        if part is self.part and head is self.head:
            return self
        given = {key: getattr(self, key) for key in ("soft_cap", "mask_zero", "paper_bits", "name")}
        return ReversibleForm.over(part, head, dtype=self.dtype_policy, **given)

    @property
    def scorer(self) -> Form:
        """The form that scores words."""
        return self.part if self.head is None else self.head

    def build(self, input_shape: Any = None) -> None:
        for form in (self.part, self.scorer):
            if not form.built:
                form.build()
        self.built = True

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        return self.part.lookup(ids)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        logits = self.scorer.word_logits(hidden)
        if self.soft_cap is None:
            return logits
        return tf.tanh(logits / self.soft_cap) * self.soft_cap

    def call(self, inputs: Any, reverse: bool = False, training: bool | None = None) -> tf.Tensor:
        # A sampled loss would score words with rows of the part, without the cap.
        return super().call(inputs, reverse)

    @property
    def float32_bits(self) -> int:
        return self.part.float32_bits + (0 if self.head is None else self.head.float32_bits)

    def quantized(self, precision: str) -> Form:
        head = None if self.head is None else self.head.quantized(precision)
        return self.with_parts(self.part.quantized(precision), head)

    def storage(self) -> list[Stored]:
        inside = {"part": self.part} | ({} if self.head is None else {"head": self.head})
        return [
            one._replace(name=f"{name}/{one.name}")
            for name, form in inside.items()
            for one in form.storage()
        ]

    def get_config(self) -> dict[str, Any]:
        head = None if self.head is None else keras.saving.serialize_keras_object(self.head)
        return {
            **super().get_config(),
            "part": keras.saving.serialize_keras_object(self.part),
            "head": head,
            "soft_cap": self.soft_cap,
        }


def reversible(layer: Any, form_of: Callable[[Any], Form], **config: Any) -> Form:
    """The form of a Keras embedding, which may have a head of its own, or a cap of its logits.

    Args:
        layer: A `keras.layers.Embedding` or `keras.layers.ReversibleEmbedding`, built.
        form_of: Makes a form of a table `(V, d)`.
        **config: Further arguments of a `ReversibleForm`, such as `dtype`.
    """
    head = None if layer.tie_weights else form_of(keras.ops.transpose(layer.reverse_embeddings))
    given = {"name": layer.name, "mask_zero": layer.mask_zero, "soft_cap": layer.logit_soft_cap}
    return ReversibleForm.over(form_of(layer.embeddings), head, **given, **config)
