"""Pairs of words that people have judged: how alike are they? Not in the package: research use."""

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.datasets.base import Known, data_dir, read_known

SOURCE = "github.com/mfaruqui/eval-word-vectors at 94b3dd9, data/word-sim"
ABOUT = (
    "Word similarity sets as Faruqui and Dyer (ACL 2014 demo) collected them; each has its own "
    "authors, research use. Cite them."
)


# Name -> pairs and checksum; first the six of the NP-SG paper's Table 1.
_ROWS = {
    "MTurk-287": (
        287,
        "a9ae3a9decb75a9700fe0cf18b048c1344774d9f40e0196baf8e34d4cd9d1ce5",
    ),
    "WS-353-ALL": (
        353,
        "ce12919b240af45bdf46d243601eaca2b6212b159b5e7e9b435ee7ee40c5619c",
    ),
    "WS-353-REL": (
        252,
        "66a7c88100624d0a391605ff61ce84e11d11ee620d51ec0298da49592838f8fa",
    ),
    "WS-353-SIM": (
        203,
        "f1da938998863c94e53f72f984a5c6e215f0b46c323aae8f0f4930703a339107",
    ),
    "RW-STANFORD": (
        2_034,
        "5108d54dfc746f44f9c3d7e31d2857c37cf71430bc1594175a61a3b89bb0ae1f",
    ),
    "VERB-143": (
        144,
        "7259e19961c81912aa4c72de0102e480b2ad2bb9f4ce97d036fbde8e1a403001",
    ),
    "MEN-TR-3k": (
        3_000,
        "888b13580faa362c7b11da0a670258cf1b1eb4bf0ecbcd418918729a3bd3f43a",
    ),
    "MTurk-771": (
        771,
        "04dc297c9e86b6fa7cf8ef0e4ba2e2c8d3399ec68d92fb7a53c0b4aae27198b5",
    ),
    "RG-65": (
        65,
        "c243f3a91c3f5d8cf67f21a67f6fb80bde8b6bb060851a6a48e6f2d68ec98c9f",
    ),
    "MC-30": (
        30,
        "33ee05911496ff83d95cac351d0746c6f63b9181b605cb7d307f4daa8864511b",
    ),
    "SIMLEX-999": (
        999,
        "405394ffb7d25f6d0e3c041f87c9f27d29dc6b047506769953e85c4523b11685",
    ),
    "SimVerb-3500": (
        3_500,
        "9d84274e7ad029fd3cf69dd0516e9ade624bbef9bd4e2050f6cc1fa01471e0f5",
    ),
    "YP-130": (
        130,
        "7643fdbc6158c3424061e2cba450c71285767266ff9f3db947bfc1f1f5ce67ab",
    ),
}
FILES = {
    name: Known(f"word_sim/EN-{name}.txt", sha256, rows) for name, (rows, sha256) in _ROWS.items()
}
NAMES = tuple(FILES)
PAPER, OTHERS = NAMES[:6], NAMES[6:]


class Judged(NamedTuple):
    """Pairs of words in lower case and what people thought of them, a larger score for more alike.

    >>> Judged("two", ["tiger", "book"], ["cat", "paper"], np.array([7.35, 7.46])).first
    ['tiger', 'book']
    """

    name: str
    first: list[str]
    second: list[str]
    scores: np.ndarray


def load(
    data: str | os.PathLike[str] | None = None, names: Iterable[str] = NAMES
) -> dict[str, Judged]:
    """Loads word similarity sets, by name.

    Args:
        data: The data folder, see `kerascompact.datasets.base.data_dir`.
        names: Which; default: all thirteen, the paper's six first. VERB-143 has 144 pairs, and
            WS-353-ALL one of its 353 twice, as published.
    Raises: ValueError, if no set has such a name, or a file is missing or not the known one.
    Example:
    >>> load(names=["RG-65"])["RG-65"].first[0]  # doctest: +SKIP
    'gem'

    Reference: [Faruqui & Dyer, ACL 2014](https://aclanthology.org/P14-5004/).
    """
    if isinstance(names, str):
        checks.fail("names", "a list of names", names)
    folder, found = data_dir(data), {}
    for name in names:
        checks.choice("names", name, NAMES)
        text = read_known(FILES[name], folder, SOURCE).decode("utf-8")
        found[name] = _read(name, text)
    return found


def _read(name: str, text: str) -> Judged:
    rows = [line.split() for line in text.splitlines() if line.strip()]
    known = FILES[name]
    if len(rows) != known.rows or any(len(row) != 3 for row in rows):
        raise ValueError(
            f"{known.path} must have {known.rows} rows of two words and a score. "
            f"Received: {len(rows)} rows."
        )
    first, second, scores = zip(*rows, strict=True)
    return Judged(
        name,
        [word.lower() for word in first],
        [word.lower() for word in second],
        np.array(scores, np.float64),
    )
