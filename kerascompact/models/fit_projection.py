"""Distillation of word vectors into a projection, which needs no table and no vocabulary."""

from collections.abc import Collection, Sequence
from random import Random
from typing import Any

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.core.projection import Projection
from kerascompact.layers.bit_cache import BitCache
from kerascompact.layers.embeddings.projection import ProjectionEmbedding
from kerascompact.text import inputs
from kerascompact.text.ngrams import projection_bits
from kerascompact.text.perturb import perturb

_STEPS = 300  # of an epoch


def fit_projection(
    embedding: ProjectionEmbedding,
    words: Sequence[str],
    vectors: Any,
    counts: Any = None,
    *,
    lengths: bool = False,
    power: float = 0.5,
    epochs: int = 10,
    batch_size: int = 512,
    learning_rate: float = 2e-3,
    misspelt: float = 0.0,
    held_out: Collection[str] = (),
    seed: int = 0,
    verbose: Any = "auto",
) -> keras.callbacks.History:
    """Trains a projection to give the vectors of a table, by least squares.

    The mean of `||v(w) - s e_w||^2 / d` over words `w`, drawn in proportion to `count(w)^power`,
    `e_w` the row of the table, by Adam with a rate that falls to zero. `s` gives `e_w` the length
    `sqrt(d)`, entries of about 1, so that long vectors do not dominate
    (the length 1, where the layer's normalization is "l2"). A layer with `whitening` adapts to the
    words first, see `ProjectionEmbedding.adapt`.

    With `misspelt`, a share of the words that are drawn come misspelt (`text.perturb.perturb`),
    anew each time, with the vector of the word that is meant: `v(kingg)` then learns to be near
    `s e_king`. The result is a start: train it further in a task, or by `SkipGram`.

    Args:
        embedding: A layer for single words, built or not.
        words: Word of each row of the table, `str`.
        vectors: The table `(V, d)`, `d` the layer's `output_dim`: word2vec's, GloVe's, your own.
        counts: How often each word occurs, `(V,)`; `None`: all words equally often.
        lengths: Whether vectors keep their lengths: `s` then is one number, for a mean of
            `sqrt(d)`. Not with "l2".
        power: Exponent of the counts: 1 draws words as often as a text has them, 0 uniformly.
        epochs: Number of epochs, each of 300 steps.
        batch_size: Number of words in a step.
        learning_rate: Learning rate at the start.
        misspelt: Share of the draws that come misspelt. A word stays as it is where its misspelling
            is another of `words`.
        held_out: Misspellings that are never drawn, to measure with.
        seed: Seed of the draws.
        verbose: Verbosity, as `fit` takes it.

    Returns: Keras' history.

    Raises: ValueError, if an argument is wrong, or words, vectors and counts do not fit each other.
    Example:
    >>> embedding = ProjectionEmbedding(2, hidden_units=(16,))
    >>> table = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> history = fit_projection(embedding, ["king", "queen"], table, epochs=1, verbose=0)
    >>> embedding.vectors(["king", "kingg"]).shape
    (2, 2)

    Reference: the layer is that of [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605).
    Differs: the paper trains it by skip-gram from the start.
    """
    table, counts = _checked(embedding, words, vectors, counts)
    targets = _targets(table, embedding.normalization, checks.boolean("lengths", lengths))
    shares = np.cumsum(counts ** checks.number("power", power, at_least=0))
    size = checks.integer_in("batch_size", batch_size, 1)
    seed = checks.integer_in("seed", seed, 0)
    if checks.number("misspelt", misspelt, at_least=0, up_to=1):
        words = inputs.strings("words", words)
    kept = {*words, *inputs.strings("held_out", held_out)}
    drawn = _Drawn(
        words, embedding.projection, shares / shares[-1], targets, size, seed, misspelt, kept
    )
    steps = checks.integer_in("epochs", epochs, 1) * len(drawn)
    start = checks.number("learning_rate", learning_rate, above=0)
    rate = keras.optimizers.schedules.PolynomialDecay(start, steps, 0.0)
    if embedding.whitening:
        embedding.adapt(words, counts, power=power)
    bits = keras.Input((embedding.projection.num_bits,), dtype="uint8")
    model = keras.Model(bits, embedding(bits))
    model.compile(keras.optimizers.Adam(rate), "mse")
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    return model.fit(drawn, epochs=epochs, verbose=verbose)


def _checked(
    embedding: Any, words: Sequence[str], vectors: Any, counts: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The table, and counts, both float64."""
    if not isinstance(embedding, ProjectionEmbedding) or embedding.together:
        checks.fail("embedding", "a ProjectionEmbedding of single words", embedding)
    table = np.asarray(vectors, np.float64)
    if table.ndim != 2 or table.shape[1] != embedding.output_dim or not len(table):
        shape = f"an array (V, {embedding.output_dim}), as wide as the layer"
        checks.fail("vectors", shape, table.shape)
    checks.finite("vectors", table)
    if len(words) != len(table):
        checks.fail("words", f"{len(table)} words, one for each vector", len(words))
    counts = np.ones(len(table)) if counts is None else np.asarray(counts, np.float64)
    checks.finite("counts", counts)
    if counts.shape != (len(table),) or counts.min() < 0 or not counts.any():
        checks.fail("counts", f"{len(table)} numbers >= 0, not all 0", counts)
    return table, counts


def _targets(table: np.ndarray, normalization: str | None, lengths: bool) -> np.ndarray:
    each = np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    if normalization != "l2":
        scale = table.shape[1] ** 0.5 / (each.mean() if lengths else each)
    elif lengths:
        checks.fail("lengths", "False for a layer that normalizes them", lengths)
    else:
        scale = 1 / each
    return np.asarray(scale * table, np.float32)


class _Drawn(keras.utils.PyDataset):
    """Batches of bits of words with their target vectors; no misspelling is one of `kept`."""

    def __init__(
        self,
        words: Sequence[str],
        projection: Projection,
        shares: np.ndarray,
        targets: np.ndarray,
        batch_size: int,
        seed: int,
        misspelt: float = 0.0,
        kept: Collection[str] = (),
    ) -> None:
        super().__init__()
        self.words, self.projection = words, projection
        self.misspelt = misspelt
        self.kept = {self._as_read(word) for word in kept} if misspelt else set()
        self.packed = BitCache.from_words(words, projection).packed.numpy()
        self.shares, self.targets, self.batch_size = shares, targets, batch_size
        self.seed, self.epoch = seed, 0

    def __len__(self) -> int:
        return _STEPS

    def on_epoch_end(self) -> None:
        self.epoch += 1

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng([self.seed, self.epoch, index])
        ids = np.searchsorted(self.shares, random.random(self.batch_size), "right")
        bits = np.unpackbits(self.packed[ids], axis=1, count=self.projection.num_bits)
        changed = self.misspellings(ids, Random(f"{self.seed} {self.epoch} {index}"))
        if changed:
            bits[list(changed)] = projection_bits(list(changed.values()), self.projection)
        return bits, self.targets[ids]

    def misspellings(self, ids: np.ndarray, random: Random) -> dict[int, str]:
        """Misspellings of some of the words with these ids, by place."""
        if not self.misspelt:
            return {}
        spelt = [perturb(self.words[id], random, self.misspelt) for id in ids]
        new = [self._as_read(word) not in self.kept for word in spelt]
        return {place: word for place, word in enumerate(spelt) if new[place]}

    def _as_read(self, word: str) -> bytes:
        """The bytes of a word as the projection reads them: "Bill" may be a misspelt "bil"."""
        return word.encode().lower() if self.projection.lower else word.encode()
