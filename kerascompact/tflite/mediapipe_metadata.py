"""Metadata that MediaPipe Tasks reads: how a text becomes the inputs, and where the labels are.

They are a flatbuffer of their own inside the file, by the schema `metadata_schema.fbs` of MediaPipe
Tasks 1.2. Its fields are written here by their numbers.
"""

from collections.abc import Sequence

import flatbuffers

NAME = b"TFLITE_METADATA"
IDENTIFIER = b"M001"
PARSER = "1.2.1"  # the version of the schema that first has a tokenizer by regular expression
VOCABULARY, LABELS = "vocab.txt", "labels.txt"  # files behind the flatbuffer
BERT_INPUTS = ("ids", "segment_ids", "mask")  # names by which MediaPipe finds inputs
UNUSED = ("mediapipe_segment_ids", "mediapipe_mask")  # names of the last two in our files
_LABELS_OF_AXIS, _WORDS = 2, 5  # kinds of files
_BERT, _REGEX = 4, 6  # kinds of process units


class _Builder(flatbuffers.Builder):
    """Builder with the three things that the schema is made of."""

    def table(self, **fields: int) -> int:
        """A table; `s1` is an offset in field 1, `b1` a number of one byte in it."""
        self.StartObject(8)
        for name, value in fields.items():
            slot = int(name[1:])
            if name[0] == "b":
                self.PrependUint8Slot(slot, value, 0)
            else:
                self.PrependUOffsetTRelativeSlot(slot, value, 0)
        return self.EndObject()

    def tables(self, offsets: Sequence[int]) -> int:
        self.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.PrependUOffsetTRelative(offset)
        return self.EndVector()

    def file(self, name: str, kind: int) -> int:
        return self.tables([self.table(s0=self.CreateString(name), b2=kind)])


def mediapipe_metadata(
    inputs: Sequence[str], output: str, pattern: str | None, labels: bool
) -> bytes:
    """Writes the metadata of a text classifier or embedder.

    Args:
        inputs: Names of the inputs in the order of the file: one of ids, or `BERT_INPUTS` in any
            order.
        output: Name of the output.
        pattern: Regular expression of what separates words, for one input; `None` for
            `BERT_INPUTS`, with the tokenizer of BERT.
        labels: Whether the file `LABELS` names the classes.

    Returns: The bytes of the metadata, to be stored under `NAME`.

    >>> mediapipe_metadata(["ids"], "probabilities", "[^a-z]+", labels=True)[4:8]
    b'M001'
    """
    builder = _Builder(512)
    words = builder.file(VOCABULARY, _WORDS)
    units = builder.tables([_tokenizer(builder, pattern, words)])
    ports = [
        builder.table(s0=builder.CreateString(name), **({"s4": units} if pattern else {}))
        for name in inputs
    ]
    files = {"s6": builder.file(LABELS, _LABELS_OF_AXIS)} if labels else {}
    answers = builder.tables([builder.table(s0=builder.CreateString(output), **files)])
    bert = {} if pattern else {"s5": units}
    graph = builder.table(s2=builder.tables(ports), s3=answers, **bert)
    version = builder.CreateString(PARSER)
    builder.Finish(builder.table(s3=builder.tables([graph]), s7=version), IDENTIFIER)
    return bytes(builder.Output())


def _tokenizer(builder: _Builder, pattern: str | None, words: int) -> int:
    if pattern is None:
        return builder.table(b0=_BERT, s1=builder.table(s0=words))
    options = builder.table(s0=builder.CreateString(pattern), s1=words)
    return builder.table(b0=_REGEX, s1=options)
