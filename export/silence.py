"""Hides what TensorFlow prints on every conversion; errors come as exceptions."""

import contextlib
import logging
import os
from collections.abc import Iterator


@contextlib.contextmanager
def quiet(native: bool = False) -> Iterator[None]:
    """Within, TensorFlow's logger shows errors only.

    It says where it keeps temporary files, and warns of each new model that is traced.

    Args:
        native: Hides what C++ writes to standard error, too.

    >>> with quiet():
    ...     logging.getLogger("tensorflow").warning("not shown")
    """
    logger = logging.getLogger("tensorflow")
    level = logger.level
    logger.setLevel(logging.ERROR)
    saved = os.dup(2) if native else None
    try:
        if saved is not None:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 2)
            os.close(sink)
        yield
    finally:
        logger.setLevel(level)
        if saved is not None:
            os.dup2(saved, 2)
            os.close(saved)
