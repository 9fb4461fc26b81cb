"""Classify a text, or each line of standard input, with a .tflite file."""

import argparse
import codecs
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kerascompact.runtime.classifier import Prediction


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.tflite", help="a text classifier of kerascompact")
    parser.add_argument("text", help="text to classify; `-` reads one text per line of stdin")
    parser.add_argument(
        "--vocabulary", metavar="FILE",
        help="vocabulary of the model (default: vocabulary.txt in the folder of the file)",
    )  # fmt: skip
    parser.add_argument(
        "--signature", metavar="NAME", help="model to run, if there are several (default: first)"
    )
    parser.add_argument(
        "--top", type=int, metavar="N",
        help="number of labels to print (1; if a text may have several, those from 0.5 on)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.core import checks
    from kerascompact.runtime.classifier import TextClassifier

    if arguments.top is not None:
        checks.integer_in("top", arguments.top, 1)
    classifier = TextClassifier(arguments.file, arguments.vocabulary, signature=arguments.signature)
    if arguments.text != "-":
        _show(classifier.predict(arguments.text), arguments.top)
        return 0
    for number, line in _lines():
        try:
            prediction = classifier.predict(line)
        except ValueError as error:
            raise ValueError(f"stdin, line {number}: {error}") from error
        _show(prediction, arguments.top, f"line {number}: ")
    return 0


def _lines() -> Iterator[tuple[int, bytes]]:
    """The lines of stdin with their numbers, as bytes: errors can name a line with bad UTF-8.

    A byte-order mark, which some editors write before the first word, is no part of it.
    """
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        yield number, line.removesuffix(b"\n").removesuffix(b"\r")


def _show(prediction: "Prediction", top: int | None, where: str = "") -> None:
    """Prints one line per text: labels and probabilities, separated by tabs, the best first.

    The line is empty if a text may have no label and has none.
    """
    top = len(prediction.answers) if top is None else top
    order = sorted(range(len(prediction.labels)), key=lambda i: -prediction.probabilities[i])[:top]
    cells = [f"{prediction.labels[i]}\t{prediction.probabilities[i]:.4f}" for i in order]
    print("\t".join(cells), flush=True)
    for note in prediction.notes:
        print(f"kerascompact: note: {where}{note}", file=sys.stderr)
