"""Gallery of the web page: trained files, and `gallery.json`, which says what they are.

`make gallery` builds what is not there yet: intents of CLINC150 within 16, 32 and 64 KiB, found by
a search; intents of misspelt words; and, where the treebank is, a tagger. `--again NAME` builds a
part anew. The page of `export/web` reads them.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.data import ud_english_ewt
from benchmarks.product import gallery_intents, gallery_tagger
from benchmarks.product.gallery_intents import BUDGETS, Settings
from kerascompact import datasets
from kerascompact.commands.demo import fewer
from kerascompact.core import checks, files
from kerascompact.datasets.base import ENVIRONMENT, Split
from kerascompact.runtime import TextClassifier, TextTagger
from kerascompact.text.perturb import perturb

OUT = "export/web/gallery"  # in a checkout
INDEX = "gallery.json"
SHARES = (0.2, 0.4)  # of the words that are misspelt, for a test
NO_TREEBANK = (
    "No tagger: it learns from UD English EWT (CC BY-SA 4.0), which is not in this package.\n"
    f"  Get it from {ud_english_ewt.SOURCE},\n"
    "  put the three files into DIR/ud_english_ewt, and run: make gallery ARGS='--data DIR'\n"
    f"  (or set {ENVIRONMENT}=DIR)."
)
Entry = dict[str, Any]
Part = tuple[int, Callable[[], list[tuple[Entry, bytes]]]]  # the number of its files, their maker


def finished(entry: Entry, file: bytes, test: Split) -> Entry:
    """Adds size, checksum, answers to the examples, and of a classifier its accuracies."""
    entry = {**entry, "bytes": len(file), "sha256": files.sha256(file)}
    texts = [example["text"] for example in entry["examples"]]
    if entry["kind"] == "tagger":
        read = TextTagger(file)
        found = [read.predict(text).words for text in texts]
        answers: list[Entry] = [{"words": [one[:2] for one in words]} for words in found]
    else:
        reader = TextClassifier(file)
        answers = [{"label": one.label} for one in reader.predict_many(texts)]
        entry["accuracy"] = accuracy(reader, test)
        entry["misspelt"] = [
            {"share": share, "accuracy": accuracy(reader, test, share)} for share in SHARES
        ]
    entry["examples"] = [
        {"text": text, **answer} for text, answer in zip(texts, answers, strict=True)
    ]
    return entry


def accuracy(reader: TextClassifier, test: Split, share: float = 0.0) -> float:
    """Share of the texts that a file classifies right, with a share of their words misspelt."""
    texts: Sequence[str] = test.texts
    if share:
        random = Random(0)
        texts = [" ".join(perturb(word, random, share) for word in t.split()) for t in texts]
    found = [reader.labels.index(one.label) for one in reader.predict_many(texts)]
    return round(float(np.mean(np.array(found) == test.labels)), 4)


def read(out: Path) -> list[Entry]:
    """The entries of a gallery whose files are there, as they were written."""
    if not (out / INDEX).is_file():
        return []
    entries = json.loads((out / INDEX).read_text(encoding="utf-8"))["files"]
    paths = [out / entry["file"] for entry in entries]
    return [
        entry
        for entry, path in zip(entries, paths, strict=True)
        if path.is_file() and files.sha256(path.read_bytes()) == entry["sha256"]
    ]


def build(out: Path, parts: dict[str, Part], test: Split, again: Sequence[str] = ()) -> list[Entry]:
    """Builds the parts that are not there yet; after each, its files and `gallery.json` are there.

    Args:
        out: Folder of the gallery.
        parts: What the gallery has, in the order of the page.
        test: Texts that classifiers are tested on.
        again: Parts to build although they are there.
    """
    kept = {name: [one for one in read(out) if one["part"] == name] for name in parts}
    others = [one for one in read(out) if one["part"] not in parts]
    for name, (number, make) in parts.items():
        if len(kept[name]) == number and name not in again:
            print(f"{name}: there already (--again {name} builds it anew)")
            continue
        kept[name] = []
        for entry, file in make():
            files.write_bytes(out / entry["file"], file)
            kept[name].append({"part": name, **finished(entry, file, test)})
        every = [*(entry for part in kept.values() for entry in part), *others]
        text = json.dumps({"files": every}, indent=1, ensure_ascii=False) + "\n"
        files.write_bytes(out / INDEX, text.encode())
    return read(out)


def table(entries: Sequence[Entry]) -> str:
    """Markdown: bytes and accuracies of each file."""
    heads = [f"{share:.0%} misspelt" for share in SHARES]
    lines = ["| " + " | ".join(["file", "bytes", "test accuracy %", *heads]) + " |"]
    lines.append("|" + "---|" * (3 + len(heads)))
    for entry in entries:
        shares = [one["accuracy"] for one in entry.get("misspelt", [])]
        shown = [f"{100 * one:.1f}" for one in (entry["accuracy"], *shares)]
        shown += ["-"] * (1 + len(SHARES) - len(shown))
        lines.append("| " + " | ".join([entry["name"], f"{entry['bytes']:,}", *shown]) + " |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Builds the gallery and prints its table."""
    parser = argparse.ArgumentParser("python -m benchmarks.product.gallery", description=__doc__)
    names = ("intents", "spelling", "tagger")
    parser.add_argument("--out", type=Path, default=Path(OUT), help="folder (%(default)s)")
    parser.add_argument("--data", help=f"data folder, for the tagger (default ${ENVIRONMENT})")
    parser.add_argument("--minutes", type=float, default=10, help="of the search (%(default)s)")
    parser.add_argument("--again", nargs="+", choices=names, default=[], help="parts to build anew")
    parser.add_argument("--quick", action="store_true", help="few texts and epochs: does it run?")
    arguments = parser.parse_args(argv)
    settings = Settings(minutes=checks.number("minutes", arguments.minutes, above=0))
    of_tagger = gallery_tagger.Settings()
    data = datasets.load("clinc150")
    try:
        treebank = ud_english_ewt.load_texts(arguments.data)
    except ValueError as error:
        treebank = {}
        print(f"{NO_TREEBANK}\n  {error}")
    if arguments.quick:
        data = fewer(data)
        treebank = {name: split[:200] for name, split in treebank.items()}
        settings = settings._replace(trials=3, versions=1)
        of_tagger = of_tagger._replace(words=500, epochs=1)
    parts: dict[str, Part] = {
        "intents": (len(BUDGETS), lambda: gallery_intents.intents(data, settings)),
        "spelling": (1, lambda: [gallery_intents.spelling(data, settings)]),
    }
    if treebank:
        parts["tagger"] = (1, lambda: [gallery_tagger.tagger(treebank, of_tagger)])
    print(table(build(arguments.out, parts, data.test, arguments.again)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
