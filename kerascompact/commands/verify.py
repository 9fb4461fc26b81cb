"""Compare a .tflite file with the trained and the frozen Keras model; fails if they differ."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from kerascompact.runtime.classifier import TextClassifier
    from kerascompact.text import Buckets, Vocabulary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from kerascompact.commands.source import add_source

    parser.add_argument("file", type=Path, metavar="FILE.tflite", help="file to check")
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FILE.keras", help="the trained Keras model"
    )
    parser.add_argument(
        "--vocabulary", metavar="FILE",
        help="vocabulary of the model (default: vocabulary.txt in the folder of the file; in the "
        "folder of the model, if the file takes text)",
    )  # fmt: skip
    add_source(parser, splits=False)
    parser.add_argument(
        "--tolerance", type=float, metavar="X",
        help="largest difference allowed between the trained and the frozen model, and between the "
        "frozen model and the file (1e-4; no limit for a file that rounds its inputs)",
    )  # fmt: skip
    parser.add_argument(
        "--min-agreement", type=float, metavar="SHARE",
        help="smallest share of texts with the same answer, in the same comparisons (1; 0.98 for a "
        "file that rounds its inputs)",
    )  # fmt: skip
    parser.add_argument(
        "--max-loss", type=float, metavar="SHARE",
        help="largest loss of accuracy from the trained model to the file; 0.01 is one point "
        "(no limit)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.commands import source
    from kerascompact.core import checks
    from kerascompact.runtime.classifier import TextClassifier

    if arguments.tolerance is not None:
        checks.number("tolerance", arguments.tolerance, above=0)
    if arguments.min_agreement is not None and arguments.min_agreement != 0:
        checks.number("min_agreement", arguments.min_agreement, above=0, up_to=1)
    if arguments.max_loss is not None:
        checks.number("max_loss", arguments.max_loss, above=-1, up_to=1)
    classifier = TextClassifier(arguments.file, arguments.vocabulary)  # checks both
    if classifier.multi_label != (arguments.separator is not None):
        kind = "several labels or none" if classifier.multi_label else "one label"
        raise ValueError(
            f"--separator must say what stands between labels if, and only if, a text may have "
            f"several. Received: --separator {arguments.separator} for a file of {kind} a text."
        )
    split = source.all_examples(arguments, classifier.labels)

    from kerascompact.export.verification.verifier import compare
    from kerascompact.tasks.folder import load_model

    report = compare(
        load_model(arguments.model),
        arguments.file,
        split.texts if classifier.text else _ids(classifier, split.texts),
        split.labels,
        vocabulary=_vocabulary(classifier, arguments.model),
        progress=not arguments.json,
    ).held_to(arguments.tolerance, arguments.min_agreement, arguments.max_loss)
    if arguments.json:
        print(json.dumps(report.facts(), indent=2))
    report.check()
    if not arguments.json:
        print(report)
    return 0


def _ids(classifier: "TextClassifier", texts: "Sequence[str]") -> "np.ndarray":
    vocabulary = classifier.vocabulary
    assert vocabulary is not None  # a file of ids has one
    ((_, port),) = classifier.interpreter.inputs.items()
    length = int(port["shape_signature"][1])  # with room for what is put around a text
    if length == -1:
        length = max(len(vocabulary.encode(text)) for text in texts)
    return vocabulary.encode_all(texts, max(length, 1))


def _vocabulary(classifier: "TextClassifier", model: Path) -> "Vocabulary | Buckets | None":
    """The vocabulary of the model; a file that takes text needs none in its folder."""
    from kerascompact.tasks import folder

    inside = classifier.text or {}
    if classifier.vocabulary is not None or not (inside.get("bytes") or "buckets" in inside):
        return classifier.vocabulary
    return folder.load_words(model.parent / folder.VOCABULARY)
