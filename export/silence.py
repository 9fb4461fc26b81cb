"""Log silencing: hides what TensorFlow prints in every conversion."""

import contextlib
import logging
import os
from collections.abc import Iterator


@contextlib.contextmanager
def quiet(native: bool = False) -> Iterator[None]:
    """Context in which TensorFlow's logger shows only errors.

    Otherwise it prints the paths of temporary files and a warning for each model that is traced.

    Args:
        native: Whether to hide what C++ code writes to standard error as well.

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
