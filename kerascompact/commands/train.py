"""Train a text classifier with a compact embedding and write its .tflite file."""

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import keras

    from kerascompact.tasks.classification import TextData


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from kerascompact.commands.budget import CHOSEN, add_budget
    from kerascompact.commands.source import add_source
    from kerascompact.export.recipe import UNCALIBRATED
    from kerascompact.tasks.methods import METHODS, methods_with
    from kerascompact.tasks.options import OPTIONS

    add_source(parser)
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    add_budget(parser)
    add("--method", choices=METHODS, default="mixture", help="kind of embedding (%(default)s)")
    add("--model", choices=("mean", "lstm"), default="mean", help="classifier (%(default)s)")
    add(
        "--recipe", choices=UNCALIBRATED, default="int8",
        help="how numbers are stored in the file (%(default)s)",
    )  # fmt: skip
    add(
        "--rules", default="wordpunct",
        help="token rules: wordpunct, characters (scripts without spaces), either with _pairs, "
        "kim, whitespace, or mediapipe, mediapipe_bert for `export --mediapipe` (%(default)s)",
    )  # fmt: skip
    add(
        "--vocabulary-size", type=int, default=3000,
        help="words in the vocabulary; not for projection (%(default)s)",
    )  # fmt: skip
    add("--sequence-length", type=int, default=64, help="tokens per text (%(default)s)")
    add("--width", type=int, default=32, help="width of a word's vector (%(default)s)")
    for name, option in OPTIONS.items():
        late = callable(option.default)  # it depends on the texts
        add(
            f"--{name.replace('_', '-')}",
            type=option.kind,
            default=None if late else option.default,
            help=f"{option.help}; with {', '.join(methods_with(name))} ({option.shown})",
        )
    add("--dropout", type=float, default=0.4, help="dropout before the softmax (%(default)s)")
    add("--epochs", type=int, default=20, help="training epochs (%(default)s)")
    add("--batch-size", type=int, default=64, help="texts per training step (%(default)s)")
    add(
        "--learning-rate", type=float,
        help="first learning rate, which falls to zero (0.01 for mean, 0.001 for lstm)",
    )  # fmt: skip
    add("--seed", type=int, default=0, help="seed of random numbers (%(default)s)")
    add("--jit-compile", action="store_true", help="compile with XLA, for long trainings")
    by_hand = {name: parser.get_default(name) for name in (*CHOSEN, *OPTIONS)}
    parser.set_defaults(by_hand=by_hand)


def run(arguments: argparse.Namespace) -> int:
    """Trains and writes, after checking every argument."""
    from kerascompact.commands import budget, source

    if arguments.budget is not None:
        return budget.run(arguments, arguments.by_hand)
    from kerascompact.core import checks
    from kerascompact.tasks import folder
    from kerascompact.text.rules import RULES

    budget.refuse(arguments)
    lowest = dict(epochs=1, batch_size=1, sequence_length=1, vocabulary_size=3, width=1)
    for name, low in lowest.items():
        checks.integer_in(name, getattr(arguments, name), low)
    checks.seed(arguments.seed)
    if arguments.learning_rate is None:
        arguments.learning_rate = {"mean": 1e-2, "lstm": 1e-3}[arguments.model]
    checks.number("learning_rate", arguments.learning_rate, above=0)
    checks.number("dropout", arguments.dropout, at_least=0, below=1)
    checks.choice("rules", arguments.rules, tuple(RULES))
    if arguments.method == "projection" and RULES[arguments.rules].pairs:
        raise ValueError(
            "`rules` must not form word pairs: a projection hashes single words. "
            f"Received: rules={arguments.rules!r}."
        )
    _check_options(arguments)
    folder.check_writable(arguments.out, *folder.NAMES)
    loaded = source.dataset(arguments, arguments.seed)

    from kerascompact.runtime import vocabulary_file
    from kerascompact.tasks import classification
    from kerascompact.tasks.options import OPTIONS

    # A projection reads the bits of words, not ids; its vocabulary caches the bits of any words.
    projected = arguments.method == "projection"
    size = None if projected else arguments.vocabulary_size
    data = classification.encode(
        loaded, size, arguments.sequence_length, arguments.rules, projected
    )
    vocabulary_file.check(arguments.out / folder.FILE, data.vocabulary)
    if arguments.method == "dpq" and arguments.code_length is None:  # each letter has a part
        usual = OPTIONS["code_length"].value(len(data.vocabulary), len(data.train.labels))
        arguments.code_length = math.gcd(usual, arguments.width)
    for name, option in OPTIONS.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, option.value(len(data.vocabulary), len(data.train.labels)))
    model = _model(arguments, data)
    return _train_and_write(arguments, data, model, loaded.test.texts if projected else None)


