"""Settings of the LSH projection from a word to bits, the same in NumPy, TensorFlow and apps."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.hash32 import STEP, fmix32

START, END = 2, 3  # the bytes around a word; no text has these control characters


@dataclass(frozen=True)
class Projection:
    """The settings of a locality-sensitive hash of words: `T d` signs of sums over n-grams.

    A word is its UTF-8 bytes, cut after `max_word_bytes`, `A-Z` as `a-z`, between two marks. Its
    features `f` are all its n-grams of bytes `c_1 ... c_n`, as often as they are there. With
    `T d = a b`, the factors nearest to each other, bit `(s, j)` of `a` times `b` is

    `[sum_f p_s(f) q_j(f) > 0]`, `p_s(f) = (256 C_s h(f)) >> 24`, `q_j(f) = sign(256 D_j h(f))`,
    `h = fmix32(r_n)`, `r_k = 0x9E3779B1 r_{k-1} + c_k + 0x7F4A7C15 k`, `r_0 = 0`,

    in int32 that wraps, the shift arithmetic. So a feature's place on a hyperplane is a product of
    a number in `[-128, 127]` and a sign: all sums of a word are one product of two small matrices,
    and no hyperplane is stored. `C` and `D` are the first `a` and the next `b` of `fmix32(i) | 1`,
    `i = 1, 2, ...`. For one `j`, the hyperplanes of all `s` are independent. The sums are exact in
    float32 up to 2^17 features, since `256 C h` has 24 significant bits. A word without bytes has
    no marks, no features, and bits that are all 0; hardly any other word has those.

    Args:
        num_projections: `T`.
        projection_dim: `d`, bits of a projection. Only `T d` matters here.
        ngrams: Shortest and longest n-gram, marks counted. Of (1, 3), (1, 5) and (2, 4) the first
            found most of 1,000 misspelt words among 8,000 of Penn Treebank, by bits (88, 82 and
            80 %) and by vectors that a random network and ridge regression made of bits (20, 13 and
            16 %), which fitted as well.
        max_gap: Pairs of bytes with 1 to so many bytes between them are features, too (skip-grams).
        lower: Whether `A-Z` are folded.
        boundaries: Whether there are marks.
        max_word_bytes: Bytes of a word that count, at most 255.
        seed: Seed of the random hyperplanes.

    Raises: ValueError, for a wrong argument.

    >>> projection = Projection()
    >>> projection.num_bits
    1120

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.2 and 3.2,
    after [Ravi, 2017](https://arxiv.org/abs/1708.00630) and
    [Charikar, STOC 2002](https://doi.org/10.1145/509907.509965).
    Differs: the paper names neither its n-grams nor its hash; these are ours. Entries of
    hyperplanes are products of a uniform number and a sign, not normal.
    """

    num_projections: int = 80
    projection_dim: int = 14
    ngrams: Sequence[int] = (1, 3)
    max_gap: int = 0
    lower: bool = True
    boundaries: bool = True
    max_word_bytes: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("num_projections", 1, 2**16),
            ("projection_dim", 1, 2**16),
            ("max_gap", 0, 16),
            ("max_word_bytes", 1, 255),
            ("seed", 0, None),
        ):
            object.__setattr__(self, name, checks.integer_in(name, getattr(self, name), low, high))
        for name in ("lower", "boundaries"):
            object.__setattr__(self, name, checks.boolean(name, getattr(self, name)))
        if not isinstance(self.ngrams, Sequence) or len(self.ngrams) != 2:
            checks.fail("ngrams", "two lengths, the shortest and the longest", self.ngrams)
        low = checks.integer_in("ngrams[0]", self.ngrams[0], 1, 16)
        object.__setattr__(
            self, "ngrams", (low, checks.integer_in("ngrams[1]", self.ngrams[1], low, 16))
        )

    @property
    def num_bits(self) -> int:
        """`T d`."""
        return self.num_projections * self.projection_dim

    @property
    def marks(self) -> int:
        """How many bytes a word gets on top of its own."""
        return 2 if self.boundaries else 0

    @property
    def fewest_bytes(self) -> int:
        """Bytes of the shortest word that has a feature: a shorter one has no bits, as padding.

        >>> Projection().fewest_bytes, Projection(ngrams=(3, 4), boundaries=False).fewest_bytes
        (1, 3)
        """
        units = min(self.ngrams[0], 3) if self.max_gap else self.ngrams[0]
        return max(1, units - self.marks)

    @property
    def sides(self) -> tuple[int, int]:
        """How many `p` and `q` a feature has: the two factors of `T d` nearest its root."""
        root = math.isqrt(self.num_bits)
        low = next(n for n in range(root, 0, -1) if self.num_bits % n == 0)
        return self.num_bits // low, low

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """`256 C_s` and `256 D_j`, int32 of the lengths `sides`."""
        numbers = np.arange(1, sum(self.sides) + 1, dtype=np.uint64) + np.uint64(
            self.seed * STEP & 0xFFFFFFFF
        )
        odd = (fmix32(numbers) | np.uint32(1)) * np.uint32(256)
        first, second = np.split(odd.view(np.int32), [self.sides[0]])
        return first, second

    def folding(self) -> np.ndarray:
        """What each byte counts as, int32 `(256,)`."""
        table = np.arange(256, dtype=np.int32)
        if self.lower:
            table[ord("A") : ord("Z") + 1] += ord("a") - ord("A")
        return table

    def get_config(self) -> dict[str, Any]:
        """The arguments, for JSON."""
        return {**asdict(self), "ngrams": list(self.ngrams)}
