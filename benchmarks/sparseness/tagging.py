"""Part-of-speech tagging: Figure 3 and Table 3 of the predefined-sparseness paper.

The paper has the Wall Street Journal, 43,815 words, 50 epochs of Adam at 0.001 (some 95,000 steps)
and a grid of three dropouts for each point: `tagging_wsj`. This is UD English EWT with its 49 tags,
19,676 words, a fifth of the text, and 20 epochs (5,000 steps of 50 sentences) unless `--epochs`
says otherwise, so at a rate that falls from 0.02, and one dropout for all: a tenth of the words.
`tagging_dev` tries other dropouts and a wider start, the same ones for every point, in fewer
epochs; `tagging` then has the best trial of each point as well.
"""

import argparse
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

from benchmarks.data import conll2000, treebank, ud_english_ewt
from benchmarks.data.tagged import TaggedCorpus
from benchmarks.lib import results, runner
from benchmarks.sparseness.sentences import UNKNOWN, SentenceBatches, TagData, TagIds, encode
from benchmarks.sparseness.tagging_specs import BENCHMARKS, DEV_EPOCHS, TRIALS, TRIED, Spec, trial
from kerascompact import export, layers, models
from kerascompact.core.storage import total_bits
from kerascompact.forms.base import Form
from kerascompact.tasks import plots

SEEDS = (0, 1, 2)
LOADERS: dict[str, Callable[..., TaggedCorpus]] = {
    "ud_english_ewt": ud_english_ewt.load,
    "conll2000": conll2000.load,
    "treebank_sample": treebank.load,
    "wsj": treebank.load_wsj,
}


def build(spec: Spec, data: TagData) -> keras.Model:
    """The untrained tagger of a run, seeded."""
    keras.utils.set_random_seed(spec.seed)
    embedding = layers.PredefinedSparseEmbedding(
        len(data.vocabulary),
        spec.width,
        spec.density,
        bins=1 if spec.density == 1 else None,
        order=spec.order,
        embeddings_initializer=keras.initializers.RandomUniform(-spec.start, spec.start),
        word_dropout=spec.word_dropout,
        variational_dropout=spec.variational_dropout,
        seed=spec.seed,
        mask_zero=True,
        name="embedding",
    )
    recurrent = None
    if spec.weight_dropout:
        options: dict[str, Any] = {"weight_dropout": spec.weight_dropout, "seed": spec.seed}
        recurrent = layers.WeightDropLSTM(spec.units, return_sequences=True, **options)
    return models.tagger(embedding, len(data.tag_names), spec.units, recurrent=recurrent)


def train(
    spec: Spec, model: keras.Model, data: TagData, verbose: int = 0
) -> dict[str, list[float]]:
    """Trains by Adam and keeps the weights of the epoch that is best on dev.

    Keras' own Adam for dense and sparse alike, as in the paper: its momentum goes on moving a word
    that is gone from the batch, some 30 rates in all for one that is met once, where `LazyAdam`
    moves it by 3. Words with one entry need that: after 5 epochs, dev accuracy at density 0.15 is
    87.5 with Adam (0.003) and 86.5 with `LazyAdam` (0.005). No word is twice in a gradient of this
    layer, so that Keras' Adam is Adam here.
    """
    batches = SentenceBatches(data.train, spec.batch_size, data.once, seed=spec.seed)
    rate: Any = spec.learning_rate
    if spec.falling:
        rate = keras.optimizers.schedules.PolynomialDecay(rate, spec.epochs * len(batches), 0.0)
    model.compile(
        keras.optimizers.Adam(rate),
        # a mean over words: padding has weight 0
        keras.losses.SparseCategoricalCrossentropy(reduction="mean_with_sample_weight"),
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        jit_compile=False,  # a loop over words of any number is slower with it, on CPU
    )
    keep = keras.callbacks.EarlyStopping(
        "val_accuracy", mode="max", patience=spec.epochs, restore_best_weights=True
    )
    dev = (data.dev.ids, data.dev.tags, data.dev.words.astype(np.float32))
    history = model.fit(
        batches,
        epochs=spec.epochs,
        validation_data=dev,
        validation_batch_size=500,
        callbacks=[keep],
        verbose=verbose,
    )
    return history.history


def run(spec: Spec, data: TagData, *, test: bool = True, verbose: int = 0) -> dict[str, Any]:
    """Trains one tagger and returns its row; `test=False` leaves the test split untouched."""
    start = time.perf_counter()
    model = build(spec, data)
    history = train(spec, model, data, verbose)
    dev = history["val_accuracy"]
    embedding = model.get_layer("embedding")
    row: dict[str, Any] = {
        "spec": spec._asdict(),
        "label": spec.label,
        "words": len(data.vocabulary),
        "dev_accuracy": max(dev),
        "best_epoch": 1 + dev.index(max(dev)),
        "dev_by_epoch": [round(value, 4) for value in dev],
        "train_accuracy": history["accuracy"][-1],
        "train_seconds": round(time.perf_counter() - start, 1),
        "embedding_parameters": embedding.num_entries,
        "parameters": int(sum(np.prod(weight.shape) for weight in model.trainable_weights)),
    }
    for recipe in ("float32", "int8_tables") if test else ():
        measured = measure(model, data.test, recipe)
        row |= {(k if recipe == "float32" else f"int8_{k}"): v for k, v in measured.items()}
    return row


