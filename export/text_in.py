"""Text input of a file: the operators between a text's bytes and a model of words."""

from typing import Any

import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import all_layers
from kerascompact.core.storage import total_bits
from kerascompact.forms.words import ProjectionBase
from kerascompact.layers.text_to_bits import TextToBits
from kerascompact.layers.text_to_buckets import TextToBuckets
from kerascompact.layers.text_to_ids import TextToIds
from kerascompact.layers.text_to_pieces import TextToPieces
from kerascompact.layers.text_to_slots import TextToSlots
from kerascompact.ops import byte_text
from kerascompact.text.buckets import Buckets
from kerascompact.text.slot_vocabulary import SlotVocabulary
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.text.wordpiece import WordPiece

INPUT, SPANS = "text", "spans"
IDS, MASK, SEGMENTS = "ids", "mask", "segments"  # what the inputs of a model of pieces are


class TextIn:
    """Turns the bytes of a text into the ids or bits that a model takes, inside the file.

    The file's input is `text`, int32 `(1, max_bytes)`: the UTF-8 bytes, filled up with zeros. For a
    model with an output for each word, the file has one more output, `spans`, int32
    `(1, words, 2)`: the first byte of each word in the text, and the byte after its last one. A
    file with a `WordPiece` has none.

    Args:
        specs: Inputs of the model without text input: one of ids; with a `WordPiece` also their
            mask, and segments, which are zeros.
        text: Vocabulary, buckets or `WordPiece` of the model; for a model `with_bit_input`, the
            name of its token rules.
        form: Projection of such a model.
        max_bytes: Longest text in bytes; `None` for any length.
        max_words: Most words in a text, where the model leaves this open.
        fingerprint_bits: Bits of a word's fingerprint, 32, 40 or 64, see `TextToIds`.
        in_order: Whether the ids of a `WordPiece` are those of `WordPiece.order`.
        integers: Whether the file's recipe rounds float32 tensors, so that bits need integers.

    Raises: ValueError, if the model does not have one input of ids, or an argument does not fit.
    """

    def __init__(
        self,
        specs: dict[str, tf.TensorSpec],
        text: Vocabulary | Buckets | WordPiece | str,
        form: ProjectionBase | None = None,
        max_bytes: int | None = None,
        max_words: int | None = None,
        fingerprint_bits: int = 32,
        in_order: bool = False,
        integers: bool = False,
    ) -> None:
        if max_bytes is not None:
            checks.integer_in("max_bytes", max_bytes, 2, 2**20)  # the converter fails on 1
        self.max_bytes = max_bytes
        self.roles = roles(specs) if isinstance(text, WordPiece) else None
        if (
            self.roles is None
            and form is None
            and (len(specs) != 1 or next(iter(specs.values())).shape.rank != 2)
        ):
            found = {name: spec.shape.as_list() for name, spec in specs.items()}
            raise ValueError(
                "`model` must have one input, of ids (batch, length), to take text. "
                f"Received: inputs {found}."
            )
        self.model_specs = specs
        self.name = next(name for name in specs if self.roles is None or self.roles[name] == IDS)
        spec = specs[self.name]
        together = form is not None and form.together
        self.dtype, length = spec.dtype, None if together else spec.shape[1]
        if length is not None and max_words is not None:
            checks.fail("max_words", f"None for a model of {length} words", max_words)
        self.layer: Any
        if isinstance(text, WordPiece):
            self.layer = TextToPieces.from_tokenizer(
                text, in_order, sequence_length=length, max_words=max_words
            )
        elif isinstance(text, SlotVocabulary):
            self.layer = TextToSlots.from_vocabulary(
                text, sequence_length=length, max_words=max_words
            )
        elif isinstance(text, Vocabulary):
            self.layer = TextToIds.from_vocabulary(
                text, sequence_length=length, max_words=max_words, fingerprint_bits=fingerprint_bits
            )
        elif isinstance(text, Buckets):
            self.layer = TextToBuckets.from_buckets(
                text, sequence_length=length, max_words=max_words
            )
        elif form is not None:
            if length is None and max_words is None and max_bytes is None:
                checks.fail("max_words", "given, or `max_bytes`, so that memory has a bound", None)
            self.layer = TextToBits(
                form.projection, text, length, max_words, together, integers=integers
            )
        self.specs = {INPUT: tf.TensorSpec((1, max_bytes), tf.int32, name=INPUT)}

    def read(self, data: tf.Tensor) -> tuple[Any, dict[str, tf.Tensor]]:
        """Finds the words of a text, and the inputs of the model."""
        words = self.layer.words(data)
        if self.roles is not None:
            return words, self._of_pieces(self.layer.row(words))
        return words, {self.name: tf.cast(self.layer.read(words), self.dtype)}

    def _of_pieces(self, row: tf.Tensor) -> dict[str, tf.Tensor]:
        """The inputs of a model of pieces."""
        assert self.roles is not None
        ids = self.layer.padded(row)
        found = {IDS: ids, MASK: tf.ones_like(ids), SEGMENTS: tf.zeros_like(ids)}
        if self.layer.sequence_length is not None:
            places = tf.range(self.layer.sequence_length)
            found[MASK] = tf.expand_dims(tf.less(places, tf.size(row)), 0)
        return {
            name: tf.cast(found[self.roles[name]], spec.dtype)
            for name, spec in self.model_specs.items()
        }

    def spans(self, words: Any, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """The output `spans`, for a model that has an output for each word; else none."""
        length = self.layer.sequence_length
        each = [output for output in outputs.values() if output.shape.rank == 3]
        if length is not None:  # an axis of another length has places of its own, not words
            each = [output for output in each if output.shape[1] in (None, length)]
        if self.roles or not each:
            return {}
        if getattr(self.layer, "pairs", False):
            raise ValueError(
                "`text` must not have rules that form word pairs, if the model tags words. "
                f"Received: the rules {self.layer.rules!r}."
            )
        if SPANS in outputs:
            checks.fail("model", f"one without an output {SPANS!r}, to take text", [*outputs])
        return {SPANS: getattr(self.layer, "spans", byte_text.spans)(words)}

    def facts(self) -> dict[str, Any]:
        """Entry for the file's metadata: what an app must know to feed a text."""
        facts = {
            "input": INPUT,
            "max_bytes": self.max_bytes,
            "length": self.layer.sequence_length,
            "max_words": self.layer.max_words,
            "rules": WordPiece.rules if self.roles else self.layer.rules,
            "bytes": -(-total_bits(self.layer.storage()) // 8),
        }
        if self.roles is not None:
            return {**facts, "inputs": self.roles, "fingerprint_bits": 32}
        if isinstance(self.layer, TextToBits):
            projection = self.layer.projection.get_config()
            return {**facts, "projection": projection, "together": self.layer.together}
        if isinstance(self.layer, TextToBuckets):
            return {**facts, "buckets": self.layer.buckets.get_config()}
        if isinstance(self.layer, TextToSlots):
            return {**facts, "fingerprint_bits": self.layer.tag_bits}
        return {**facts, "fingerprint_bits": self.layer.fingerprint_bits}


def roles(specs: dict[str, Any]) -> dict[str, str]:
    """What each input of a model of pieces is, told by its name: ids, their mask, or segments.

    Args:
        specs: The inputs by name.

    Raises: ValueError, if there are other inputs or shapes, or not one of ids.

    >>> ids = tf.TensorSpec((1, 4), tf.int32)
    >>> roles({"token_ids": ids, "padding_mask": ids})
    {'token_ids': 'ids', 'padding_mask': 'mask'}
    """
    shapes = {tuple(spec.shape) for spec in specs.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 2:
        expected = "one with inputs of ids (batch, length), to take text"
        checks.fail("model", expected, {name: tuple(spec.shape) for name, spec in specs.items()})
    if len(specs) == 1:
        return dict.fromkeys(specs, IDS)
    found = {}
    for name in specs:
        words = name.split("_")
        of_segments = "segment" in words or "type" in words
        found[name] = MASK if "mask" in words else SEGMENTS if of_segments else IDS
    kinds = sorted(found.values())
    if kinds.count(IDS) != 1 or len({*kinds}) < len(kinds):
        expected = "one with one input of ids, and at most a mask and segments, to take text"
        checks.fail("model", expected, f"the inputs {[*specs]}")
    return found


def projection_of(model: Any) -> ProjectionBase:
    """Finds the projection of a model that takes text by token rules, without a vocabulary.

    Args:
        model: Frozen model.

    Raises: ValueError, if the model does not have exactly one projection.
    """
    found = [layer for layer in all_layers(model) if isinstance(layer, ProjectionBase)]
    if len(found) != 1:
        raise ValueError(
            "`text` must be the kerascompact.text.Vocabulary of the model; the name of token rules "
            "is for functional and Sequential models of one input and one ProjectionEmbedding. "
            f"Received: text, and a model with {len(found)} projections."
        )
    return found[0]
