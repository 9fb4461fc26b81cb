"""Convert what `train` saved into a .tflite file."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from kerascompact.export.recipe import RECIPES

    parser.add_argument("folder", type=Path, metavar="DIR", help="the --out of `train`")
    parser.add_argument("--recipe", choices=RECIPES, default="int8", help="(%(default)s)")
    parser.add_argument("--length", type=int, help="tokens per text (as in training)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="(default: DIR/model.tflite)")


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.commands import folder
    from kerascompact.core import checks
    from kerascompact.export import beside
    from kerascompact.text import Vocabulary

    out = arguments.out or arguments.folder / folder.FILE
    if out.is_dir():
        raise ValueError(f"{out} is a folder, and must be a file to write.")
    folder.check_writable(out.parent)
    vocabulary = Vocabulary.load(arguments.folder / folder.VOCABULARY)
    beside.check(out, vocabulary)
    labels = folder.read_labels(arguments.folder / folder.LABELS)
    length = arguments.length or folder.trained_length(arguments.folder / folder.REPORT)
    checks.integer_in("length", length, 1)
    model = folder.load_model(arguments.folder / folder.MODEL)

    from kerascompact import export
    from kerascompact.size import summary

    data = export.convert(
        model, arguments.recipe, labels=labels, vocabulary=vocabulary, sequence_length=length
    )
    # Without a data set at hand, the words themselves are the texts on which both must agree.
    texts = [" ".join(vocabulary.words[start::16][:length]) for start in range(16)]
    export.verify(model, data, vocabulary.encode_all(filter(None, texts), length))
    export.save(data, out, vocabulary=vocabulary)
    print(summary(export.freeze(model, arguments.recipe)))
    print(f"{out}: {len(data):,} bytes; the vocabulary beside it: {vocabulary.num_bytes:,} bytes")
    return 0
