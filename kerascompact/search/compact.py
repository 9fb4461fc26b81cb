"""compact: any trained model, stored within a budget of bytes."""

from collections.abc import Sequence
from typing import Any

import keras

from kerascompact import export
from kerascompact.core import checks
from kerascompact.core.keras_graph import copy_with, is_graph
from kerascompact.search.budget import in_bytes
from kerascompact.search.compacted import Choice, Compacted
from kerascompact.search.measuring import loss_of, measured, recipe_of, sample
from kerascompact.search.parts import (
    Candidate,
    Part,
    parts_of,
)
from kerascompact.search.tuning import tuned

VERIFIED = 32  # examples on which the file is compared with the model
KERNELS = "other kernels"
Pick = tuple[Candidate, ...]  # a candidate for each part; the last is that of the other kernels


def compact(
    model: keras.Model,
    budget: int | str,
    data: tuple[Any, Any],
    *,
    epochs: int = 0,
    samples: int = 512,
    joint: int = 4,
    seed: int = 0,
    verbose: bool = True,
) -> Compacted:
    """Stores a trained model in a file within a budget, at the least loss found.

    Each embedding table (a tied one once) and each large dense kernel is stored in several settings
    of scalar and product quantization, low rank, clusters, KD codes, k-SVD, sparse codes and
    pruning, one at a time, and the loss measured. Combinations are ordered by the sum
    of these losses; the first `joint` whose files fit are measured together, and the best is
    fine-tuned, if `epochs` says so. All other kernels are float32 or int8.

    Args:
        model: Functional or Sequential model, built; it is not changed. If it is not compiled, the
            loss is the mean squared distance to its own outputs.
        budget: Bytes of the file, such as `"400KiB"`, see `search.budget.in_bytes`.
        data: Inputs and targets, as `model.evaluate` takes them.
        epochs: Epochs of fine-tuning with the rounded numbers of the file, on the examples that no
            loss is measured on, or on all, if those are fewer; with the model's own optimizer, loss
            and rate, which falls to zero. The result is kept only if the loss is lower. 0: none.
        samples: Number of examples, the first after a shuffle, on which losses are measured.
        joint: Number of combinations that are converted and measured.
        seed: Seed of the sample and of k-means.
        verbose: Whether to show progress.

    Returns: A `Compacted`, whose file is never over the budget.

    Raises: ValueError, if an argument is wrong, or the budget below the smallest file found; the
        error names the bytes of its parts.

    >>> ids = keras.Input((4,), dtype="int32")
    >>> pooled = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(500, 16)(ids))
    >>> model = keras.Model(ids, keras.layers.Dense(2, activation="softmax")(pooled))
    >>> model.compile("adam", "sparse_categorical_crossentropy")
    >>> x, y = np.arange(400).reshape(100, 4), np.arange(100) % 2
    >>> found = compact(model, "12KiB", data=(x, y), joint=1, verbose=False)
    >>> len(found.file) <= 12 * 1024
    True

    Reference: none; choices by loss per byte as in
    [Shoham & Gersho, TASSP 1988](https://doi.org/10.1109/29.90373), found exactly.
    """
    size = in_bytes(budget)
    checks.integer_in("joint", joint, 1)
    checks.integer_in("samples", samples, 1)
    checks.integer_in("epochs", epochs, 0)
    if not isinstance(model, keras.Model) or not is_graph(model):
        checks.fail("model", "a functional or Sequential keras.Model that is built", model)
    parts = parts_of(model)
    if not parts:
        checks.fail("model", "a model with an Embedding or a large Dense layer", model.name)
    (x, y), others = sample(model, data, samples, seed)
    loss, choices = measured(model, parts, x, y, seed, verbose)
    best = None
    for pick in _fitting(model, parts, choices, size, joint):
        chosen, frozen, file = pick
        found = loss_of(model, frozen.model, x, y)
        if best is None or found < best[0]:
            best = found, chosen, frozen, file
    assert best is not None  # `_fitting` refuses a budget that nothing fits
    if epochs:
        best = _tuned(model, parts, best, others, (x, y), epochs, size)
    found, chosen, frozen, file = best
    names = [*(part.layer.name for part in parts), KERNELS]
    rows = [Choice(name, c.name, c.bytes, c.loss) for name, c in zip(names, chosen, strict=True)]
    few = keras.tree.map_structure(lambda array: array[:VERIFIED], x)
    return Compacted(file, frozen.model, rows, found, loss, size, frozen.verify(few, file=file))


