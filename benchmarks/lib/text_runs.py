"""One run: train an embedding on a task, pick the epoch on dev, measure test once, keep a row."""

import functools
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from benchmarks.lib import results, runner
from kerascompact import datasets
from kerascompact.core import checks
from kerascompact.layers import PretrainedGuidance
from kerascompact.tasks.classification import (
    MODELS,
    TextData,
    best_epoch,
    encode,
    train,
)
from kerascompact.tasks.measure import measure, size_up
from kerascompact.tasks.methods import METHODS, build_embedding

# A plain table that shows what it has learnt: words that are seldom met stay near zero.
TEACHER = {"start": 0.01}
NAMED = {  # in labels
    "ratio": "ratio",
    "bits": "b",
    "cardinality": "K",
    "code_length": "D",
    "noise_scale": "noise",
    "temperature": "temperature",
    "training": "training",
}


class Spec(NamedTuple):
    """Everything that decides a run. Two runs of one spec give the same row, but for times.

    `width`, `clusters` and `unique` are the paper's m, k and u. `options` are further arguments of
    the embedding; with "guidance", a weight, the same model with a plain table is trained before,
    at the rate "teacher_rate", and guides the codes; "training", see `optimizer_of`.
    """

    dataset: str
    method: str
    model: str
    size: int
    length: int
    width: int
    clusters: int = 0
    unique: int = 0
    rules: str = "wordpunct"
    epochs: int = 7
    batch_size: int = 32
    learning_rate: float = 1e-3
    dropout: float = 0.0
    recipe: str = "float32"
    seed: int = 0
    options: dict[str, Any] = {}

    @property
    def label(self) -> str:
        """Method and its sizes, as the paper writes them."""
        sizes: dict[str, Any] = {
            NAMED[key]: value for key, value in self.options.items() if key in NAMED
        }
        sizes |= {"k": self.clusters, "m": self.width, "u": self.unique, "v": self.size}
        shown = [f"{name}={value}" for name, value in sizes.items() if value or name == "noise"]
        return f"{METHODS[self.method].abbreviation}({', '.join(shown)})"


def build(spec: Spec, data: TextData, table: np.ndarray | None = None) -> keras.Model:
    """The untrained model of a run, seeded; `table` guides codes with the option "guidance"."""
    keras.utils.set_random_seed(spec.seed)
    sizes: dict[str, Any] = {"clusters": spec.clusters, "unique": spec.unique}
    sizes = {name: value for name, value in sizes.items() if value}
    options = {key: value for key, value in spec.options.items() if key != "training"}
    if "guidance" in options:
        del options["teacher_rate"]
        options["guidance"] = PretrainedGuidance(table, options["guidance"])
    embedding = build_embedding(spec.method, len(data.vocabulary), spec.width, **sizes, **options)
    others: dict[str, Any] = {"dropout": spec.dropout}
    name, _, start = spec.model.partition("_")
    if name == "rnn":  # two units; "rnn_orthogonal" starts as Keras starts one
        start = start or "identity"
        others["recurrent"] = keras.layers.SimpleRNN(2, recurrent_initializer=start, name="rnn")
    made = MODELS["lstm" if name == "rnn" else name]
    return made(embedding, len(data.label_names), **others)


def load(spec: Spec, data_dir: str | None = None) -> TextData:
    """The data of a run as ids."""
    loaded = datasets.load(spec.dataset, data_dir)
    return encode(loaded, spec.size, spec.length, spec.rules)


def loader(data_dir: str | None) -> Callable[[str, int, int], TextData]:
    """A function of data set, words and length of texts, which encodes each once."""
    return functools.cache(
        lambda dataset, size, length: encode(datasets.load(dataset, data_dir), size, length)
    )