def measure(model: keras.Model, split: TagIds, recipe: str) -> dict[str, Any]:
    """Exports a tagger and compares every token of every sentence with Keras.

    Raises `ValueError`, if a token's tag differs and is no tie.

    Padding is tagged like words: a file of one length serves all sentences here.

    Returns: A row with
        test_accuracy: share of the words that Keras tags right (tables rounded by the recipe);
        file_accuracy: of the file; unknown_accuracy: of the file, of words that training had not;
        argmax_agreement: share of sentences whose tags are all the same; argmax_ties;
        file_bytes, stored_bytes: of the file, and of all of the model's numbers in it;
        microseconds: of one sentence with its padding.
    """
    file = export.convert(model, recipe, sequence_length=split.ids.shape[1])
    frozen = export.freeze(model, recipe).model
    # probabilities after a hundred steps of float32 in another order
    report = export.verify(model, file, split.ids, tolerance=1e-4)
    by_keras = np.argmax(frozen.predict(split.ids, batch_size=500, verbose=0), axis=-1)
    right = np.argmax(report.outputs, axis=-1) == split.tags
    unknown = split.ids == UNKNOWN
    form = next(layer for layer in frozen.layers if isinstance(layer, Form))
    others = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights[1:])
    return {
        "test_accuracy": float(np.mean((by_keras == split.tags)[split.words])),
        "file_accuracy": float(np.mean(right[split.words])),
        "unknown_accuracy": float(np.mean(right[unknown])) if unknown.any() else None,
        "argmax_agreement": report.agreement,
        "argmax_ties": report.ties,
        "largest_difference": report.largest_difference,
        "file_bytes": len(file),
        "stored_bytes": total_bits(form.storage()) / 8 + 4 * others,
        "microseconds": round(report.microseconds, 1),
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row in `results/<name>.jsonl` yet, seed by seed; draws Figure 3.

    `arguments.epochs` cuts or lengthens every run.
    """
    test = not name.endswith("_dev")

    @functools.cache
    def data(dataset: str) -> TagData:
        return encode(LOADERS[dataset](arguments.data))

    def one(spec: Spec) -> dict[str, Any]:
        return run(spec, data(spec.dataset), test=test, verbose=arguments.verbose)

    seeds = SEEDS if test else (0,)
    specs = BENCHMARKS[name]
    if name == "tagging":
        specs = [*specs, *(spec for spec in picked() if spec not in specs)]
    found = runner.benchmark(name, specs, arguments, one, table, seeds)
    if test:
        draw(found, results.path(name).with_suffix(".png"))
    return found


def picked() -> list[Spec]:
    """The best trial on dev of each point of which all trials have a row."""
    found = []
    for spec in TRIED:
        trials = [trial(spec, numbers) for numbers in TRIALS]
        rows = [
            results.find("tagging_dev", one._replace(epochs=DEV_EPOCHS)._asdict()) for one in trials
        ]
        if None not in rows:
            dev = [row["dev_accuracy"] for row in rows if row]
            found.append(trials[dev.index(max(dev))])
    return found


def best_groups(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """For each width, density, order and LSTM the rows of the setting that is best on dev."""
    best: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for group in results.by_seed(rows):
        spec = group[0]["spec"]
        if spec["epochs"] != rows[0]["spec"]["epochs"]:
            continue
        point = spec["width"], spec["density"], spec["order"], spec["units"]
        dev = [results.spread(one, "dev_accuracy")[0] for one in (best.get(point, group), group)]
        if dev[1] >= dev[0]:
            best[point] = group
    return best


def draw(rows: list[dict[str, Any]], path: Path) -> Path | None:
    """Figure 3: accuracy over entries per word, dense against sparse; `None` without matplotlib."""
    points = []
    for (width, density, order, units), group in best_groups(rows).items():
        if order != "up" or units != 10:
            continue
        mean, spread = results.spread(group, "test_accuracy")
        point = {"entries": width * density, "accuracy": mean, "spread": spread}
        kinds = ["dense"] if density == 1 else []
        kinds += ["sparse"] if width == 20 else []  # at density 1 they are the same
        points += [{**point, "method": kind} for kind in kinds]
    title = f"Tags of {rows[0]['spec']['dataset']}, k = 20"
    try:
        return plots.accuracy_against_entries(points, path, title)
    except ImportError:
        return None


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a line per embedding, mean and spread over seeds, accuracies in percent."""
    lines = [
        "| embedding | dropouts | start | epochs | seeds | dev | test | file | unknown words "
        "| int8 file | parameters: embedding | all | file B | int8 file B |",
        "|" + "---|" * 14,
    ]
    for group in results.by_seed(rows):
        first = group[0]
        spec = first["spec"]
        dropouts = (spec[f"{kind}_dropout"] for kind in ("word", "variational", "weight"))
        cells = [first["label"], ", ".join(f"{share:g}" for share in dropouts)]
        cells += [f"{spec['start']:g}", str(spec["epochs"]), str(len(group))]
        cells += [results.percent(group, "dev_accuracy")]
        for key in ("test", "file", "unknown", "int8_file"):
            cells.append(results.percent(group, f"{key}_accuracy"))
        cells += [f"{first[key]:,}" for key in ("embedding_parameters", "parameters")]
        for key in ("file_bytes", "int8_file_bytes"):
            cells.append(f"{first[key]:,}" if key in first else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
