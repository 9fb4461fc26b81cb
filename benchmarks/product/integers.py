"""Files of integers alone, by our exporter and by those that users have: which answer as Keras?

Four networks for CLINC150's intents, as a user of Keras writes them, trained three times each. All
exporters get the same model and the same rows of the training data to find ranges with. Dev picks
the epoch; test is read once a file.
"""

import argparse
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import layers, ops

from benchmarks.clusters.cluster_paper import SEEDS
from benchmarks.lib import results, runner
from benchmarks.lib.text_runs import loader
from benchmarks.product.other_exporters import by_integers, by_quantizer
from kerascompact import export
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tasks.classification import TextData
from kerascompact.tflite import flatbuffer


class Spec(NamedTuple):
    """Everything that decides a run: `rows` of the training data are what ranges are found with."""

    network: str
    rows: int = 300
    dataset: str = "clinc150"
    size: int = 3000
    length: int = 24
    width: int = 32
    epochs: int = 12
    batch_size: int = 64
    learning_rate: float = 3e-3
    seed: int = 0


def pooled(vectors: Any) -> Any:
    """The maximum beside the mean, and a smooth layer."""
    both = [layers.GlobalMaxPooling1D()(vectors), layers.GlobalAveragePooling1D()(vectors)]
    return layers.Dense(96, activation="softplus")(ops.concatenate(both, axis=-1))


def convolutions(vectors: Any) -> Any:
    """Two convolutions beside each other, with a residual connection of `selu`."""
    width = vectors.shape[-1]
    parts = [
        layers.Conv1D(width // 2, n, padding="same", activation="selu")(vectors) for n in (2, 3)
    ]
    return layers.GlobalMaxPooling1D()(vectors + ops.concatenate(parts, axis=-1))


def transformer(vectors: Any) -> Any:
    """Two blocks that normalize what they read, not what they add."""
    x, width = vectors, vectors.shape[-1]
    for _ in range(2):
        read = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(2, width // 2)(read, read)
        read = layers.LayerNormalization()(x)
        x = x + layers.Dense(width)(layers.Dense(2 * width, activation="gelu")(read))
    return layers.LayerNormalization()(layers.GlobalAveragePooling1D()(x))


def directions(vectors: Any) -> Any:
    """A vector of length 1, as for search, that reads words by a gate."""
    gate = layers.Dense(1, activation="sigmoid")(vectors)
    found = layers.Dense(128, activation="mish")(ops.mean(vectors * gate, axis=1))
    return 20 * layers.UnitNormalization()(found)


NETWORKS: dict[str, Callable[[Any], Any]] = {
    "maximum and mean, softplus": pooled,
    "convolutions, selu": convolutions,
    "transformer": transformer,
    "unit vectors, mish": directions,
}
Exporter = Callable[[keras.Model, np.ndarray], bytes]
EXPORTERS: dict[str, Exporter] = {
    "ours, int8 kernels": lambda model, rows: export.convert(model, "int8"),
    "ours, full_int8": lambda model, rows: export.convert(model, "full_int8", representative=rows),
    "TensorFlow's converter": by_integers,
    "litert-quantizer, static int8": lambda model, rows: by_quantizer(
        model, "static_wi8_ai8", rows
    ),
}


def trained(spec: Spec, data: TextData, verbose: int = 0) -> keras.Model:
    """The network of a run with the weights of its best epoch on dev."""
    keras.utils.set_random_seed(spec.seed)
    ids = keras.Input((spec.length,), dtype="int32", name="ids")
    found = NETWORKS[spec.network](layers.Embedding(spec.size, spec.width)(ids))
    found = layers.Dropout(0.2)(found)
    model = keras.Model(ids, layers.Dense(len(data.label_names), name="logits")(found))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(spec.learning_rate), loss, metrics=["accuracy"])
    best = keras.callbacks.EarlyStopping(
        "val_accuracy", patience=spec.epochs, restore_best_weights=True
    )
    model.fit(
        *data.train,
        spec.batch_size,
        spec.epochs,
        verbose=verbose,
        callbacks=[best],
        validation_data=tuple(data.dev),
    )
    return model


def logits_of(file: bytes, ids: np.ndarray) -> np.ndarray:
    """What a file answers, as the numbers that its integers stand for."""
    interpreter, graph = Interpreter(file), flatbuffer.parse(file).subgraphs[0]
    found = np.concatenate([interpreter.run_fitting(row[None]) for row in ids])
    output = graph.tensors[graph.outputs[0]].quantization
    if found.dtype == np.int8:
        found = (found.astype("float32") - output.zeroPoint[0]) * output.scale[0]
    return found


def run(spec: Spec, data: TextData, verbose: int = 0) -> dict[str, Any]:
    """Trains and exports: accuracy, error and bytes of each file, or why it cannot be run."""
    model = trained(spec, data, verbose)
    ids = np.asarray(data.test.ids, np.int32)
    logits, labels = model.predict(ids, verbose=0), np.asarray(data.test.labels)
    drawn = np.random.default_rng(spec.seed).choice(len(data.train.ids), spec.rows, replace=False)
    rows = np.asarray(data.train.ids, np.int32)[np.sort(drawn)]
    files: dict[str, Any] = {}
    for name, exporter in EXPORTERS.items():
        try:
            file = exporter(model, rows)
            found = logits_of(file, ids)
        except (RuntimeError, ValueError) as error:
            files[name] = {"refused": str(error)[:200]}
            continue
        files[name] = {
            "test": float(np.mean(found.argmax(-1) == labels)),
            "agreement": float(np.mean(found.argmax(-1) == logits.argmax(-1))),
            "error": float(np.sqrt(np.mean((found - logits) ** 2)) / logits.std()),
            "bytes": len(file),
        }
    keras_test = float(np.mean(logits.argmax(-1) == labels))
    return {"spec": spec._asdict(), "label": spec.network, "test": keras_test, "files": files}


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    load = loader(arguments.data)

    def one(spec: Spec) -> dict[str, Any]:
        data = load(spec.dataset, spec.size, spec.length)
        return run(spec, data, arguments.verbose)

    return runner.benchmark(name, [Spec(one) for one in NETWORKS], arguments, one, table, SEEDS)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each file, means and spreads over seeds."""
    lines = ["| network | file | seeds | test | as Keras | error | bytes |", "|" + "---|" * 7]
    for group in results.by_seed(list(rows)):
        seeds = str(len(group))
        cells = [group[0]["label"], "Keras", seeds, results.percent(group, "test"), "-", "-", "-"]
        lines.append("| " + " | ".join(cells) + " |")
        for name in EXPORTERS:
            found = [row["files"][name] for row in group]
            cells = [group[0]["label"], name, seeds]
            if any("refused" in one for one in found):
                cells += ["none", "-", "-", "-"]
            else:
                cells += [results.percent(found, "test"), results.percent(found, "agreement")]
                cells.append(f"{mean(one['error'] for one in found):.3f}")
                cells.append(f"{mean(one['bytes'] for one in found):,.0f}")
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
