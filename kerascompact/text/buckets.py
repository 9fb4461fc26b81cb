"""Buckets: ids of words by a hash of their bytes, without a list of words."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from kerascompact.core import checks, files
from kerascompact.text import rules as token_rules
from kerascompact.text import token_hashes
from kerascompact.text.byte_rules import byte_rules
from kerascompact.text.word_hashes import VERSION

NUM_RESERVED = 1  # padding; every word has a bucket, so that none is unknown


class Buckets:
    """Ids of words, and of pairs of neighbours, by a hash: 0 is padding, the others are buckets.

    `id = 1 + h(word) mod b`, `h` the 32-bit hash that files compute (`text.word_hashes`). Words in
    one bucket share a vector. NUL is white space. A file that takes text needs nothing for them:
    neither the 4 bytes a word of a `Vocabulary`, nor a search. With the rules "wordpunct_pairs"
    words and pairs take turns and share the buckets.

    It stands in for a `Vocabulary` in `export.convert(model, text=buckets)`, with an embedding of
    `len(buckets)` ids. No id means an unknown word, so that `UnknownAsPadding` must not be used.

    Args:
        num_buckets: Number of buckets `b`.
        rules: Name of the token rules, see `kerascompact.text.rules`.
        seed: Seed of the hash. Other seeds put other words together: try some on dev.
    Shapes: a text -> ids `(tokens,)`, or `(sequence_length,)` if that is given.
    Raises: ValueError, if an argument is out of its range.
    Example:
    >>> buckets = Buckets(1000)
    >>> buckets.encode("Turn it, turn IT", sequence_length=6)
    array([600, 960, 129, 600, 960,   0], dtype=int32)

    Reference: [Weinberger et al., ICML 2009](https://arxiv.org/abs/0902.2206), feature hashing;
    pairs in buckets: [Joulin et al., EACL 2017](https://arxiv.org/abs/1607.01759), sec. 2.2.
    Differs: no sign; words are hashed as well as pairs.
    """

    def __init__(self, num_buckets: int, rules: str = "wordpunct", seed: int = 1) -> None:
        self.num_buckets = checks.integer_in("num_buckets", num_buckets, 1, 2**24)
        self._rules = token_rules.named(rules)
        self._tables = byte_rules(rules).without_nul
        self.seed = checks.integer_in("seed", seed, 1, 2**31 - 1)

    def __len__(self) -> int:
        """Number of ids with padding: `input_dim` of an embedding."""
        return NUM_RESERVED + self.num_buckets

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.get_config().items())
        return f"Buckets({options})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buckets) and self.get_config() == other.get_config()

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def rules(self) -> str:
        """Name of the token rules."""
        return self._rules.name

    def get_config(self) -> dict[str, Any]:
        """The arguments of `Buckets`, as JSON can hold them."""
        return {"num_buckets": self.num_buckets, "rules": self.rules, "seed": self.seed}

    def encode(self, text: str, sequence_length: int | None = None) -> np.ndarray:
        """Ids of the tokens of `text`, int32, cut or padded at the end to a given length.

        Raises: ValueError, if `text` is no `str` or `sequence_length` no integer >= 1.
        """
        if sequence_length is not None:
            return self.encode_all([text], sequence_length)[0]
        return self.ids_of(token_hashes.encode(text, self.hashes_of_texts))

    def encode_all(self, texts: Iterable[str], sequence_length: int) -> np.ndarray:
        """Ids of all texts, int32 `(n, sequence_length)`, cut or padded at the end.

        Raises: ValueError, if `texts` is no list of `str` or `sequence_length` no integer >= 1.
        """
        return token_hashes.encode_all(texts, sequence_length, self.hashes_of_texts, self.ids_of)

    def hashes_of_texts(self, texts: list[bytes]) -> token_hashes.TokenHashes:
        """Hashes of the tokens of texts, of which `ids_of` makes ids."""
        return token_hashes.token_hashes(texts, self._tables, self.seed, self._rules.pairs)

    def ids_of(self, hashes: np.ndarray) -> np.ndarray:
        """Ids of tokens by their hashes, int32 of the same shape; 0 is padding in both.

        >>> Buckets(1000).ids_of(np.array([1963, 0], np.int32))
        array([964,   0], dtype=int32)
        """
        ids = NUM_RESERVED + hashes % np.int32(self.num_buckets)
        return np.where(hashes == 0, 0, ids).astype(np.int32)

    def _bytes(self) -> bytes:
        return (json.dumps({"buckets": self.get_config(), "hash": VERSION}) + "\n").encode()

    @property
    def num_bytes(self) -> int:
        """Bytes of words: 0, since there is no list of words."""
        return 0

    @property
    def sha256(self) -> str:
        """Checksum of the saved file."""
        return files.sha256(self._bytes())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the arguments as JSON, atomically."""
        return files.write_bytes(path, self._bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads what `save` wrote.

        Raises: ValueError, naming the file, if it is no such JSON; OSError, if it cannot be read.
        Example:
        >>> import tempfile
        >>> Buckets.load(Buckets(1000).save(tempfile.mkdtemp() + "/buckets.json"))
        Buckets(num_buckets=1000, rules='wordpunct', seed=1)
        """
        try:
            found = json.loads(Path(path).read_bytes())
            config, version = found["buckets"], found.get("hash", 1)
            if not isinstance(config, Mapping):
                checks.fail("buckets", "a JSON object of arguments", config)
            if version != VERSION:
                expected = f"{VERSION}, since another hash puts words into other buckets"
                checks.fail("hash", expected, version)
            return cls(**config)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path}: not the JSON of a Buckets ({error}).") from None