def combinations(choices: Sequence[Sequence[Candidate]]) -> list[Pick]:
    """Picks that no other beats in bytes and in the sum of losses, the smallest first.

    >>> a, b, c = (Candidate(n, None, s, l) for n, s, l in [("a", 4, 0), ("b", 1, 2), ("c", 2, 3)])
    >>> [[one.name for one in pick] for pick in combinations([[a, b, c], [a, b]])]
    [['b', 'b'], ['b', 'a'], ['a', 'a']]
    """
    found: list[tuple[int, float, Pick]] = [(0, 0.0, ())]
    for candidates in choices:
        made = [
            (size + one.bytes, loss + one.loss, (*pick, one))
            for size, loss, pick in found
            for one in candidates
        ]
        found = []
        for entry in sorted(made, key=lambda entry: entry[:2]):
            if not found or entry[1] < found[-1][1]:
                found.append(entry)
    return [pick for _, _, pick in found]


def _fitting(
    model: keras.Model, parts: list[Part], choices: list[list[Candidate]], budget: int, joint: int
) -> list[tuple[Pick, export.Frozen, bytes]]:
    """The `joint` best combinations whose files fit, with these; at least the smallest."""
    picks = combinations(choices)
    smallest = built(model, parts, picks[0])
    over = len(smallest[2]) - _bytes(picks[0])  # graph, biases, metadata
    found: list[tuple[Pick, export.Frozen, bytes]] = []
    for pick in reversed(picks[1:]):
        if len(found) == joint:
            break
        if _bytes(pick) + over > budget:
            continue
        made = built(model, parts, pick)
        if len(made[2]) <= budget:
            found.append(made)
    if not found and len(smallest[2]) <= budget:
        found.append(smallest)
    if found:
        return found
    names = [*(part.layer.name for part in parts), KERNELS]
    sizes = ", ".join(f"{n} {c.bytes:,}" for n, c in zip(names, picks[0], strict=True))
    expected = f"at least {len(smallest[2]):,} bytes ({sizes}, the rest {over:,})"
    return checks.fail("budget", expected, budget)


def _tuned(
    model: keras.Model,
    parts: list[Part],
    best: tuple[float, Pick, export.Frozen, bytes],
    others: tuple[Any, Any],
    measured: tuple[Any, Any],
    epochs: int,
    budget: int,
) -> tuple[float, Pick, export.Frozen, bytes]:
    """A pick after fine-tuning, if its loss is lower."""
    pick = best[1]
    recipe = recipe_of(pick[-1].name)
    frozen = export.freeze(
        tuned(model, _with_forms(model, parts, pick), recipe, *others, epochs), recipe
    )
    file, loss = frozen.convert(), loss_of(model, frozen.model, *measured)
    return (loss, pick, frozen, file) if loss < best[0] and len(file) <= budget else best


def _bytes(pick: Pick) -> int:
    return sum(one.bytes for one in pick)


def built(model: keras.Model, parts: list[Part], pick: Pick) -> tuple[Pick, export.Frozen, bytes]:
    """The model with the forms of a pick, frozen, and its file.

    >>> ids = keras.Input((4,), dtype="int32")
    >>> model = keras.Model(ids, keras.layers.Embedding(500, 16)(ids))
    >>> pick = Candidate("float32", None, 32_000, 0.0), Candidate("int8", None, 0, 0.0)
    >>> len(built(model, parts_of(model), pick)[2]) > 32_000
    True
    """
    frozen = export.freeze(_with_forms(model, parts, pick), recipe_of(pick[-1].name))
    return pick, frozen, frozen.convert()


def _with_forms(model: keras.Model, parts: list[Part], pick: Pick) -> keras.Model:
    pairs = zip(parts, pick[:-1], strict=True)
    forms = {id(part.layer): part.replaced(c.form) for part, c in pairs if c.form is not None}
    return copy_with(model, lambda layer: forms.get(id(layer)))
