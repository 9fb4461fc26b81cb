"""Convert a model that `train` saved into a .tflite file."""

import argparse
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from kerascompact.export.recipe import RECIPES

    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that `train --out` wrote")
    exact = [name for name, recipe in RECIPES.items() if recipe.exact]  # others also need data
    parser.add_argument(
        "--recipe", choices=exact, help="how numbers are stored (default: as in training)"
    )
    parser.add_argument(
        "--sequence-length", type=int, help="tokens per text (default: as in training)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE",
        help="file to write (default: DIR/model.tflite; to be given if DIR is of a search)",
    )  # fmt: skip
    parser.add_argument(
        "--text-in",
        action="store_true",
        help="write a file that takes UTF-8 bytes instead of ids; a projection's file always does",
    )
    parser.add_argument(
        "--max-bytes", type=int, metavar="N",
        help="longest text in bytes, with --text-in (default: any length)",
    )  # fmt: skip
    parser.add_argument(
        "--mediapipe", action="store_true",
        help="write a file that MediaPipe Tasks runs, with the vocabulary and the labels inside; "
        "the model must be trained with --rules mediapipe or mediapipe_bert",
    )  # fmt: skip
    parser.add_argument(
        "--batch-size",
        type=batch_size,
        default=1,
        metavar="N",
        help="texts per run, or 'any' for a file that can be resized (%(default)s)",
    )
    parser.add_argument(
        "--names",
        action=argparse.BooleanOptionalAction,
        help="keep the names of inner tensors, for tools such as litert-quantizer (default: names "
        "from 64 KiB on, numbers in smaller files)",
    )


def batch_size(text: str) -> int | None:
    """The number in `--batch-size`, or `None` for "any"."""
    return None if text == "any" else int(text)


def run(arguments: argparse.Namespace) -> int:
    from kerascompact.core import checks
    from kerascompact.runtime import vocabulary_file
    from kerascompact.tasks import folder
    from kerascompact.text import SlotVocabulary, Vocabulary
    from kerascompact.text.rules import named

    out = arguments.out or arguments.folder / folder.FILE
    if out.suffix.lower() != ".tflite":  # as would be the model and its words
        raise ValueError(f"--out must end in .tflite. Received: {str(out)!r}.")
    folder.check_writable(out.parent, out.name)
    if not (arguments.folder / folder.VOCABULARY).is_file():
        budgets = sorted(
            path.parent.name for path in arguments.folder.glob(f"*/{folder.VOCABULARY}")
        )
        raise ValueError(
            f"DIR must be a folder that `train --out` wrote, with {folder.VOCABULARY}. "
            f"Received: {arguments.folder}"
            + (f", whose folders have one: {', '.join(budgets)}." if budgets else ".")
        )
    vocabulary = folder.load_words(arguments.folder / folder.VOCABULARY)
    labels = folder.read_labels(arguments.folder / folder.LABELS)
    report = arguments.folder / folder.REPORT
    if arguments.out is None and folder.is_of_search(report):
        raise ValueError(
            f"--out must be given: {out} is the file of a search, which keeps to its budget."
        )
    length = arguments.sequence_length
    length = folder.trained_length(report) if length is None else length
    checks.integer_in("sequence_length", length, 1)
    recipe = arguments.recipe or folder.trained_recipe(report)
    model = folder.load_model(arguments.folder / folder.MODEL)
    # A projection reads the bits of words and needs no list of words.
    projection = _is_projection(model)
    text_in = arguments.text_in or projection
    if not text_in:
        if arguments.max_bytes is not None:
            raise ValueError("--max-bytes needs --text-in: only a file that takes text has it.")
        if not isinstance(vocabulary, Vocabulary) or isinstance(vocabulary, SlotVocabulary):
            raise ValueError(
                f"{arguments.folder} has words in buckets or slots, which need --text-in."
            )
        if not arguments.mediapipe:
            vocabulary_file.check(out, vocabulary)
        elif not named(vocabulary.rules).mediapipe:
            raise ValueError(
                "--mediapipe needs a model that was trained with --rules mediapipe or "
                f"mediapipe_bert. Received: one with the rules {vocabulary.rules}."
            )
    elif arguments.mediapipe:
        raise ValueError("--mediapipe is for files of ids, whose texts MediaPipe cuts itself.")

    from kerascompact import export, tflite
    from kerascompact.models import with_bit_input
    from kerascompact.runtime.interpreter import Interpreter

    options: dict[str, Any] = {"labels": labels, "sequence_length": length}
    options |= {"names": arguments.names, "batch_size": arguments.batch_size}
    if text_in:
        text = vocabulary.rules if projection else vocabulary
        options |= {"text": text, "max_bytes": arguments.max_bytes}
    else:
        options |= {"vocabulary": vocabulary, "mediapipe": arguments.mediapipe}
    frozen = export.freeze(model, recipe)
    data = frozen.convert(**options)
    # There is no data set here, so file and model are compared on the words of the vocabulary.
    listed = vocabulary if isinstance(vocabulary, Vocabulary) else None
    words = listed.words if listed else [f"word{number}" for number in range(200)]
    texts = [" ".join(words[start::16][:length]) for start in range(16)]
    texts = [text for text in texts if text]
    given: Any = texts
    if not text_in:
        ((_, port),) = Interpreter(data).inputs.items()
        given = vocabulary.encode_all(texts, int(port["shape"][1]))
    report = frozen.verify(given, vocabulary=vocabulary)
    export.save(data, out, vocabulary=None if text_in else listed)
    print(frozen.summary(with_bit_input(frozen.model) if projection else None))
    size = f"{out}: {len(data):,} bytes"
    if text_in:
        inside = tflite.read_metadata(data)["text"]["bytes"]
        print(f"{size}, text in; {f'{inside:,} of them are the' if inside else 'no'} vocabulary")
    elif arguments.mediapipe:
        print(f"{size}, for MediaPipe Tasks; the vocabulary and the labels are inside")
    else:
        print(f"{size}; {vocabulary_file.NAME} in the same folder: {vocabulary.num_bytes:,} bytes")
    print(f"compared on the words of the vocabulary: {report}")
    return 0


def _is_projection(model: Any) -> bool:
    from kerascompact.core.keras_graph import all_layers
    from kerascompact.layers import ProjectionEmbedding

    return any(isinstance(layer, ProjectionEmbedding) for layer in all_layers(model))
