"""Processes of a search: workers that share its folder, watched and started again."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, Self

MODULE = "kerascompact.search.worker"
RESTARTS = 3  # of each worker
THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")


class Processes:
    """Runs workers of a search; as a context, it ends them.

    If this process is killed, they end as well: see `end_with_parent`.

    Args:
        folder: Folder of the search.
        count: Number of processes, each with one thread.
        seconds: Time of the search.
        begun: When it began, by `time.time`.
        most: Most trials of all processes.
    """

    def __init__(
        self, folder: Path, count: int, seconds: float, begun: float, most: int | None
    ) -> None:
        self.folder, self.count = folder, count
        self.arguments = [str(seconds), str(begun), str(most or 0)]
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self.started = [0] * count

    def __enter__(self) -> Self:
        for place in range(self.count):
            self._launch(place)
        return self

    def __exit__(self, *error: Any) -> None:
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.communicate()  # closes its pipe, and waits

    def alive(self) -> bool:
        """Whether a worker still runs; one that died is started again, up to three times.

        Raises: OSError, if all died, with the last line that one wrote.
        """
        for place, process in list(self.running.items()):
            code = process.poll()
            if code is None:
                continue
            process.communicate()
            del self.running[place]
            if code not in (0, -signal.SIGTERM, -signal.SIGINT) and self.started[place] <= RESTARTS:
                self._launch(place)
            elif code not in (0, -signal.SIGTERM, -signal.SIGINT) and not self.running:
                raise OSError(f"The processes of the search died: {self._last_line(place)}")
        return bool(self.running)

    def _launch(self, place: int) -> None:
        self.started[place] += 1
        environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, **dict.fromkeys(THREADS, "1")}
        with self._log(place) as log:
            self.running[place] = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(self.folder), str(place), *self.arguments],
                stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment,
            )  # fmt: skip

    def _log(self, place: int) -> IO[bytes]:
        path = self.folder / "workers" / f"{place}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "ab")

    def _last_line(self, place: int) -> str:
        text = (self.folder / "workers" / f"{place}.log").read_text("utf-8", "replace").strip()
        return text.splitlines()[-1] if text else "without a word"


def end_with_parent() -> None:
    """Ends this process when the one that started it is gone, however that one ended.

    Called by a worker. Its standard input is a pipe that nothing is written to, and of which the
    system closes the other end with the parent.
    """

    def wait() -> None:
        os.read(0, 1)  # not `sys.stdin`, whose lock a thread must not hold when Python ends
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
