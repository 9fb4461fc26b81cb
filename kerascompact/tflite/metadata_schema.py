"""Schema of a file's metadata, checked on reading: other tools may have written it."""

from collections.abc import Callable
from typing import Any

METADATA_NAME = b"kerascompact"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_size(value: Any) -> bool:
    return value is None or type(value) is int and value > 0


def _is_bits(value: Any) -> bool:
    return value is None or type(value) in (int, float) and 0 <= value < 2**63


# The fields that each entry must have if the entry is present.
_Fields = dict[str, Callable[[Any], bool]]
NEEDED: dict[str, _Fields] = {
    "embeddings": {"form": _is_text, "input_dim": _is_size, "output_dim": _is_count,
                   "stored_bits": _is_count},
    "mediapipe": {"tokenizer": _is_text, "words": _is_count},
    "recipe": {"name": _is_text, "tables": _is_text},
    "text": {"input": _is_text, "max_bytes": _is_size, "length": _is_size, "max_words": _is_size,
             "rules": _is_text, "bytes": _is_count},
    "vocabulary": {"size": _is_count, "rules": _is_text, "bytes": _is_count, "sha256": _is_text},
}  # fmt: skip
OPTIONAL: dict[str, _Fields] = {"embeddings": {"paper_bits": _is_bits}}


def metadata_fits(found: Any) -> bool:
    """Whether metadata have the schema that kerascompact writes, in every entry that it reads.

    Args:
        found: Content of the metadata, parsed from JSON.

    >>> metadata_fits({"recipe": {"name": "int8", "tables": "int8"}}), metadata_fits(["recipe"])
    (True, False)
    """
    if not isinstance(found, dict):
        return False
    for name, fields in NEEDED.items():
        entries = found.get(name, [])
        if name != "embeddings" and name in found:
            entries = [entries]
        if not isinstance(entries, list):
            return False
        for entry in entries:
            if not isinstance(entry, dict) or not {*fields} <= {*entry}:
                return False
            known = fields | OPTIONAL.get(name, {})
            if not all(fits(entry[key]) for key, fits in known.items() if key in entry):
                return False
    for name in ("labels", "inputs"):
        texts = found.get(name, [])
        if not isinstance(texts, list) or not all(map(_is_text, texts)):
            return False
    flags = (found.get(name, False) for name in ("multi_label", "computed_ids"))
    if not all(isinstance(flag, bool) for flag in flags) or not _is_size(found.get("num_ids")):
        return False
    if not _is_text(found.get("shrunk", "")):
        return False
    models = found.get("signatures", {})
    return isinstance(models, dict) and all(map(metadata_fits, models.values()))
