"""Test vectors for apps: text -> the numbers that a file takes -> the class that it gives.

`python -m benchmarks.product.vectors` trains a small model in seconds, on the data set that
ships in the package, and writes `intents.tflite` and `vectors.json`. Whoever writes an encoder of
texts (a web page, Kotlin, Swift, ...) runs it over them.
"""

import argparse
import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kerascompact.core import files
from kerascompact.runtime import encoding
from kerascompact.runtime.interpreter import Interpreter

OUT = "export/testvectors"  # in a checkout
MODEL, VECTORS = "intents.tflite", "vectors.json"
MAX_BYTES, QUERIES = 128, 60

# Valid texts: other languages and scripts, emoji, marks, NUL, white space, nothing, too much.
TEXTS = (
    "¿cuánto dinero tengo en mi cuenta?", "wie wird das wetter morgen in münchen",
    "quel temps fait-il à montréal ?", "quanto custa um voo para são paulo", "jaká je zítra počasí",
    "hvad er klokken i københavn", "ile mam pieniędzy na koncie żółw", "hava yarın nasıl olacak",
    "какая погода завтра в москве", "яка сьогодні погода в києві", "τι καιρό θα κάνει αύριο",
    "ինչ եղանակ է վաղը", "מה מזג האוויר מחר", "ما هي حالة الطقس غدا", "فردا هوا چطور است",
    "कल मौसम कैसा रहेगा", "আগামীকাল আবহাওয়া কেমন", "நாளை வானிலை எப்படி", "พรุ่งนี้อากาศเป็นอย่างไร",
    "ხვალ როგორი ამინდია", "ነገ የአየር ሁኔታ እንዴት ነው", "明日の天気はどうですか", "明天天气怎么样",
    "내일 날씨 어때", "thời tiết ngày mai thế nào", "𝔴𝔥𝔞𝔱 𝔱𝔦𝔪𝔢 𝔦𝔰 𝔦𝔱", "𠜎𠜱𠝹𠱓",
    "😀", "what's the weather ☀️🌧️ in paris 🇫🇷", "👩‍👩‍👧‍👦 call my family 👍🏽",
    "transfer 💸 100 € to savings",
    "cafe\u0301 near me", "café near me", "WHAT TIME IS IT?!", "don't  won't can't", "a\tb\nc\r\nd",
    "", " ", "\u3000\u00a0", "\0", "balance\0", "\0balance", "bal\0\0ance\0\0",
    "\ufeffset an alarm",
    "x" * 127, "x" * 128, "x" * 129, "y" * 127 + "é", "z" * 126 + "😀", "w" * 127 + "\0",
    "tell me the weather " * 20, "日本語" * 60, "\uffff\U0010ffff",
)  # fmt: skip
# UTF-16 with halves of a pair: every encoder sends U+FFFD for each, as browsers do.
SURROGATES = ("61 d83d 62", "dc00", "d83d d83d de00", "77 68 79 dfff", "de00 d83d")
# Bytes that are no UTF-8 reach the file as they are.
RAW = (
    "ff",
    "61ff62",
    "c3",
    "e282",
    "f09f98",
    "c0af",
    "eda080",
    "f888808080",
    "00ff00",
    "80" * 130,
)


def model_file(epochs: int = 8, rows: int | None = None) -> bytes:
    """Trains a classifier of CLINC150's intents and converts it into a file that takes text.

    Args:
        epochs: Of training.
        rows: Only so many queries to train and select on.

    >>> import inspect; list(inspect.signature(model_file).parameters)
    ['epochs', 'rows']
    """
    import keras

    from kerascompact import datasets, export, models
    from kerascompact.tasks.classification import Coded, encode, train
    from kerascompact.tasks.methods import build_embedding, logit_scale

    keras.utils.set_random_seed(0)
    data = encode(datasets.load("clinc150"), 2000, 32)
    if rows is not None:
        splits = (data.train, data.dev)
        fewer = [Coded(split.ids[:rows], split.labels[:rows]) for split in splits]
        data = data._replace(train=fewer[0], dev=fewer[1])
    scale = logit_scale(0.01)
    embedding = build_embedding(
        "mixture", len(data.vocabulary), 24, clusters=60, unique=500, logit_scale=scale
    )
    model = models.mean_classifier(embedding, len(data.label_names), dropout=0.3)
    train(model, data, epochs=epochs, batch_size=64, learning_rate=0.01)
    # a number of words that is fixed, as its bytes: some runtimes cannot resize
    return export.convert(
        model,
        labels=data.label_names,
        text=data.vocabulary,
        max_bytes=MAX_BYTES,
        sequence_length=32,
    )


