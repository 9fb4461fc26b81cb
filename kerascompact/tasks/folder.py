"""Files of the folder that `train` writes and `export` reads, with errors that name the file."""

import contextlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerascompact.core import files

if TYPE_CHECKING:
    import keras

    from kerascompact.text import Buckets, Vocabulary

MODEL, VOCABULARY, LABELS = "model.keras", "vocabulary.txt", "labels.txt"
FILE, REPORT = "model.tflite", "report.json"
NAMES = (FILE, MODEL, VOCABULARY, LABELS, REPORT)


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Puts a path before the message of a `ValueError`, as `OSError` does itself."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def check_writable(folder: Path, *names: str) -> None:
    """Checks that files can be written into a folder, before any work is done.

    This writes nothing; the first file creates a folder that does not exist yet.

    Args:
        folder: Folder to write into.
        *names: Names of the files.

    Raises: ValueError, if it is a file, if its nearest existing folder is not writable, or if a
        name is that of a folder.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, and must be a folder to write into.")
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"{folder} cannot be written: {there} is not a writable folder.")
    for name in names:
        if (folder / name).is_dir():
            raise ValueError(f"{folder / name} is a folder, and must be a file to write.")


def load_model(path: Path) -> "keras.Model":
    """Loads a `.keras` file, which may have layers of this package.

    Args:
        path: Path of the file.

    Raises: ValueError, naming the file, if it is not a Keras file or is damaged; OSError, if it
        cannot be read.
    """
    import keras

    # Each registers what a file may name.
    import kerascompact.forms
    import kerascompact.layers
    import kerascompact.models
    import kerascompact.optimizers
    import kerascompact.training

    del kerascompact
    with open(path, "rb"):  # Keras has no clear error for a missing file
        pass
    try:
        return keras.saving.load_model(path)
    except (ValueError, TypeError, KeyError, OSError, zipfile.BadZipFile) as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} cannot be loaded as a Keras model: {line}") from error


def save_model(model: "keras.Model", path: Path) -> None:
    """Saves a Keras model without the moments of its optimizer; never leaves half a file."""
    from kerascompact.core.keras_graph import compile_like

    if model.compiled:
        compile_like(model, model)
    write_model(model, path)


def write_model(model: "keras.Model", path: Path) -> None:
    """Saves a Keras model with all that it has; never leaves half a file."""
    with tempfile.TemporaryDirectory() as scratch:
        model.save(Path(scratch) / MODEL)
        files.write_bytes(path, (Path(scratch) / MODEL).read_bytes())


def load_words(path: Path) -> "Vocabulary | Buckets":
    """Reads what a model knows words by: a list of words, or buckets.

    Raises: ValueError, naming the file, if it is neither; OSError, if it cannot be read.
    """
    from kerascompact.text import Buckets, Vocabulary

    with open(path, "rb") as file:
        is_json = file.read(1) == b"{"
    return Buckets.load(path) if is_json else Vocabulary.load(path)


def read_labels(path: Path) -> list[str]:
    """Reads the labels that `write_labels` wrote, also after an editor or git changed line ends.

    Raises: ValueError, naming the file, if it is not UTF-8 or has an empty line.
    """
    with naming(path):
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    labels = text.removesuffix("\n").split("\n")
    if not all(labels):
        raise ValueError(f"{path}, line {labels.index('') + 1}: a label is empty.")
    return labels


def write_labels(labels: tuple[str, ...], path: Path) -> None:
    """Writes labels into a text file, one per line."""
    files.write_bytes(path, ("\n".join(labels) + "\n").encode())


def trained_length(report: Path) -> int:
    """Reads from the report of `train` how many tokens per text a model was trained with.

    Raises: ValueError, naming the file, if it is not a report of `train`; OSError.
    """
    return _recorded(report, "sequence_length", int)


def trained_recipe(report: Path) -> str:
    """Reads from the report of `train` the name of the recipe that it exported with.

    Raises: ValueError, naming the file, if it is not a report of `train`, or if files of the recipe
        can only be checked on data; OSError.
    """
    from kerascompact.export.recipe import RECIPES

    name = _recorded(report, "recipe", str)
    if name not in RECIPES:
        raise ValueError(f"{report}: it names a recipe that does not exist, {name!r}")
    if not RECIPES[name].exact:
        exact = ", ".join(other for other, recipe in RECIPES.items() if recipe.exact)
        raise ValueError(
            f"{report}: the model was trained for the recipe {name!r}, whose files can only be "
            f"checked on data, as `kerascompact train` does. Give --recipe, one of {exact}."
        )
    return name


def is_of_search(report: Path) -> bool:
    """Whether there is a report of `train --budget`.

    Raises: ValueError, naming the file, if it is damaged; OSError.
    """
    with naming(report):
        return report.is_file() and "budget" in json.loads(report.read_bytes())


def _recorded(report: Path, name: str, kind: type) -> Any:
    with naming(report):
        content = json.loads(report.read_bytes())
        if not isinstance(content, dict) or not isinstance(content.get(name), kind):
            raise ValueError("it is not a report of `kerascompact train`")
    return content[name]
