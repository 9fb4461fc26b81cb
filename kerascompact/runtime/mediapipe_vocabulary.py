"""The vocabulary inside a file for MediaPipe Tasks."""

from kerascompact.text.rules import RULES
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.associated_files import associated_files
from kerascompact.tflite.mediapipe_metadata import VOCABULARY
from kerascompact.tflite.metadata import metadata_of


def words_of(vocabulary: Vocabulary) -> bytes:
    """The vocabulary in the format of its tokenizer.

    >>> words_of(Vocabulary(["good", "bad"], rules="mediapipe"))
    b'<PAD> 0\\n<UNKNOWN> 1\\ngood 2\\nbad 3\\n'
    """
    if RULES[vocabulary.rules].mediapipe == "bert":  # a line's number is the id
        return "".join(f"{word}\n" for word in ("[PAD]", "[UNK]", *vocabulary.words)).encode()
    words = ("<PAD>", "<UNKNOWN>", *vocabulary.words)
    return "".join(f"{word} {id}\n" for id, word in enumerate(words)).encode()


def mediapipe_vocabulary(data: bytes) -> Vocabulary:
    """Reads the vocabulary inside a file that was exported with `mediapipe=True`.

    Args:
        data: Bytes of the file.

    Raises: ValueError, if the file has none, or another one than it was made with.
    """
    facts = (metadata_of(flatbuffer.parse(data)) or {})["vocabulary"]
    lines = associated_files(data).get(VOCABULARY, b"").decode("utf-8", "replace").split("\n")
    if RULES[facts["rules"]].mediapipe != "bert":
        lines = [line.rpartition(" ")[0] for line in lines]
    return Vocabulary(lines[NUM_RESERVED:-1], facts["rules"])
