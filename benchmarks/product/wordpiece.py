"""BERT's tokenizer in a file: whether its ids are those of `tokenizers`, its bytes and its time.

Real texts of five data sets and Wikipedia, and generated ones: misspelt, of any Unicode characters,
of random letters, and of pieces joined at random. Ids are those of `encode_special_tokens=True`:
special tokens in a text are text.
"""

import argparse
import itertools
import lzma
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import runner
from benchmarks.lib.sentence_encoder import tokenizer_json
from kerascompact import datasets, export
from kerascompact.core.extras import require
from kerascompact.layers import TextToPieces
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import WordPiece

SETS = ("clinc150", "trec", "snips", "ag_news", "imdb")
COUNTS = {"real": 400_000, "misspelt": 200_000, "characters": 200_000}
COUNTS |= {"letters": 200_000, "pieces": 200_000}
TWELVE = "please turn the volume of my kitchen speakers down to thirty percent"
LENGTH, RUNS = 64, 2000
UNPRINTED = (0xD800, 0xE000)  # surrogates, which no text has


class Spec(NamedTuple):
    """What decides a row: the texts and their number."""

    kind: str
    number: int
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    tokenizer = WordPiece(require("tokenizers", "vectors").Tokenizer.from_str(tokenizer_json()))
    file = Interpreter(ids_file(tokenizer, None))

    def run(spec: Spec) -> dict[str, Any]:
        if spec.kind == "file":
            return measured(tokenizer)
        rng = np.random.default_rng(spec.seed)
        texts = texts_of(spec.kind, tokenizer, rng, arguments.data)
        return compared(tokenizer, file, itertools.islice(texts, spec.number))

    specs = [Spec("file", RUNS), *(Spec(kind, count) for kind, count in COUNTS.items())]
    return runner.run_all(name, specs, run, table)


def ids_file(tokenizer: WordPiece, length: int | None, in_order: bool = False) -> bytes:
    """A file with nothing but the tokenizer: bytes of a text in, ids out."""
    layer = TextToPieces.from_tokenizer(tokenizer, in_order, sequence_length=length)
    text = keras.Input((None,), batch_size=1, dtype="int32", name="text")
    return export.convert(keras.Model(text, layer(text)), "float32", names=False)


def measured(tokenizer: WordPiece) -> dict[str, Any]:
    """Bytes of the file, with ids and in the order of slots, and time for a text of 12 words."""
    files = {"bytes": ids_file(tokenizer, LENGTH, True), "bytes_ids": ids_file(tokenizer, LENGTH)}
    data = np.array([[*TWELVE.encode()]], np.int32)
    file = Interpreter(files["bytes_ids"])
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        file.run({"text": data})
        times.append(time.perf_counter() - start)
    sizes = {name: len(file) for name, file in files.items()}
    pieces = {"tokens": len(tokenizer), "pieces": len(tokenizer.pieces.tags)}
    return {**sizes, **pieces, "microseconds": round(1e6 * float(np.median(times)), 1)}


def compared(tokenizer: WordPiece, file: Interpreter, texts: Iterator[str]) -> dict[str, Any]:
    """How many texts have the same ids; the first three that have not."""
    equal = tokens = count = 0
    different: list[str] = []
    for text in texts:
        count += 1
        data = np.array([[*text.encode()] or [0]], np.int32)
        (found,) = file.run({"text": data}).values()
        wanted = tokenizer.encode(text)
        tokens += len(wanted)
        if found[0].tolist() == wanted.tolist():
            equal += 1
        elif len(different) < 3:
            different.append(text[:200])
    return {"equal": equal, "texts": count, "tokens": tokens, "different": different}


def texts_of(
    kind: str, tokenizer: WordPiece, rng: np.random.Generator, data: Path
) -> Iterator[str]:
    """Texts without end, but for real ones, which end after the last one."""
    if kind == "real":
        yield from real(data)
        return
    if kind == "misspelt":
        texts = list(itertools.islice(real(data), 200_000))
        while True:
            text = [*texts[rng.integers(len(texts))][:300]]
            for place in rng.integers(0, len(text) + 1, 1 + len(text) // 12):
                text[place : place + rng.integers(0, 2)] = [chr(rng.integers(33, 256))]
            yield "".join(text)
    points = np.r_[0 : UNPRINTED[0], UNPRINTED[1] : 0x110000]
    pieces = np.array([token.removeprefix(tokenizer.prefix) for token in tokenizer.tokens])
    known = np.array(sorted({letter for piece in pieces for letter in piece}))
    letters = np.array([*"abcdefghijklmnopqrstuvwxyz'-.0123456789"])
    while True:
        if kind == "characters":
            few = points[:0x3000] if rng.random() < 0.7 else points
            some = np.array([chr(one) for one in rng.choice(few, 30)])
            mixed = np.concatenate([some, rng.choice(known, 20), [" "] * 6])
            yield "".join(rng.permutation(mixed))
        elif kind == "letters":
            words = [rng.choice(letters, size) for size in rng.integers(1, 25, 12)]
            yield " ".join("".join(word) for word in words)
        else:
            ends = rng.choice(np.array(["", " ", " ", "-", "\u00a0"]), 16)
            parts = rng.choice(pieces, 16)
            cased = [part.title() if rng.random() < 0.3 else part for part in parts]
            yield "".join(part + end for part, end in zip(cased, ends, strict=True))


def real(data: Path) -> Iterator[str]:
    """Texts of train, dev and test, then lines of Wikipedia, which has names in many scripts."""
    for name in SETS:
        loaded = datasets.load(name, data)
        for part in (loaded.train, loaded.dev, loaded.test):
            yield from part.texts
    with lzma.open(Path(data) / "wiki_en_recent" / "articles.txt.xz", "rt") as lines:
        for line in lines:
            yield from (part for part in line.strip().split(". ") if part)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each kind of text, and one for the file."""
    heads = ["texts", "number", "same ids", "tokens", "file B", "file B with ids", "us"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        if row["spec"]["kind"] == "file":
            cells = ["one of 12 words", f"{row['spec']['number']:,} runs", "-", "-"]
            cells += [f"{row['bytes']:,}", f"{row['bytes_ids']:,}", f"{row['microseconds']:.0f}"]
        else:
            cells = [row["spec"]["kind"], f"{row['texts']:,}", f"{row['equal']:,}"]
            cells += [f"{row['tokens']:,}", *"---"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
