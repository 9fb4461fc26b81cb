"""Locks on files, which a process loses when it dies, however it dies."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from optuna.storages.journal import JournalFileSymlinkLock


@contextlib.contextmanager
def exclusive(path: Path, wait: bool = True) -> Iterator[None]:
    """Holds the lock of a file; a killed process holds none.

    Args:
        path: The file.
        wait: Whether to wait until no other process holds it.

    Raises: BlockingIOError, if another process holds it and `wait` is `False`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock of a file.

    >>> is_held(Path("no/such/file"))
    False
    """
    if not path.exists():
        return False
    with open(path, "a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(file, fcntl.LOCK_UN)
    return False


def entire_lines(path: Path, lock: JournalFileSymlinkLock) -> None:
    """Cuts off a last line without an end, as a full disk or a power cut leaves it.

    Optuna refuses a journal with a line that is none, and appends the next entry to it.

    Args:
        path: The journal; it need not exist.
        lock: What each process holds that appends to it.
    """
    if not path.exists() or path.read_bytes()[-1:] in (b"", b"\n"):
        return
    lock.acquire()
    try:  # by now another process may have written the rest
        with open(path, "r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
    finally:
        lock.release()


def hold(path: Path) -> int:
    """Holds the lock of a file for as long as this process lives; returns the open file.

    >>> import tempfile
    >>> lock = Path(tempfile.mkdtemp()) / "a.lock"
    >>> number = hold(lock)
    >>> is_held(lock), os.close(number), is_held(lock)
    (True, None, False)
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    number = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(number, fcntl.LOCK_EX)
    return number