def trained(
    spec: Spec, data: TextData, *, jit_compile: bool = False, verbose: int = 0
) -> tuple[keras.Model, dict[str, list[float]]]:
    """The trained model of a run, and its history; codes with "guidance" after their teacher."""
    options: dict[str, Any] = {
        "epochs": spec.epochs,
        "batch_size": spec.batch_size,
        "learning_rate": spec.learning_rate,
        "seed": spec.seed,
        "jit_compile": jit_compile,
        "verbose": verbose,
    }
    table = None
    if "guidance" in spec.options:
        teacher = build(spec._replace(method="standard", options=TEACHER), data)
        train(teacher, data, **{**options, "learning_rate": spec.options["teacher_rate"]})
        table = teacher.get_layer("embedding").embeddings.numpy()
    model = build(spec, data, table)
    if "training" in spec.options:
        options["optimizer"] = optimizer_of(spec, len(data.train.labels))
    return model, train(model, data, **options)


class DenseAdam(keras.optimizers.Adam):
    """Adam whose momentum goes on moving rows that have left the batch, as TensorFlow 1's does."""

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        # As rows, a repeated id would be squared once for each time it is there.
        super().apply([tf.convert_to_tensor(grad) for grad in grads], trainable_variables)


def optimizer_of(spec: Spec, rows: int) -> Callable[..., keras.optimizers.Optimizer]:
    """The optimizer that the option "training" names.

    "paper": Chen & Gimpel's, Adam at a constant rate; "averaged": the same, and each epoch ends
    with an average of its weights, of about its last 1,000 steps, from which the next one starts.
    """
    checks.choice("training", spec.options["training"], ("paper", "averaged"))
    average: dict[str, Any] = {}
    if spec.options["training"] == "averaged":
        steps = math.ceil(rows / spec.batch_size)
        average = dict(use_ema=True, ema_momentum=0.999, ema_overwrite_frequency=steps)
    return lambda _, **options: DenseAdam(spec.learning_rate, **average, **options)


def run(
    spec: Spec,
    data: TextData,
    *,
    test: bool = True,
    jit_compile: bool = False,
    verbose: int = 0,
) -> dict[str, Any]:
    """Trains one model and returns its row; `test=False` leaves the test split untouched."""
    start = time.perf_counter()
    model, history = trained(spec, data, jit_compile=jit_compile, verbose=verbose)
    dev = history["val_accuracy"]
    row: dict[str, Any] = {
        "spec": spec._asdict(),
        "label": spec.label,
        "train_rows": len(data.train.labels),
        "dev_accuracy": max(dev),
        "best_epoch": best_epoch(dev),
        "train_seconds": round(time.perf_counter() - start, 1),
    }
    # Fixed length: the file sees exactly the ids that Keras was measured on.
    count = measure if test else size_up
    return row | count(model, data, spec.recipe, sequence_length=spec.length)[0]


def run_all(
    specs: list[Spec], name: str, data_dir: str | None = None, test: bool = True, **options: Any
) -> list[dict[str, Any]]:
    """Runs what has no row yet, see `runner.run_all`."""
    last: dict[tuple[Any, ...], TextData] = {}

    def one(spec: Spec) -> dict[str, Any]:
        key = (spec.dataset, spec.size, spec.length, spec.rules)
        if key not in last:
            last.clear()  # one at a time: IMDB's ids take 80 MB
            last[key] = load(spec, data_dir)
        return run(spec, last[key], test=test, **options)

    return runner.run_all(name, specs, one, lambda rows: results.line(rows[0]))


def size_again(name: str, data_dir: str | None = None) -> None:
    """Counts the bytes in a benchmark's rows anew, after a change of the exporter.

    A file's size follows from the spec, so nothing is trained; accuracies stay as they are.
    """
    loaded: dict[tuple[Any, ...], TextData] = {}
    found = results.rows(name)
    for row in found:
        spec = Spec(**row["spec"])
        key = (spec.dataset, spec.size, spec.length, spec.rules)
        if key not in loaded:
            loaded[key] = load(spec, data_dir)
        model, random = build(spec, loaded[key]), np.random.default_rng(0)
        for weight in model.trainable_weights:  # equal constants, such as zeros, are stored once
            weight.assign(random.normal(size=weight.shape))
        row |= size_up(model, loaded[key], spec.recipe, spec.length)[0]
    results.rewrite(name, found)
