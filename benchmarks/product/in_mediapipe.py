"""Files in MediaPipe Tasks' `TextClassifier`, beside Keras and our own runtime.

A mean of words of 32 numbers, stored as int8, for each of MediaPipe's tokenizers and for rules of
our own with text in. All test texts go through all runtimes. The comparison of times is of whole
calls from Python: a text in, labels out; LiteRT on one thread, MediaPipe on those that it takes.
"""

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import results, runner
from kerascompact import datasets, export, models, runtime
from kerascompact.core.extras import require
from kerascompact.optimizers import LazyAdam
from kerascompact.text import Vocabulary

SETS = ("clinc150", "trec", "imdb")
RULES = ("mediapipe", "mediapipe_bert", "wordpunct")
WORDS, WIDTH, EPOCHS, BATCH, TIMED = 4000, 32, 10, 64, 500
LENGTHS = {"clinc150": 32, "trec": 32, "imdb": 256}


class Spec(NamedTuple):
    """What decides a row; "wordpunct" is our own file with text in."""

    dataset: str
    rules: str
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    specs = [
        Spec(dataset, rules, seed)
        for seed in arguments.seeds or (0, 1, 2)
        for dataset in arguments.sets or SETS
        for rules in RULES
    ]

    def run(spec: Spec) -> dict[str, Any]:
        return compared(spec, datasets.load(spec.dataset, arguments.data))

    return runner.run_all(name, specs, run, table)


def compared(spec: Spec, loaded: datasets.Dataset, epochs: int = EPOCHS) -> dict[str, Any]:
    """The row of a file: bytes, equal classes, times."""
    length = LENGTHS[spec.dataset]
    words = Vocabulary.build(loaded.train.texts, size=WORDS, rules=spec.rules)
    keras.utils.set_random_seed(spec.seed)
    embedding = keras.layers.Embedding(len(words), WIDTH, mask_zero=True)
    model = models.mean_classifier(embedding, len(loaded.label_names), dropout=0.4)
    model.compile(LazyAdam(3e-3), "sparse_categorical_crossentropy")
    rows = words.encode_all(loaded.train.texts, length)
    model.fit(rows, np.asarray(loaded.train.labels), epochs=epochs, batch_size=BATCH, verbose=0)
    frozen = export.freeze(model, "int8")
    options: dict[str, Any] = {"labels": loaded.label_names}
    plain = frozen.convert(vocabulary=words, sequence_length=length, **options)
    if spec.rules == "wordpunct":
        file = frozen.convert(text=words, max_words=length, **options)
    else:
        file = frozen.convert(vocabulary=words, sequence_length=length, mediapipe=True, **options)
    answers = frozen.model.predict(words.encode_all(loaded.test.texts, length), verbose=0)
    texts, truth = loaded.test.texts, np.asarray(loaded.test.labels)
    own = runtime.TextClassifier(file)
    found = {"our runtime": [own.predict(text).label for text in texts]}
    calls: dict[str, Callable[[str], Any]] = {"our runtime": own.predict}
    with contextlib.ExitStack() as stack:
        if spec.rules != "wordpunct":
            its = stack.enter_context(mediapipe_classifier(file))
            calls["MediaPipe"] = its
            found["MediaPipe"] = [its(text) for text in texts]
        times = {name: timed(call, texts) for name, call in calls.items()}
    wanted = [loaded.label_names[best] for best in answers.argmax(axis=1)]
    return {
        "ids_file_bytes": len(plain),
        "file_bytes": len(file),
        "keras_accuracy": float(np.mean(answers.argmax(axis=1) == truth)),
        "test_rows": len(texts),
        "same_class": {
            name: float(np.mean([one == other for one, other in zip(labels, wanted, strict=True)]))
            for name, labels in found.items()
        },
        "microseconds": times,
    }


@contextlib.contextmanager
def mediapipe_classifier(file: bytes) -> Iterator[Callable[[str], str]]:
    """Gives a function from a text to its label, by MediaPipe's `TextClassifier`."""
    tasks = require("mediapipe.tasks.python", "others")
    text = require("mediapipe.tasks.python.text", "others")
    options = text.TextClassifierOptions(
        base_options=tasks.BaseOptions(model_asset_buffer=file), max_results=1
    )
    with text.TextClassifier.create_from_options(options) as run:
        yield lambda given: run.classify(given).classifications[0].categories[0].category_name


def timed(call: Callable[[str], Any], texts: Sequence[str]) -> float:
    """Median microseconds of a call, over texts that are spread over all."""
    seconds = []
    for text in texts[:: max(1, len(texts) // TIMED)]:
        start = time.perf_counter()
        call(text)
        seconds.append(time.perf_counter() - start)
    return round(1e6 * float(np.median(seconds)), 1)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each set and tokenizer, means over seeds."""
    lines = [
        "| data set | token rules | seeds | file of ids B | file B | test | texts | same class as "
        "Keras % | us: MediaPipe, our runtime |",
        "|" + "---|" * 9,
    ]
    for group in results.by_seed(rows):
        spec = group[0]["spec"]
        sizes = [np.mean([row[key] for row in group]) for key in ("ids_file_bytes", "file_bytes")]
        kind = "MediaPipe" if spec["rules"] != "wordpunct" else "our runtime"
        same = min(row["same_class"][kind] for row in group)
        times = [
            f"{np.mean([row['microseconds'][one] for row in group]):.0f}"
            if one in group[0]["microseconds"]
            else "-"
            for one in ("MediaPipe", "our runtime")
        ]
        rules = spec["rules"] + (", text in" if spec["rules"] == "wordpunct" else "")
        cells = [spec["dataset"], rules, str(len(group)), *(f"{size:,.0f}" for size in sizes)]
        cells += [results.percent(group, "keras_accuracy"), f"{group[0]['test_rows']:,}"]
        cells += [f"{100 * same:.2f}", ", ".join(times)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
