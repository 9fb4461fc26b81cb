"""Remapped rows: some ids have rows of their own; all others share one or are zero."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.forms.base import Form, read_form
from kerascompact.forms.dense import DenseForm
from kerascompact.ops import id_sets
from kerascompact.ops.vocabulary_chunks import columns_in_chunks


@register
class RemappedForm(Form):
    """Looks up the rows of another form for the ids that are kept.

    `E[i] = part[rank(i)]` for the `n` kept ids, where `rank(i)` counts the kept ids below `i`. All
    other ids have `E[i] = part[n]` if they share a row, and `E[i] = 0` if they do not. Vocabulary
    selection ends in this form.

    The kept ids are stored in the smallest way: not at all if they are consecutive, or as a bit for
    each id, or as a byte for each kept id (`ops.id_sets`).

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        part: Form with a row for each kept id, and one more if `shared`.
        shared: Whether all other ids share the last row of the part.
        kept: How the kept ids are stored: "range", "bitmap" or "sorted".
        first: First kept id, for "range".
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: the bits of the part, and about `1.25 V` for "bitmap", `8 n + V / 16` for "sorted" or
        none for "range".
    Raises: ValueError, for a wrong argument, or if the part has another width or is too large.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> part = DenseForm.from_arrays({"table": np.eye(2)}, input_dim=2, output_dim=2)
    >>> RemappedForm.from_part(part, np.array([1, 3]), 5)(np.array([0, 1, 3])).numpy().tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]

    Reference: [Chen et al., NAACL 2019](https://arxiv.org/abs/1902.10339), sec. 3. Differs: the
    paper renumbers the words before the model; here the file takes the ids of all words.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        part: Form,
        shared: bool = False,
        kept: str = "range",
        first: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.part = read_form("part", part)
        if self.part.output_dim != self.output_dim:
            checks.fail("output_dim", f"the part's width, {self.part.output_dim}", output_dim)
        self.shared = checks.boolean("shared", shared)
        self.kept = checks.choice("kept", kept, ("range", *id_sets.KINDS))
        self.num_kept = self.part.input_dim - self.shared
        if not 0 < self.num_kept <= self.input_dim:
            expected = f"a vocabulary that holds the {self.num_kept} kept ids, at least 1"
            checks.fail("input_dim", expected, input_dim)
        self.first = checks.integer_in("first", first, 0, self.input_dim - self.num_kept)

    @classmethod
    def from_part(
        cls, part: Form, ids: Any, input_dim: int, shared: bool = False, **config: Any
    ) -> "RemappedForm":
        """Gives the rows of `part` to these ids, in ascending order.

        Args:
            part: Form with a row for each id, and one more if `shared`.
            ids: Different ids in ascending order, `(n,)`, at least one.
            input_dim: Vocabulary size `V`, in ids.
            shared: Whether all other ids share the last row of the part.
            **config: Further arguments of the form.

        Raises: ValueError, if the ids do not fit the part.
        """
        ids = checks.ids_below("ids", np.asarray(ids), checks.integer_in("input_dim", input_dim, 1))
        if ids.ndim != 1 or len(ids) != part.input_dim - shared or np.any(np.diff(ids) <= 0):
            raise ValueError(
                f"`ids` must be {part.input_dim - shared} different ids in ascending order, one for"
                f" each row of the part that is not shared. Received: the shape {ids.shape}."
            )
        arrays, first = {}, 0
        if len(ids) and ids[-1] - ids[0] == len(ids) - 1:
            kept, first = "range", int(ids[0])
        else:
            kept = min(id_sets.KINDS, key=lambda kind: id_sets.set_bits(len(ids), input_dim, kind))
            entries, before = id_sets.pack_set(ids, input_dim, kept)
            arrays = {"entries": entries, "before": before}
        config |= dict(part=part, shared=bool(shared), kept=kept, first=first)
        return cls.from_arrays(arrays, input_dim=input_dim, output_dim=part.output_dim, **config)

    @classmethod
    def from_table(cls, table: np.ndarray, **config: Any) -> "RemappedForm":
        """Stores the rows of a float table `(V, d)` that are not all zeros, at least one row."""
        ids = np.flatnonzero(np.any(table != 0, axis=1))
        ids = ids if len(ids) else np.zeros(1, np.int64)
        arrays = {"table": table[ids]}
        part = DenseForm.from_arrays(arrays, input_dim=len(ids), output_dim=table.shape[1])
        return cls.from_part(part, ids, len(table), **config)

    def build(self, input_shape: Any = None) -> None:
        if not self.part.built:
            self.part.build()
        if self.kept != "range":
            sizes = id_sets.set_shapes(self.num_kept, self.input_dim, self.kept)
            self.add_array("entries", sizes[:1], "uint8")
            self.add_array("before", sizes[1:], id_sets.number_type(self.num_kept))

    def places(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Whether each id is kept, and its row in the part; any row for ids that are not kept."""
        if self.kept == "range":
            last = self.num_kept - 1
            place = ids - self.first
            found = tf.logical_and(place >= 0, place <= last)
            # Not clip_by_value: for 7 rows TFLite's converter makes it a Relu6, which is no integer
            # operator.
            place = tf.minimum(tf.maximum(place, 0), last)
        else:
            found, place = id_sets.places(self.entries.value, self.before.value, ids, self.kept)
        return found, tf.where(found, place, self.num_kept) if self.shared else place

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        found, place = self.places(ids)
        vectors = self.part.lookup(place)
        if self.shared or self.num_kept == self.input_dim:
            return vectors
        return tf.where(tf.expand_dims(found, -1), vectors, 0.0)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Computes the logits of the part's rows and copies each to all ids that use the row."""
        own = self.part.word_logits(tf.reshape(hidden, [-1, self.output_dim]))

        def columns_of(ids: tf.Tensor) -> tf.Tensor:
            found, place = self.places(ids)
            logits = tf.gather(own, place, axis=1)
            return logits if self.shared else tf.where(found[None], logits, 0.0)

        logits = columns_in_chunks(columns_of, self.input_dim, hidden)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def storage(self) -> list[Stored]:
        return [
            *(s._replace(name=f"part/{s.name}") for s in self.part.storage()),
            *super().storage(),
        ]

    def with_part(self, part: Form) -> "RemappedForm":
        """The same kept ids with the rows of another form."""
        arrays = {}
        if self.kept != "range":
            arrays = {"entries": self.entries.numpy(), "before": self.before.numpy()}
        return RemappedForm.from_arrays(arrays, **{**self.get_config(), "part": part})

    def quantized(self, precision: str) -> "RemappedForm":
        part = self.part.quantized(precision)
        return self if part is self.part else self.with_part(part)

    def unscaled(self) -> tuple[Form, np.ndarray | None]:
        part, scale = self.part.unscaled()
        return (self, None) if scale is None else (self.with_part(part), scale)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "part": keras.saving.serialize_keras_object(self.part),
            "shared": self.shared,
            "kept": self.kept,
            "first": self.first,
        }
