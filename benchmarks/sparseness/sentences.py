"""Tagged sentences as numbers, and batches of them for training."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data.tagged import TaggedCorpus, TaggedSplit
from kerascompact.core import checks
from kerascompact.text.length_batches import LengthBatches
from kerascompact.text.vocabulary import Vocabulary

UNKNOWN = 1


class TagIds(NamedTuple):
    """One split: `ids` and `tags` int32 `(sentences, length)`, both 0 behind a sentence."""

    ids: np.ndarray
    tags: np.ndarray

    @property
    def words(self) -> np.ndarray:
        """Which places hold a word."""
        return self.ids != 0


class TagData(NamedTuple):
    """A tagging set as numbers, with the vocabulary that made them.

    `once[id]`: whether the training split has the word only once.
    """

    name: str
    vocabulary: Vocabulary
    tag_names: tuple[str, ...]
    once: np.ndarray
    train: TagIds
    dev: TagIds
    test: TagIds


def encode(corpus: TaggedCorpus) -> TagData:
    """Numbers the words of the training split, most frequent first; all others are unknown.

    Words stay as they are written: a capital is a part of speech's best sign.
    """
    counts = Counter(word for words in corpus.train.words for word in words)
    vocabulary = Vocabulary.from_counts(counts, rules="whitespace")
    once = np.zeros(len(vocabulary), bool)
    once[[vocabulary.id_of(word) for word, count in counts.items() if count == 1]] = True
    splits = [_ids(split, vocabulary) for split in (corpus.train, corpus.dev, corpus.test)]
    return TagData(corpus.name, vocabulary, corpus.tag_names, once, *splits)


def _ids(split: TaggedSplit, vocabulary: Vocabulary) -> TagIds:
    shape = (len(split.words), max(map(len, split.words)))
    ids, tags = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for row, (words, numbers) in enumerate(zip(split.words, split.tags, strict=True)):
        ids[row, : len(words)] = [vocabulary.id_of(word) for word in words]
        tags[row, : len(words)] = numbers
    return TagIds(ids, tags)


class SentenceBatches(LengthBatches):
    """Shuffled batches of ids, tags and weights, 0 for padding, each as long as its sentences.

    A word that the training split has only once is an unknown word in a part of the epochs, so that
    there is a vector for those: which ones is drawn for each batch.

    Args:
        split: The training split.
        batch_size: Sentences per batch.
        once: From `TagData`.
        unknown: Share of the places of such words that become unknown.
        seed: Of shuffle and draw.

    >>> split = TagIds(np.array([[2, 3], [2, 0]]), np.array([[5, 6], [7, 0]]))
    >>> batches = SentenceBatches(split, 2, np.array([0, 0, 0, 1], bool), unknown=1.0)
    >>> sorted(batches[0][0].tolist()), batches[0][2].sum()
    ([[2, 0], [2, 1]], np.float32(3.0))
    """

    def __init__(
        self,
        split: TagIds,
        batch_size: int,
        once: np.ndarray,
        unknown: float = 0.5,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        self.once = once
        self.unknown = checks.number("unknown", unknown, at_least=0, up_to=1)
        self.draws = np.random.default_rng([seed, 1])
        # One trace serves all lengths: Keras is told that they vary.
        super().__init__(split.ids, split.tags, batch_size, num_buckets=40, seed=seed, **kwargs)

    def __getitem__(self, index: int) -> tuple[np.ndarray, ...]:  # type: ignore[override]
        rows, length = self.batches[index]
        ids = self.ids[rows, :length]
        weights = (ids != 0).astype(np.float32)
        hidden = self.once[ids] & (self.draws.random(ids.shape) < self.unknown)
        return np.where(hidden, np.int32(UNKNOWN), ids), self.labels[rows, :length], weights
