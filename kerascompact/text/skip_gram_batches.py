"""Batches of skip-gram pairs for `model.fit`, drawn anew in every epoch."""

from typing import Any

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.text.skip_gram import keep_probabilities, skip_gram_pairs, subsample


class SkipGramBatches(keras.utils.PyDataset):
    """Batches `(words, contexts)` of a text; each epoch draws other pairs.

    The text is read in chunks, and the pairs of a chunk are shuffled: call `fit` with
    `shuffle=False`, or a text of several chunks is dealt anew for nearly every batch. The order
    decides the cost of a step, for a model that computes the vector of each *distinct* word of a
    batch:

    - `by_word=False`: pairs in any order, as in the paper; most words of a small batch differ.
    - `by_word=True`: words in any order, each with all its pairs in the chunk. An epoch then
      computes each word once per chunk: with expensive vectors, such as projections, several times
      more pairs per second, with fewer and more accurate gradients.

    Args:
        ids: Text, integers `(n,)` below `len(counts)`.
        counts: How often each word occurs, `(V,)`; words with count 0 are left out.
        batch_size: Number of pairs in a batch; the mean number, if `by_word`.
        window: Largest window, in words.
        threshold: Share of the text above which words are left out at random
            (`keep_probabilities`).
        texts: Number of the text of each word; `None`: one text.
        by_word: Whether a batch groups pairs by word, see above.
        chunk: Number of words in a chunk, before any are left out.
        seed: Seed of all draws. They depend on nothing but the seed, the epoch and the chunk.
        first_epoch: Number of the first epoch, to continue a training.
        **kwargs: Arguments of `keras.utils.PyDataset`.

    Shapes: words and contexts int32 `(batch_size,)`; of varying length, if `by_word`.
    Raises: ValueError, if an argument is out of its range, or the text has no pair.
    Example:
    >>> batches = SkipGramBatches(np.array([0, 1, 2, 1, 0] * 20), np.array([40, 40, 20]), 16,
    ...                           window=2, threshold=1.0)
    >>> len(batches), [part.shape for part in batches[0]]
    (19, [(16,), (16,)])

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.1 and 3.
    Differs: a batch is full: to reach a whole number of batches, some pairs of a chunk are used
    twice, or not at all.
    """

    def __init__(
        self,
        ids: np.ndarray,
        counts: np.ndarray,
        batch_size: int = 1024,
        *,
        window: int = 5,
        threshold: float = 1e-5,
        texts: np.ndarray | None = None,
        by_word: bool = False,
        chunk: int = 1_000_000,
        seed: int = 0,
        first_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.keep = keep_probabilities(counts, threshold)
        self.ids = checks.ids_below("ids", ids, len(self.keep)).astype(np.int32, copy=False)
        self.batch_size = checks.integer_in("batch_size", batch_size, 1)
        self.window = checks.integer_in("window", window, 1)
        if texts is not None and len(texts) != len(self.ids):
            checks.fail("texts", f"{len(self.ids)} numbers, as many as the ids", texts)
        self.texts = texts
        self.by_word = checks.boolean("by_word", by_word)
        self.seed = checks.integer_in("seed", seed, 0)
        self.epoch = checks.integer_in("first_epoch", first_epoch, 0)
        size = checks.integer_in("chunk", chunk, 1)
        count = max(1, round(len(self.ids) / size))
        edges = np.linspace(0, len(self.ids), count + 1).astype(int)
        self.chunks = [slice(*edges[place : place + 2]) for place in range(count)]
        drawn = [self.pairs(0, place)[0] for place in range(count)]
        found = [len(words) for words in drawn]
        if not sum(found):
            raise ValueError(
                "`ids` must have two words that stay, next to each other. "
                f"Received: {len(self.ids)} words, none of which gives a pair."
            )
        self.steps = [max(1, round(pairs / self.batch_size)) if pairs else 0 for pairs in found]
        if self.by_word:  # no batch of fewer than two words
            different = [max(1, len(np.unique(words)) // 2) for words in drawn]
            self.steps = [min(pair) for pair in zip(self.steps, different, strict=True)]
        self.first = np.concatenate([[0], np.cumsum(self.steps)])  # step of each chunk
        self.held: tuple[tuple[int, int], Any] | None = None

    def pairs(self, epoch: int, place: int) -> tuple[np.ndarray, np.ndarray]:
        """All pairs of a chunk in an epoch, not shuffled."""
        random = np.random.default_rng([self.seed, epoch, place])
        texts = None if self.texts is None else self.texts[self.chunks[place]]
        ids, texts = subsample(self.ids[self.chunks[place]], self.keep, random, texts)
        return skip_gram_pairs(ids, self.window, random, texts)

    def __len__(self) -> int:
        return int(self.first[-1])

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Batch `index` of the epoch, in any order of access; fast if that is chunk by chunk."""
        place = int(np.searchsorted(self.first, index, "right")) - 1
        held = self.held  # another worker of Keras may hold another chunk meanwhile
        if held is None or held[0] != (self.epoch, place):
            held = self.held = (self.epoch, place), self._dealt(place)
        words, contexts, starts, stops = held[1]
        step = index - int(self.first[place])
        part = slice(starts[step], stops[step])
        return words[part], contexts[part]

    def _dealt(self, place: int) -> tuple[np.ndarray, ...]:
        """The pairs of a chunk in the order of its batches, and the bounds of the batches."""
        words, contexts = self.pairs(self.epoch, place)
        if not len(words):  # of a tiny text, in an epoch that leaves out most of it
            words, contexts = self.pairs(0, place)
        random = np.random.default_rng([self.seed, self.epoch, place, 1])
        steps = self.steps[place]
        if not self.by_word:
            total = steps * self.batch_size
            order = np.resize(random.permutation(len(words)), total)
            edges = np.arange(0, total + 1, self.batch_size)
            return words[order], contexts[order], edges[:-1], edges[1:]
        different, number = np.unique(words, return_inverse=True)
        # each word gets a random place in the order, and takes all of its pairs there
        rank = random.permutation(len(different))
        at = rank[number]
        order = np.argsort(at, kind="stable")
        bounds = np.linspace(0, len(different), steps + 1).astype(int)
        stops = np.maximum(bounds[1:], bounds[:-1] + 1)  # at least one word, in any epoch
        begins, ends = (np.searchsorted(at[order], ranks) for ranks in (bounds[:-1], stops))
        return words[order], contexts[order], begins, ends

    def on_epoch_end(self) -> None:
        self.epoch += 1
