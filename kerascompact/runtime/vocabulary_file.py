"""The vocabulary file `vocabulary.txt`, shared by all `.tflite` files of a folder."""

from pathlib import Path

from kerascompact.core import files
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.tflite.metadata import read_metadata

NAME = "vocabulary.txt"


def check(path: Path, vocabulary: Vocabulary | None, resume: bool = False) -> None:
    """Checks that writing a vocabulary does not overwrite the vocabulary of another file.

    Args:
        path: The `.tflite` file that will be written; an old file there is overwritten.
        vocabulary: Vocabulary that will be saved in the same folder; `None`: it is not known yet.
        resume: Whether the words that are there may be of work that was cut off before it wrote
            `path`; then they are kept only if another file needs them.

    Raises: ValueError, if the folder has another vocabulary that a file other than `path` needs. A
        file that takes text has its words inside and needs none.

    >>> Vocabulary(["one"]).save("vocabulary.txt").name
    'vocabulary.txt'
    >>> check(Path("model.tflite"), Vocabulary(["one"]))
    """
    beside = path.parent / NAME
    if not beside.is_file():
        return
    there = files.sha256(beside.read_bytes())
    if vocabulary is not None and there == vocabulary.sha256:
        return
    others = [
        file.name
        for file in sorted(path.parent.glob("*.tflite"))
        if file.name != path.name and _vocabulary_of(file) == (there, False)
    ]
    own = resume or (path.is_file() and _vocabulary_of(path)[0] in (there, None))
    if others or not own:
        named = ", ".join(others) or "none that is in this folder"
        raise ValueError(
            f"{beside} is the vocabulary of another file: {named}. Choose another folder for "
            f"{path.name}, or delete {NAME}."
        )


def _vocabulary_of(file: Path) -> tuple[str | None, bool]:
    """Checksum of the vocabulary that a file was converted with, and whether it is inside."""
    try:
        metadata = read_metadata(file)
    except ValueError:
        return None, False
    return (metadata.get("vocabulary") or {}).get("sha256"), "text" in metadata