def _check_options(arguments: argparse.Namespace) -> None:
    """Refuses an option that the method does not read."""
    from kerascompact.tasks.methods import METHODS
    from kerascompact.tasks.options import OPTIONS

    read = METHODS[arguments.method].options
    unread = [name for name in OPTIONS if name not in read]
    if arguments.method == "projection":
        unread.append("vocabulary_size")
    for name in unread:
        if getattr(arguments, name) != arguments.by_hand[name]:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} is not an option of --method {arguments.method}.")


def _model(arguments: argparse.Namespace, data: "TextData") -> "keras.Model":
    """Builds the untrained model; its layers refuse sizes that do not fit the vocabulary."""
    import keras

    from kerascompact.tasks import classification, methods

    keras.utils.set_random_seed(arguments.seed)
    method = methods.METHODS[arguments.method]
    options = {**method.fixed, **{name: getattr(arguments, name) for name in method.options}}
    if "clusters" in options:
        options["logit_scale"] = methods.logit_scale(arguments.learning_rate)
    if method.name == "projection":
        options["vocabulary"] = data.vocabulary
    try:
        embedding = methods.build_embedding(
            arguments.method, len(data.vocabulary), arguments.width, **options
        )
    except ValueError as error:
        raise ValueError(f"{error} The vocabulary has {len(data.vocabulary)} ids.") from error
    build, options = classification.MODELS[arguments.model], dict(dropout=arguments.dropout)
    return build(embedding, len(data.label_names), multi_label=data.multi_label, **options)


def _train_and_write(
    arguments: argparse.Namespace,
    data: "TextData",
    model: "keras.Model",
    texts: "Sequence[str] | None",
) -> int:
    """Trains, exports and writes; with texts of the test split, the file takes text."""
    import numpy as np

    from kerascompact import export
    from kerascompact.core import checks, files
    from kerascompact.models import with_bit_input
    from kerascompact.tasks import classification, folder, methods
    from kerascompact.tasks.measure import measure
    from kerascompact.tasks.progress import TrainingProgress
    from kerascompact.training.scores import default_metric

    metric = default_metric(data.dev.labels)
    with TrainingProgress(f"train {methods.METHODS[arguments.method].abbreviation}") as progress:
        history = classification.train(
            model,
            data,
            epochs=arguments.epochs,
            batch_size=arguments.batch_size,
            learning_rate=arguments.learning_rate,
            seed=arguments.seed,
            jit_compile=arguments.jit_compile,
            callbacks=[progress],
            optimizer=methods.optimizer_of(arguments.method),
        )
    if not all(np.isfinite(weight).all() for weight in model.get_weights()):
        expected = "one at which training does not diverge: the trained weights are not finite"
        checks.fail("learning_rate", expected, arguments.learning_rate)
    row, frozen = measure(model, data, arguments.recipe, arguments.sequence_length, True, texts)
    report: dict[str, Any] = {
        "data": data.name,
        "method": arguments.method,
        "sequence_length": arguments.sequence_length,
        f"dev_{metric}": max(history[f"val_{metric}"]),
        **row,
        "arguments": {k: str(v) if isinstance(v, Path) else v for k, v in vars(arguments).items()},
    }
    del report["arguments"]["run"], report["arguments"]["by_hand"]
    # What takes text ships without ids and the bits of their words.
    sizes = frozen.summary(None if texts is None else with_bit_input(frozen.model))
    folder.save_model(model, arguments.out / folder.MODEL)
    data.vocabulary.save(arguments.out / folder.VOCABULARY)
    folder.write_labels(data.label_names, arguments.out / folder.LABELS)
    files.write_bytes(arguments.out / folder.REPORT, (json.dumps(report, indent=2) + "\n").encode())
    export.save(frozen.file, arguments.out / folder.FILE)
    print(sizes)
    print(
        f"{arguments.out / folder.FILE}: {row['file_bytes']:,} bytes, {metric.replace('_', ' ')} "
        f"dev {report[f'dev_{metric}']:.4f} test {row[f'file_{metric}']:.4f} "
        f"({row['test_rows']:,} rows)"
    )
    print(
        "same answers on these rows: file and frozen model, all; frozen and trained model before "
        f"rounding, all; file and trained model, {row['trained_agreement']:.2%}"
    )
    return 0
