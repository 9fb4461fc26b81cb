"""Processes that train one model together on this machine, each with a `TF_CONFIG` of its own."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def start(count, check, *arguments):
    """Starts `count` processes that run a function of `machine_checks.py`."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    workers = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    command = [sys.executable, str(TESTS / "machine_checks.py"), check, *map(str, arguments)]
    processes = []
    for index in range(count):
        config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        env = {**os.environ, "TF_CONFIG": json.dumps(config if count > 1 else {})}
        pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(subprocess.Popen(command, env=env, cwd=TESTS.parent, **pipes))
    return processes


def finish(processes, seconds=300):
    """The last line that each process printed, from JSON; none is left when this returns."""
    try:
        outputs = [process.communicate(timeout=seconds) for process in processes]
    finally:
        stop(processes)
    for process, (_, error) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, error[-3000:]
    return [json.loads(output.splitlines()[-1]) for output, _ in outputs]


def stop(processes):
    for process in processes:
        process.kill()
        process.wait()


def together(count, check, *arguments):
    return finish(start(count, check, *arguments))
