"""Corpus: the texts of a search as ids of all their words, from which any vocabulary follows."""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kerascompact.core.arrays import load_npz, save_npz
from kerascompact.search.tokens import Tokens, tokens_of, with_pairs
from kerascompact.text.buckets import Buckets
from kerascompact.text.rules import named
from kerascompact.text.scripts import without_spaces
from kerascompact.text.slot_vocabulary import SlotVocabulary
from kerascompact.text.token_hashes import encode_all
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary

ALL, WHOLE = -1, -2  # folds of the final training
KEPT = 2  # hashes of all tokens that are kept in memory, which long texts have many of


class Corpus:
    """Texts of train and dev, and texts without a label, as ids.

    Args:
        texts: Texts of train, then of dev, then those without a label.
        labels: Labels of train and dev, `(rows,)` or `(rows, classes)`.
        num_train: Number of texts of train.
        label_names: Names of the classes.
        folder: Where token ids are kept for other processes; `None`: nowhere.
        used: Most rows that a trial trains on, and that the final training does.
        more: Words that are known besides those of the texts, the most frequent first.

    Example:
    >>> corpus = Corpus(["turn it up", "turn it down", "up"], np.array([0, 1, 0]), 2, ("u", "d"))
    >>> corpus.tokens("wordpunct").ids.tolist()
    [[3, 2, 5], [3, 2, 4], [5, 0, 0]]
    """

    def __init__(
        self,
        texts: Sequence[str],
        labels: np.ndarray,
        num_train: int,
        label_names: Sequence[str],
        folder: Path | None = None,
        used: tuple[int, int] = (2**31, 2**31),
        more: Sequence[str] = (),
    ) -> None:
        self.used, self.more = used, more
        self.texts, self.labels = texts, np.asarray(labels)
        self.num_train, self.num_dev = num_train, len(self.labels) - num_train
        self.label_names = tuple(label_names)
        self.folder = folder
        self._tokens: dict[str, Tokens] = {}
        self._found: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def rows(self, fold: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Rows of train and of dev; fold 0 is the split as given, the others are drawn.

        The folds `ALL` and `WHOLE` are for the final training: `ALL` trains on everything, `WHOLE`
        on train; their dev is that of fold 0. Too many rows for the time are drawn from.

        >>> corpus = Corpus(["a"] * 9, np.arange(9) % 3, 6, ("x", "y", "z"))
        >>> corpus.rows()[1].tolist(), len(corpus.rows(1)[1])
        ([6, 7, 8], 3)
        """
        train, dev = self._train_and_dev(fold)
        most = self.used[fold < 0]
        if len(train) > most:
            train = np.sort(np.random.default_rng(0).permutation(train)[:most])
        return train, dev

    def _train_and_dev(self, fold: int) -> tuple[np.ndarray, np.ndarray]:
        everything = np.arange(len(self.labels))
        if fold <= 0:
            train = everything[: None if fold == ALL else self.num_train]
            return train, everything[self.num_train :]
        order = np.random.default_rng(fold).permutation(everything)
        if self.labels.ndim == 1:  # of each class in proportion: spread the classes evenly
            order = order[np.argsort(self.labels[order], kind="stable")]
            first = np.flatnonzero(np.diff(self.labels[order], prepend=-1))  # stays in train
            rest = np.delete(order, first)
        else:
            rest = order
        places = np.linspace(0, len(rest), self.num_dev, endpoint=False).astype(int)
        dev = np.unique(rest[places]) if len(rest) else everything[self.num_train :]
        return np.setdiff1d(everything, dev), dev

    @functools.cached_property
    def rules(self) -> str:
        """Token rules without pairs: words, or characters for scripts without spaces."""
        return "characters" if without_spaces(self.texts[: self.num_train]) else "wordpunct"

    @functools.cached_property
    def sequence_length(self) -> int:
        """Tokens of a text that a model reads: of 99 in 100 texts all, see `most_tokens`."""
        return max(4, self.tokens(self.rules).ids.shape[1])

    def slots(self, rules: str) -> int:
        """Ids of a text: of its tokens, and of the pairs between them."""
        return ids_of_a_text(self.sequence_length, rules)

    def tokens(self, rules: str) -> Tokens:
        """All texts as ids of the most frequent tokens of the texts but dev, at most 40,000."""
        if rules not in self._tokens:
            self._tokens[rules] = self._kept(rules) or self._made(rules)
        return self._tokens[rules]

    def encode(
        self, vocabulary: Vocabulary | Buckets, known_only: bool = False, unlabelled: bool = False
    ) -> np.ndarray:
        """Ids of all texts by a vocabulary whose words are among those of `tokens`.

        Args:
            vocabulary: The vocabulary.
            known_only: Whether unknown words are left out, which a mean of known words does not
                see, so that texts are shorter.
            unlabelled: Whether the texts without a label follow.
        """
        if isinstance(vocabulary, Buckets | SlotVocabulary):
            hashes, places = self._hashes(vocabulary)
            places = places if unlabelled else places[: len(self.labels)]
            ids = vocabulary.ids_of(hashes)[places]
            return packed(ids) if known_only else ids
        tokens = self.tokens(vocabulary.rules)
        lookup = np.ones(len(tokens.vocabulary), np.int32)
        lookup[0] = 0
        places = np.array([tokens.vocabulary.id_of(word) for word in vocabulary.words])
        lookup[places] = np.arange(NUM_RESERVED, NUM_RESERVED + len(places))
        rows = len(tokens.ids) if unlabelled else len(self.labels)
        ids = lookup[tokens.ids[:rows, : self.slots(vocabulary.rules)]]
        return packed(ids) if known_only else ids

    def _hashes(self, vocabulary: SlotVocabulary | Buckets) -> tuple[np.ndarray, np.ndarray]:
        """A vocabulary's hashes of all tokens, each once, and where each token's is among them.

        Many tokens are equal, and a search asks for the ids of all texts again in each trial.
        Vocabularies have one of several seeds: only those asked for last are kept in memory.

        Returns: int32 `(hashes,)`, and int32 `(rows, slots)`, 0 behind the last token, for hash 0.
        """
        rules = vocabulary.rules
        key = f"token-hashes-{rules}-{vocabulary.seed}"
        if key not in self._found:
            path = None if self.folder is None else self.folder / f"{key}.npz"
            if path is not None and path.exists():
                arrays = load_npz(path)
                self._found[key] = arrays["hashes"], arrays["places"]
            else:
                of_texts, slots = vocabulary.hashes_of_texts, self.slots(rules)
                places = encode_all(self.texts, slots, of_texts, lambda found: found)
                there = places != 0
                hashes, places[there] = np.unique(places[there], return_inverse=True)
                places[there] += 1
                self._found[key] = np.append(np.int32(0), hashes), places
                if path is not None:
                    save_npz(path, hashes=self._found[key][0], places=places)
        self._found[key] = self._found.pop(key)  # the last one asked for
        for old in [*self._found][:-KEPT]:
            del self._found[old]
        return self._found[key]

    @property
    def _counted(self) -> np.ndarray:
        """Mask of the texts whose words are counted: all but dev, which stands for new texts."""
        mask = np.ones(len(self.texts), bool)
        mask[self.num_train : len(self.labels)] = False
        return mask

    def _made(self, rules: str) -> Tokens:
        if named(rules).pairs:
            found = with_pairs(self.tokens(rules.removesuffix("_pairs")), self._counted, rules)
        else:
            found = tokens_of(self.texts, self._counted, rules, self.more)
        if self.folder is not None:
            path = self.folder / f"tokens-{rules}.npz"
            found.vocabulary.save(path.with_suffix(".txt"))
            save_npz(path, ids=found.ids, counts=found.counts)
        return found

    def _kept(self, rules: str) -> Tokens | None:
        path = None if self.folder is None else self.folder / f"tokens-{rules}.npz"
        if path is None or not path.exists():
            return None
        arrays = load_npz(path)
        vocabulary = Vocabulary.load(path.with_suffix(".txt"))
        return Tokens(vocabulary, arrays["ids"], arrays["counts"])


def ids_of_a_text(words: int, rules: str) -> int:
    """Ids of a text of so many words: one for each, and one for each pair of neighbours.

    >>> ids_of_a_text(5, "wordpunct"), ids_of_a_text(5, "wordpunct_pairs")
    (5, 9)
    """
    return 2 * words - 1 if named(rules).pairs else words


def packed(ids: np.ndarray) -> np.ndarray:
    """Moves the known words of each row to its left; what is as wide as the longest row is left.

    >>> packed(np.array([[1, 5, 1, 3], [1, 1, 1, 1]])).tolist()
    [[5, 3], [0, 0]]
    """
    known = ids >= NUM_RESERVED
    counts = known.sum(axis=1)
    width = max(1, int(counts.max(initial=0)))
    result = np.zeros((len(ids), width), ids.dtype)
    result[np.arange(width) < counts[:, None]] = ids[known]
    return result