def texts() -> list[dict[str, Any]]:
    """What goes in: `text`, `utf16` (code units, of a broken text) or `raw` (hexadecimal bytes).

    >>> [list(vector) for vector in texts()[-16:-9]]
    [['text'], ['utf16'], ['utf16'], ['utf16'], ['utf16'], ['utf16'], ['raw']]
    """
    from kerascompact import datasets

    queries = datasets.load("clinc150").test.texts
    chosen = queries[:: len(queries) // QUERIES][:QUERIES]
    return [
        *({"text": text} for text in (*chosen, *TEXTS)),
        *({"utf16": [int(unit, 16) for unit in units.split()]} for units in SURROGATES),
        *({"raw": bytes.fromhex(raw).hex()} for raw in RAW),
    ]


def given(vector: dict[str, Any]) -> str | bytes:
    r"""The text of a vector, as Python has it.

    >>> given({"utf16": [0x61, 0xD83D]})
    'a\ufffd'
    """
    if "raw" in vector:
        return bytes.fromhex(vector["raw"])
    if "utf16" in vector:
        units = vector["utf16"]
        return struct.pack(f"<{len(units)}H", *units).decode("utf-16-le", "replace")
    return vector["text"]


def vectors(file: bytes) -> dict[str, Any]:
    """What `vectors.json` holds: every text with its numbers and what the file makes of them.

    `numbers` are those of the input up to the last that is not 0; `class` is the largest output.
    """
    interpreter, rows = Interpreter(file), []
    assert interpreter.text is not None and interpreter.metadata is not None
    size, name = interpreter.text["max_bytes"], interpreter.text["input"]
    for vector in texts():
        numbers = encoding.encode(given(vector), size).numbers
        (probabilities,) = interpreter.run({name: numbers}).values()
        best = int(np.argmax(probabilities))
        used = int(np.flatnonzero(numbers[0])[-1]) + 1 if numbers.any() else 0
        rows.append(
            {
                **vector,
                "numbers": numbers[0, :used].tolist(),
                "class": best,
                "label": interpreter.metadata["labels"][best],
                "probability": round(float(probabilities[0, best]), 6),
            }
        )
    facts = {"file": MODEL, "sha256": files.sha256(file), "max_bytes": size}
    return {**facts, "vectors": rows}


def write(made: dict[str, Any], file: bytes, path: Path) -> None:
    """Writes a file beside the path of its vectors, which are a line each."""
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in made.pop("vectors"))
    head = json.dumps(made)[1:-1]
    files.write_bytes(path.with_name(made["file"]), file)
    files.write_bytes(path, f'{{{head}, "vectors": [\n{rows}\n]}}\n'.encode())


def run(module: Any, argv: list[str] | None) -> int:
    """Trains, converts and writes; with `--keep`, the vectors of the file that is there."""
    parser = argparse.ArgumentParser(f"python -m {module.__spec__.name}")
    parser.add_argument("--out", default=OUT, help="folder (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="train nothing, use the file there")
    arguments = parser.parse_args(argv)
    folder = Path(arguments.out)
    file = (folder / module.MODEL).read_bytes() if arguments.keep else module.model_file()
    write(module.vectors(file), file, folder / module.VECTORS)
    return 0


def main(argv: list[str] | None = None) -> int:
    """The vectors of a classifier."""
    return run(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main())
