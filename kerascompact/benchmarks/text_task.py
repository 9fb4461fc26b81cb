"""A text classification task: data as ids, an embedding by name, training with dev selection."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact import layers, models
from kerascompact.benchmarks.batches import LengthBatches
from kerascompact.core import checks
from kerascompact.datasets.base import Dataset
from kerascompact.initializers import CommonCode
from kerascompact.optimizers import LazyAdam, Proximal
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary

CODED: dict[str, Callable[..., keras.layers.Layer]] = {
    "kd": layers.KDCodeEmbedding,
    "dpq": layers.DPQEmbedding,
    "compositional": layers.CompositionalCodeEmbedding,
}
VARIATIONAL: dict[str, Callable[..., keras.layers.Layer]] = {
    "vvd": layers.VariationalVocabularyEmbedding,
    "sparse_vd": layers.SparseVariationalEmbedding,
    "sparse_vd_voc": layers.SparseVariationalVocabularyEmbedding,
}
SHORT = {
    "standard": "SE",
    "cluster": "CE",
    "adjustment": "CAE",
    "mixture": "ME",
    "low_rank": "LR",
    "quantized": "QE",
    "kd": "KD",
    "dpq": "DPQ",
    "compositional": "CC",
    "selected": "VS",
    "group_lasso": "GL",
    "vvd": "VVD",
    "sparse_vd": "SVD",
    "sparse_vd_voc": "SVDV",
    "tensor_train": "TT",
    "hashed": "HE",
    "predefined_sparse": "PS",
    "projection": "NP",
}
METHODS = tuple(SHORT)
MODELS: dict[str, Callable[..., keras.Model]] = {
    "cnn": models.text_cnn,
    "lstm": models.lstm_classifier,
    "mean": models.mean_classifier,
}


class Coded(NamedTuple):
    """One split as numbers: `ids` int32 `(rows, length)`, `labels` int32 `(rows,)`."""

    ids: np.ndarray
    labels: np.ndarray


class TextData(NamedTuple):
    """A data set as numbers, with the vocabulary that made them."""

    name: str
    vocabulary: Vocabulary
    label_names: tuple[str, ...]
    train: Coded
    dev: Coded
    test: Coded


def encode(
    dataset: Dataset,
    size: int | None,
    length: int,
    rules: str = "wordpunct",
    every_split: bool = False,
) -> TextData:
    """Counts the training split's words and turns every split into ids.

    Args:
        dataset: From `kerascompact.datasets`.
        size: Vocabulary size, padding and unknown word included; `None`: all words.
        length: Tokens per text; longer texts are cut, shorter ones padded with 0 at the end.
        rules: Token rules.
        every_split: Whether the words of dev and test are counted as well: for models that learn
            nothing of a word by its id, and whose ids only stand for its bits (`BitCache`).
    """
    splits = (dataset.train, dataset.dev, dataset.test) if every_split else (dataset.train,)
    texts = [text for split in splits for text in split.texts]
    return encode_by(Vocabulary.build(texts, size=size, rules=rules), dataset, length)


def encode_by(vocabulary: Vocabulary, dataset: Dataset, length: int) -> TextData:
    """Turns every split into ids of a vocabulary that is there."""
    coded = [
        Coded(vocabulary.encode_all(split.texts, length), np.asarray(split.labels, np.int32))
        for split in (dataset.train, dataset.dev, dataset.test)
    ]
    return TextData(dataset.name, vocabulary, tuple(dataset.label_names), *coded)


def build_embedding(
    method: str,
    input_dim: int,
    width: int,
    clusters: int = 50,
    unique: int = 300,
    adjustment: int = 1,
    scale: float | None = None,
    **options: Any,
) -> Callable[[Any], Any]:
    """An embedding by its method's name, for ids from a `Vocabulary`, padding masked.

    `width` is the paper's `m`: the cluster's width in "adjustment", whose output has `adjustment`
    columns more; `scale` is the clusters' `logit_scale`. "standard" is the stock
    `keras.layers.Embedding`, which starts at U(-`start`, `start`); "low_rank" takes `ratio`, its
    share of that one's parameters; codes ("kd", "dpq", "compositional") take `cardinality` and
    `code_length`, "kd" a `margin` of the common code that all words start with, "quantized" `bits`,
    "group_lasso" `strength`, "vvd", "sparse_vd" and "sparse_vd_voc" `kl_weight`, "tensor_train"
    `ratio`, "hashed" `buckets`, "predefined_sparse" `density`; "selected" and "hashed" have vectors
    for the `unique` first words. "projection" takes a `vocabulary`, whose words' bits it looks up,
    and `hidden` units; it is no layer but a function of two (`BitCache`, `ProjectionEmbedding`).

    >>> build_embedding("mixture", 1000, 8)(np.array([3])).shape
    TensorShape([1, 8])
    """
    checks.choice("method", method, METHODS)
    options = {"mask_zero": True, "name": "embedding", **options}
    if method == "standard":
        bound = options.pop("start", 0.1)  # as the compact layers
        start = keras.initializers.RandomUniform(-bound, bound)
        return keras.layers.Embedding(input_dim, width, embeddings_initializer=start, **options)
    if "margin" in options:
        margin = options.pop("margin")
        options["logits_initializer"] = CommonCode(options["cardinality"], margin)
    if method in CODED:
        return CODED[method](input_dim, width, **options)
    if method in VARIATIONAL:
        return VARIATIONAL[method](input_dim, width, **options)
    if method == "selected":
        chosen = np.arange(NUM_RESERVED, NUM_RESERVED + unique)
        return layers.SelectedEmbedding(input_dim, width, chosen, **options)
    if method == "group_lasso":
        return layers.GroupLassoEmbedding(input_dim, width, **options)
    if method == "tensor_train":
        rank = layers.TensorTrainEmbedding.rank_for(input_dim, width, options.pop("ratio"))
        return layers.TensorTrainEmbedding(input_dim, width, rank, **options)
    if method == "hashed":
        options |= dict(num_frequent=unique, num_reserved=NUM_RESERVED)
        return layers.HashEmbedding(input_dim, width, options.pop("buckets"), **options)
    if method == "projection":
        vocabulary, hidden = options.pop("vocabulary"), options.pop("hidden")
        projected = layers.ProjectionEmbedding(width, (hidden,), **options)
        cache = layers.BitCache.from_vocabulary(vocabulary, projected.projection, name="bits")
        return lambda ids: projected(cache(ids))
    if method == "predefined_sparse":
        return layers.PredefinedSparseEmbedding(input_dim, width, **options)
    if method == "quantized":
        return layers.QuantizedEmbedding(input_dim, width, **options)
    if method == "low_rank":
        rank = layers.LowRankEmbedding.rank_for(input_dim, width, options.pop("ratio"))
        return layers.LowRankEmbedding(input_dim, width, rank, **options)
    if scale is not None:
        options["logit_scale"] = scale
    if method == "cluster":
        return layers.ClusterEmbedding(input_dim, width, clusters, **options)
    if method == "adjustment":
        return layers.ClusterAdjustmentEmbedding(
            input_dim, width + adjustment, clusters, adjustment_dim=adjustment, **options
        )
    return layers.MixtureEmbedding(
        input_dim, width, clusters, unique, num_reserved=NUM_RESERVED, **options
    )


def optimizer_of(method: str) -> Callable[..., keras.optimizers.Optimizer]:
    """What makes the optimizer that `train` takes: with proximal steps, if the method needs them.

    >>> type(optimizer_of("group_lasso")(0.01)).__name__
    'ProximalAdam'
    """
    if method != "group_lasso":
        return LazyAdam
    return lambda *arguments, **options: Proximal(LazyAdam(*arguments, **options))


def logit_scale(learning_rate: float) -> float:
    """The scale at which cluster logits move by 0.05 per step, see `ClusterEmbedding`.

    On CLINC150's dev split it gave 0.909; 0.02, 0.1 and 0.3 gave 0.901, 0.907 and 0.904 (one seed
    each).

    >>> logit_scale(0.01)
    5.0
    """
    return 0.05 / learning_rate


def train(
    model: keras.Model,
    data: TextData,
    *,
    epochs: int,
    batch_size: int = 32,
    learning_rate: float = 1e-3,
    seed: int = 0,
    **options: Any,
) -> dict[str, list[float]]:
    """Trains on the batches of a task, see `fit`, which takes `options`."""
    batches = LengthBatches(data.train.ids, data.train.labels, batch_size, seed=seed)
    dev = data.dev.ids, data.dev.labels
    return fit(model, batches, dev, epochs=epochs, learning_rate=learning_rate, **options)


def fit(
    model: keras.Model,
    batches: keras.utils.PyDataset,
    dev: tuple[np.ndarray, np.ndarray],
    *,
    epochs: int,
    learning_rate: float,
    jit_compile: bool = False,
    verbose: int = 0,
    callbacks: Any = (),
    optimizer: Callable[..., keras.optimizers.Optimizer] = LazyAdam,
    start_from_epoch: int = 0,
) -> dict[str, list[float]]:
    """Trains and keeps the weights of the epoch that is best on dev.

    The learning rate falls linearly to zero over the epochs: without that the dev accuracy of an
    LSTM jumps by two points from epoch to epoch, for every method alike. The optimizer is the
    same for every method: stock Keras 3 Adam is another optimizer on embeddings than on dense
    tables (see `kerascompact.optimizers.LazyAdam`). Another `optimizer`, such as one that takes
    proximal steps, is called with the rate and `global_clipnorm`. `start_from_epoch` leaves that
    many epochs out of the choice: those in which a penalty has not made its zeros yet.

    Returns: The history of `fit`, dev accuracies under "val_accuracy".
    """
    rate = keras.optimizers.schedules.PolynomialDecay(learning_rate, epochs * len(batches), 0.0)
    model.compile(
        optimizer(rate, global_clipnorm=10.0),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=jit_compile,
    )
    keep = keras.callbacks.EarlyStopping(
        "val_accuracy",
        mode="max",
        patience=epochs,
        restore_best_weights=True,
        start_from_epoch=start_from_epoch,
    )
    history = model.fit(
        batches,
        epochs=epochs,
        validation_data=dev,
        validation_batch_size=500,
        callbacks=[keep, *callbacks],
        verbose=verbose,
    )
    return history.history
