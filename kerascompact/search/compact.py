"""compact: any trained model, stored within a budget of bytes."""

from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.keras_graph import is_graph
from kerascompact.search.budget import in_bytes
from kerascompact.search.compacted import Compacted
from kerascompact.search.plan import Plan


def compact(
    model: keras.Model,
    budget: int | str,
    data: tuple[Any, Any],
    *,
    epochs: int = 0,
    samples: int = 512,
    joint: int = 4,
    sequence_length: int | None = None,
    seed: int = 0,
    verbose: bool = True,
) -> Compacted:
    """Stores a trained model in a file within a budget, at the least loss found.

    Each table of a Keras embedding (a tied one once) and each large dense kernel is stored in
    several settings of scalar and product quantization, low rank, clusters, KD codes, k-SVD,
    sparse codes and pruning, one at a time, and the loss measured; so are the other kernels of each
    layer as int8. Combinations are ordered by the sum of these losses; the first `joint` whose
    files fit are measured together, and the best is fine-tuned, if `epochs` says so. Losses are
    those on the data, without the penalties of regularizers.

    Compact embeddings that are trained, as of `kerascompact.layers`, and a `ReversibleEmbedding`
    with a head of its own stay float32: `export.convert` with a recipe, such as "int4", makes
    smaller files of them.

    Args:
        model: Functional or Sequential model, built; it is not changed. Without a compiled
            loss, the loss is the mean squared distance to its own outputs.
        budget: Bytes of the file, such as `"400KiB"`, see `search.budget.in_bytes`.
        data: A pair of inputs and targets: arrays, or lists of numbers, with a row for each
            example; several inputs or outputs in the structure that `model.evaluate` takes.
        epochs: Epochs of fine-tuning with the rounded numbers of the file, on the examples that no
            loss is measured on, or on all, if those are fewer; with the model's own optimizer, loss
            and rate, which falls to zero. The result is kept only if the loss is lower. 0: none.
        samples: Number of examples, the first after a shuffle, on which losses are measured.
        joint: Number of combinations that are converted and measured.
        sequence_length: Length of the file's inputs, where the model leaves it open. Default: it
            stays open, which some models (Gemma of KerasHub) cannot be converted with.
        seed: Seed of the sample and of k-means.
        verbose: Whether to show progress.

    Returns: A `Compacted`, whose file is never over the budget. Its inner tensors have the names of
        `export.convert` if these fit, else none.

    Raises: ValueError, if an argument is wrong, the model cannot be converted, or the budget is
        below the smallest file found; the error names the bytes of its parts.

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
    checks.seed(seed)
    if not isinstance(model, keras.Model) or not is_graph(model):
        checks.fail("model", "a functional or Sequential keras.Model that is built", model)
    plan = Plan.of(model, data, samples, sequence_length, seed, verbose)
    return plan.within(size, joint, epochs)
