"""Processes that train one model together on this machine, each with a `TF_CONFIG` of its own."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def addresses(count):
    """Free ones of this machine."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return found


def start(count, check, *arguments):
    """Starts `count` processes that run a function of `machine_checks.py`."""
    workers = addresses(count)
    command = [sys.executable, str(TESTS / "machine_checks.py"), check, *map(str, arguments)]
    processes = []
    for index in range(count):
        config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        env = {**os.environ, "TF_CONFIG": json.dumps(config)}
        pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(subprocess.Popen(command, env=env, cwd=TESTS.parent, **pipes))
    return processes


def outputs(processes, seconds=900):
    """What each process printed; none is left when this returns."""
    try:
        found = [process.communicate(timeout=seconds) for process in processes]
    finally:
        stop(processes)
    for process, (_, error) in zip(processes, found, strict=True):
        assert process.returncode == 0, error[-3000:]
    return [output for output, _ in found]


def stop(processes):
    for process in processes:
        process.kill()
        process.wait()


def together(count, check, *arguments):
    """What each of `count` processes found in a check: its last line, from JSON."""
    found = outputs(start(count, check, *arguments))
    return [json.loads(output.splitlines()[-1]) for output in found]
