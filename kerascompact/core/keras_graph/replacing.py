"""Functions of others that are replaced for a while."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

_ONE_AT_A_TIME = threading.RLock()


@contextlib.contextmanager
def replaced(changes: Mapping[tuple[Any, str], Any]) -> Iterator[None]:
    """Context in which attributes, by owner and name, are others; one thread at a time.

    >>> import math
    >>> with replaced({(math, "pi"): 3}):
    ...     math.pi
    3
    >>> round(math.pi, 2)
    3.14
    """
    with _ONE_AT_A_TIME:
        before = {place: getattr(*place) for place in changes}
        for place, value in changes.items():
            setattr(*place, value)
        try:
            yield
        finally:
            for place, value in before.items():
                setattr(*place, value)
