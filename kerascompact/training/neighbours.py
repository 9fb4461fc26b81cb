"""Nearest words by the cosine of their vectors."""

from collections.abc import Sequence

import numpy as np

from kerascompact.core import checks


class NearestWords:
    """Finds the words whose vectors have the largest cosine with a given vector.

    Args:
        words: Words to find, most frequent first; the first of equally near words wins, as does
            the nearest of a word that is listed twice.
        vectors: Vectors of the words, `(V, d)`, from a table or from `ProjectionEmbedding.vectors`.

    Raises: ValueError, if there is not one finite vector per word.

    >>> nearest = NearestWords(["king", "queen", "table"], np.array([[1, 1], [1, 2], [-1, 0]]))
    >>> nearest.of(["kingg"], np.array([[2.0, 2.0]]), top=2)
    [[('king', 1.0), ('queen', 0.9487)]]

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), Table 2.
    """

    def __init__(self, words: Sequence[str], vectors: np.ndarray) -> None:
        vectors = np.asarray(vectors)
        if vectors.ndim != 2 or len(vectors) != len(words) or not len(words):
            checks.fail("vectors", f"{len(words)} vectors (V, d), one per word", vectors)
        self.words = tuple(words)
        self.unit = _unit(checks.finite("vectors", vectors))

    def of(
        self, words: Sequence[str], vectors: np.ndarray, top: int = 6
    ) -> list[list[tuple[str, float]]]:
        """The nearest words of each vector, with their cosines, the nearest first.

        Args:
            words: Words of the vectors; a word is not its own neighbour.
            vectors: Vectors to compare, `(n, d)`.
            top: Largest number of neighbours.

        Raises: ValueError, if there is not one vector of that width per word.
        """
        checks.integer_in("top", top, 1)
        vectors = np.asarray(vectors)
        if vectors.shape != (len(words), self.unit.shape[1]):
            checks.fail("vectors", f"{len(words)} vectors of {self.unit.shape[1]}", vectors)
        found = []
        for word, vector in zip(words, _unit(checks.finite("vectors", vectors)), strict=True):
            cosines = self.unit @ vector
            near: dict[str, float] = {}
            for i in np.argsort(-cosines, kind="stable"):
                if self.words[i] != word:
                    near.setdefault(self.words[i], round(float(cosines[i]), 4))
                if len(near) == top:
                    break
            found.append([*near.items()])
        return found


def _unit(vectors: np.ndarray) -> np.ndarray:
    vectors = vectors.astype(np.float32)
    # By the largest entry first: squares of very small or large numbers are 0 or infinite.
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    vectors = vectors / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
