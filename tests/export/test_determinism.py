"""The same model gives the same bytes, and so does the same training."""

import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

from export_models import cluster, file_of, lstm, mean, mixture, some_ids, standard
from kerascompact import export
from kerascompact.core import files
from kerascompact.text import Vocabulary

WORDS = Vocabulary([f"word{i}" for i in range(28)])


def trained():
    """A short training, seeded."""
    keras.utils.set_random_seed(3)
    model = mean(cluster())
    model.compile("adam", "sparse_categorical_crossentropy")
    ids = some_ids(rows=48)
    model.fit(ids, ids.sum(1) % 3, batch_size=8, epochs=3, verbose=0)
    return model


@pytest.mark.slow
@pytest.mark.parametrize(("make", "recipe"), [(mean, "int4"), (lstm, "int8_tables")])
def test_converting_twice_gives_the_same_bytes(make, recipe):
    model = make(mixture())
    assert export.convert(model, recipe) == export.convert(model, recipe)


@pytest.mark.slow
def test_converting_text_in_twice_gives_the_same_bytes():
    model = mean(standard())
    first, second = (export.convert(model, text=WORDS, max_bytes=40) for _ in range(2))
    assert first == second


@pytest.mark.slow
def test_training_twice_gives_the_same_file():
    first, second = (export.convert(trained()) for _ in range(2))
    assert first == second
    keras.utils.set_random_seed(4)
    assert export.convert(mean(cluster())) != first


@pytest.mark.slow
def test_training_in_another_process_gives_the_same_file():
    """Whatever the order of Python's sets is there."""
    script = """
from kerascompact import export
from kerascompact.core import files
from test_determinism import trained
print(files.sha256(export.convert(trained())))
"""
    here = Path(__file__)
    folders = [str(here.parent), str(here.parents[1]), *sys.path]
    expected = files.sha256(export.convert(trained()))
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONPATH": ":".join(folders), "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True
        )
        assert done.stdout.splitlines()[-1] == expected


def test_saving_over_a_file_fails_whole(tmp_path, monkeypatch):
    """A full disk while `save` writes: the old file stays, and nothing beside it."""
    path, old = tmp_path / "model.tflite", b"old"
    path.write_bytes(old)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        export.save(file_of("mean"), path)
    assert path.read_bytes() == old and [*tmp_path.iterdir()] == [path]
