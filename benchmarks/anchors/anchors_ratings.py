"""Ratings of users for items: Anchor & Transform against hashed tables at equal numbers.

Section 4.3 of [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197) factorizes MovieLens'
ratings. Here they are made up (`ratings.synthetic`): users like some clusters of items and not
others. Both tables of a model, of users and of items, are of one method and of a width of 32, with
a bias each; a quarter, a 16th and a 40th of the full tables' numbers (biases apart). Every method
has as many trials on dev at each size (`ant_ratings_dev`, seed 0): the pick is trained with each
seed, and test is read once.
"""

import argparse
import functools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data import ratings
from benchmarks.lib import results, runner
from kerascompact import layers, models
from kerascompact.core.storage import total_bits
from kerascompact.forms import DenseForm, Form, SparseForm
from kerascompact.optimizers import LazyAdam, Proximal
from kerascompact.tasks.methods import METHODS

SEEDS = (0, 1, 2)
SIZES = (4, 16, 40)
USERS, ITEMS, CLUSTERS, EACH, WIDTH, BATCH, TOP = 2000, 1000, 8, 40, 32, 512, 10
# Of a table's rows, how many anchors: what is left of the numbers is some entries a row.
ROWS_PER_ANCHOR = {4: 100, 16: 200, 40: 400}
# Eight trials on dev for each method and size: two rates, and four settings of its own.
RATES = (5e-3, 2e-2)
TRIALS: dict[str, tuple[dict[str, float], ...]] = {
    "standard": tuple({"l2_weight": weight} for weight in (0.0, 1e-5, 1e-4, 3e-4)),
    "anchors": tuple({"l1_weight": weight} for weight in (1e-2, 5e-2, 1e-1, 3e-1)),
    "hashed": tuple(
        {"hashes": hashes, "l2_weight": weight} for hashes in (1, 2) for weight in (1e-5, 1e-4)
    ),
}


class Spec(NamedTuple):
    """Everything that decides a run.

    `smaller`: by how many times its numbers are fewer than those of full tables. `options`:
    "l2_weight", of the squares of a table; "l1_weight", of the penalty of anchors; "hashes", the
    buckets that a row of a hashed table adds up.
    """

    method: str
    smaller: int
    options: dict[str, Any]
    learning_rate: float
    epochs: int = 15
    seed: int = 0


TRIED = [
    Spec(method, smaller, options, rate)
    for method, trials in TRIALS.items()
    for smaller in ((1,) if method == "standard" else SIZES)
    for options in trials
    for rate in RATES
]


@functools.cache
def made_up() -> ratings.Ratings:
    """The ratings, the same in every run."""
    return ratings.synthetic(USERS, ITEMS, CLUSTERS, EACH, test=0.2, seed=0)


def budget(spec: Spec, rows: int) -> int:
    """Numbers that a table of so many rows may have."""
    return rows * WIDTH // spec.smaller


