"""Full disks, killed processes and two writers of one path, for real."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from kerascompact.core import files

SIZE = 300_000


def python(script, *arguments, **options):
    """A process that runs a script; `kerascompact.core` needs neither TensorFlow nor Keras."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        **options,
    )


def test_a_full_disk(tmp_path, monkeypatch):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"old")
    real = os.fdopen

    def full(handle, mode):
        file = real(handle, mode)
        file.flush = lambda: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device"))
        return file

    monkeypatch.setattr(files.os, "fdopen", full)
    with pytest.raises(OSError, match="No space left on device"):
        files.write_bytes(path, b"new" * SIZE)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["model.tflite"]


def test_a_limit_of_the_system(tmp_path):
    """The kernel itself refuses the write, in the middle of the file."""
    path = tmp_path / "model.tflite"
    path.write_bytes(b"old")
    script = """
import resource, signal, sys
from kerascompact.core import files
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error of write(), not the end
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    files.write_bytes(sys.argv[1], b"new" * 100_000)
except OSError as error:
    print(error.errno)
"""
    out, errors = python(script, path).communicate()
    assert (out, errors) == (f"{errno.EFBIG}\n", "")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["model.tflite"]


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    """Killed when all bytes are written, but not yet under their name."""
    path = tmp_path / "model.tflite"
    path.write_bytes(b"old")
    script = """
import os, sys, time
from kerascompact.core import files
def wait(*_):
    print("written", flush=True)
    time.sleep(60)
os.replace = wait
files.write_bytes(sys.argv[1], b"new" * 100_000)
"""
    with python(script, path) as process:
        assert process.stdout.readline() == "written\n"
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    (left,) = {*os.listdir(tmp_path)} - {"model.tflite"}  # hidden, and no .tflite
    assert left.startswith(".model.tflite.") and not left.endswith(".tflite")
    files.write_bytes(path, b"new")
    assert path.read_bytes() == b"new"


def test_killed_at_any_moment_a_file_is_old_or_new(tmp_path):
    path = tmp_path / "model.tflite"
    whole = {bytes([number]) * SIZE for number in range(2)}
    path.write_bytes(bytes(SIZE))
    script = f"""
import sys
from kerascompact.core import files
print("ready", flush=True)
for number in range(10**9):
    files.write_bytes(sys.argv[1], bytes([number % 2]) * {SIZE})
"""
    for pause in (0.0, 0.013, 0.047):
        with python(script, path) as process:
            assert process.stdout.readline() == "ready\n"
            time.sleep(pause)
            process.kill()
        assert path.read_bytes() in whole


def test_two_writers_of_one_path(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"\0" * SIZE)
    script = f"""
import sys
from kerascompact.core import files
for _ in range(60):
    files.write_bytes(sys.argv[1], sys.argv[2].encode() * {SIZE})
"""
    writers = [python(script, path, letter) for letter in "ab"]
    whole, reads = {b"\0" * SIZE, b"a" * SIZE, b"b" * SIZE}, 0
    while any(writer.poll() is None for writer in writers):
        assert path.read_bytes() in whole
        reads += 1
    assert [writer.communicate()[1] for writer in writers] == ["", ""]
    assert reads > 3 and path.read_bytes() in whole - {b"\0" * SIZE}
    assert os.listdir(tmp_path) == ["model.tflite"]
