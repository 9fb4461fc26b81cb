"""Compare a .tflite file with its Keras model on every row of a table."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from kerascompact.commands.source import add_source

    parser.add_argument("file", type=Path, metavar="FILE.tflite")
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FILE.keras", help="the trained Keras model"
    )
    add_source(parser)
    parser.add_argument(
        "--tolerance", type=float, default=1e-4, help="largest difference allowed (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.commands import source
    from kerascompact.core import checks
    from kerascompact.export.classifier import TextClassifier

    checks.number("tolerance", arguments.tolerance, above=0)
    classifier = TextClassifier(arguments.file)  # checks the file and its vocabulary
    split = source.all_rows(arguments, classifier.labels)
    length = classifier.length or max(
        len(classifier.vocabulary.encode(text)) for text in split.texts
    )
    ids = classifier.vocabulary.encode_all(split.texts, max(length, 1))

    from kerascompact.commands.folder import load_model
    from kerascompact.export.verifier import verify

    print(
        verify(
            load_model(arguments.model),
            arguments.file,
            ids,
            split.labels,
            tolerance=arguments.tolerance,
            progress=True,
        )
    )
    return 0