def embedding(spec: Spec, rows: int, name: str) -> keras.layers.Layer:
    """An untrained table of a run, within its budget but for anchors, which are cut to it."""
    squares = spec.options.get("l2_weight")
    common: dict[str, Any] = {"name": name}
    common["embeddings_regularizer"] = keras.regularizers.L2(squares) if squares else None
    if spec.method == "standard":
        return keras.layers.Embedding(rows, WIDTH, **common)
    if spec.method == "hashed":
        buckets, hashes = budget(spec, rows) // WIDTH, int(spec.options["hashes"])
        return layers.HashEmbedding(rows, WIDTH, buckets, hashes, importance=False, **common)
    anchors = max(2, rows // ROWS_PER_ANCHOR[spec.smaller])
    return layers.AnchorTransformEmbedding(
        rows, WIDTH, anchors, l1_weight=spec.options["l1_weight"], nonnegative=False, **common
    )


def cut(transform: np.ndarray, entries: int) -> np.ndarray:
    """At most so many entries of a matrix, the largest; the others become zero.

    >>> cut(np.array([[3.0, -1.0], [0.5, 2.0]]), 2)
    array([[3., 0.],
           [0., 2.]])
    """
    order = np.argsort(-np.abs(transform), axis=None, kind="stable")
    kept = transform.copy()
    kept.ravel()[order[entries:]] = 0
    return kept


def vectors(spec: Spec, layer: keras.layers.Layer) -> tuple[np.ndarray, int, int]:
    """The vectors that a trained table ships, its numbers that are not zero, and stored bits."""
    rows = layer.input_dim
    if spec.method == "anchors":
        basis = layer.all_anchors().numpy()
        transform = cut(layer.sparse_transform().toarray(), budget(spec, rows) - basis.size)
        form: Form = SparseForm.from_matrix(transform, basis)
        numbers = np.count_nonzero(transform) + basis.size
    else:
        numbers = int(sum(np.prod(weight.shape) for weight in layer.trainable_weights))
        table = layer.get_weights()[0]
        form = (
            DenseForm.from_arrays({"table": table}, input_dim=rows, output_dim=WIDTH)
            if spec.method == "standard"
            else layer.to_form()
        )
    return np.asarray(form(np.arange(rows))), int(numbers), total_bits(form.storage())


def run(spec: Spec, data: ratings.Ratings, test: bool = True, verbose: int = 0) -> dict[str, Any]:
    """Trains one model and returns its row; `test=False` leaves the test ratings untouched."""
    keras.utils.set_random_seed(spec.seed)
    mean, start = float(data.train.ratings.mean()), time.perf_counter()
    tables = [
        embedding(spec, len(names), name)
        for names, name in ((data.user_names, "users"), (data.item_names, "items"))
    ]
    model = models.matrix_factorization(*tables, mean=mean)
    steps = spec.epochs * -(-len(data.train.ratings) // BATCH)
    adam = LazyAdam(keras.optimizers.schedules.PolynomialDecay(spec.learning_rate, steps, 0.0))
    model.compile(Proximal(adam) if METHODS[spec.method].proximal else adam, "mse")
    keep = keras.callbacks.EarlyStopping(
        "val_loss",
        mode="min",
        patience=spec.epochs,
        restore_best_weights=True,
        start_from_epoch=spec.epochs // 2,  # until then the penalty has made its zeros
    )
    model.fit(
        data.train.inputs,
        data.train.ratings,
        batch_size=BATCH,
        epochs=spec.epochs,
        validation_data=(data.dev.inputs, data.dev.ratings),
        validation_batch_size=4096,
        callbacks=[keep],
        verbose=verbose,
    )
    shipped = [vectors(spec, layer) for layer in tables]
    biases = [model.get_layer(f"{side}_bias").get_weights()[0][:, 0] for side in ("user", "item")]

    def predicted(split: ratings.Rated) -> np.ndarray:
        pairs = (split.users, split.items)
        (users, items), (of_user, of_item) = (
            [table[ids] for table, ids in zip(found, pairs, strict=True)]
            for found in ([one[0] for one in shipped], biases)
        )
        return mean + of_user + of_item + np.sum(users * items, axis=1)

    row = {
        "spec": spec._asdict(),
        "numbers": sum(one[1] for one in shipped),
        "stored_bits": sum(one[2] for one in shipped),
        "full": WIDTH * sum(layer.input_dim for layer in tables),
        "dev_rmse": rmse(predicted(data.dev), data.dev),
        "train_seconds": round(time.perf_counter() - start, 1),
    }
    if test:
        found = predicted(data.test)
        row |= {"test_rmse": rmse(found, data.test), "test_ndcg": ndcg(found, data.test)}
    return row


def rmse(predicted: np.ndarray, split: ratings.Rated) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(np.mean((predicted - split.ratings) ** 2)))


def ndcg(predicted: np.ndarray, split: ratings.Rated) -> float:
    """nDCG@10 of each user's rated items, `2^r - 1` the gain of a rating, a mean over users."""
    found = []
    for user in np.unique(split.users):
        of_user = split.users == user
        gains = 2.0 ** split.ratings[of_user] - 1
        weights = 1 / np.log2(np.arange(2, 2 + min(TOP, len(gains))))
        best = np.sort(gains)[::-1][:TOP] @ weights
        ranked = gains[np.argsort(-predicted[of_user], kind="stable")][:TOP] @ weights
        found.append(ranked / best)
    return float(np.mean(found))


def picks(tried: Sequence[dict[str, Any]]) -> list[Spec]:
    """The trial that is best on dev, for each method and size."""
    best: dict[tuple[str, int], dict[str, Any]] = {}
    for row in tried:
        key = (row["spec"]["method"], row["spec"]["smaller"])
        if key not in best or row["dev_rmse"] < best[key]["dev_rmse"]:
            best[key] = row
    return [Spec(**row["spec"]) for row in best.values()]


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Tries every setting on dev, then measures the picks on test with every seed."""
    tried = _all(TRIED, "ant_ratings_dev", False, arguments.verbose)
    if name == "ant_ratings_dev":
        return tried
    seeded = [spec._replace(seed=s) for s in arguments.seeds or SEEDS for spec in picks(tried)]
    return _all(seeded, name, True, arguments.verbose)


def _all(wanted: Sequence[Spec], name: str, test: bool, verbose: int) -> list[dict[str, Any]]:
    def one(spec: Spec) -> dict[str, Any]:
        return run(spec, made_up(), test, verbose)

    return runner.run_all(name, wanted, one, table)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per method and size, RMSE and nDCG as means and spreads over seeds."""
    lines = [
        "| tables | numbers | of full | stored KB | rate | setting | seeds | dev RMSE | test RMSE "
        "| test nDCG@10 |",
        "|" + "---|" * 10,
    ]
    for group in sorted(results.by_seed(rows), key=_place):
        spec = group[0]["spec"]
        setting = ", ".join(f"{key} {value:g}" for key, value in spec["options"].items())
        numbers, bits = (np.mean([r[key] for r in group]) for key in ("numbers", "stored_bits"))
        cells = [METHODS[spec["method"]].abbreviation, f"{numbers:,.0f}"]
        cells += [f"1/{group[0]['full'] / numbers:.1f}", f"{bits / 8000:,.0f}"]
        cells += [f"{spec['learning_rate']:g}", setting, str(len(group))]
        cells += [_cell(group, key) for key in ("dev_rmse", "test_rmse", "test_ndcg")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(group: list[dict[str, Any]], key: str) -> str:
    if key not in group[0]:
        return "-"
    mean, deviation = results.spread(group, key)
    return f"{mean:.4f}" + (f" ± {deviation:.4f}" if len(group) > 1 else "")


def _place(group: list[dict[str, Any]]) -> tuple[int, int]:
    spec = group[0]["spec"]
    return spec["smaller"], list(TRIALS).index(spec["method"])
