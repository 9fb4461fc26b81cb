"""What is read of a file's metadata must be there: anybody can write under our name."""

from typing import Any

# For each entry that `export` reads, what it must have, if it is there.
NEEDED = {
    "embeddings": ("form", "input_dim", "output_dim", "stored_bits"),
    "recipe": ("name", "tables"),
    "text": ("input", "max_bytes", "length", "max_words", "rules", "bytes"),
    "vocabulary": ("size", "rules", "bytes", "sha256"),
}


def metadata_fits(found: Any) -> bool:
    """Whether metadata are as kerascompact writes them, as far as it reads them.

    >>> metadata_fits({"recipe": {"name": "int8", "tables": "int8"}}), metadata_fits(["recipe"])
    (True, False)
    """
    if not isinstance(found, dict):
        return False
    for name, keys in NEEDED.items():
        entries = found.get(name, [])
        if name != "embeddings" and name in found:
            entries = [entries]
        if not isinstance(entries, list):
            return False
        for entry in entries:
            if not isinstance(entry, dict) or not {*keys} <= {*entry}:
                return False
    inputs = found.get("inputs", [])
    if not isinstance(inputs, list) or not all(isinstance(name, str) for name in inputs):
        return False
    models = found.get("signatures", {})
    if not isinstance(models, dict) or not all(map(metadata_fits, models.values())):
        return False
    text = found.get("text", {})
    sizes = [text.get(key) for key in ("max_bytes", "length", "max_words")]
    return all(size is None or type(size) is int and size > 0 for size in sizes)
