"""`search.compact` with fewer settings: tests are of what it does with them."""

import itertools

import pytest

from kerascompact.search import parts


def try_every(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves every `step`-th setting of each part."""
    every = parts._settings
    monkeypatch.setattr(
        parts, "_settings", lambda *sizes: itertools.islice(every(*sizes), 0, None, step)
    )
