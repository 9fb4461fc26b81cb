"""Timings of real files, and what must not be timed."""

import io
import json
import sys

import numpy as np
import pytest
import tensorflow as tf

from export_models import file_of, inverse, text_file, two_text_files
from kerascompact import export
from kerascompact.cli import main
from kerascompact.tools import bench as module
from kerascompact.tools import bench_process
from kerascompact.tools.bench import bench


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    return {
        "mean": export.save(file_of("mean"), folder / "mean.tflite"),
        "other": export.save(file_of("mean"), folder / "other.tflite"),
        "text": export.save(text_file(), folder / "text.tflite"),
    }


def test_measures_every_file_as_often(files):
    paths = [files["mean"], files["text"]]
    found = bench(*paths, runs=33, rounds=4)
    assert [timing.name for timing in found] == [path.name for path in paths]
    for timing, path in zip(found, paths, strict=True):
        assert timing.runs == 33 and timing.num_bytes == path.stat().st_size
        assert 0 < timing.p50_us <= timing.p90_us <= timing.p99_us
        assert timing.load_ms > 0 and timing.first_ms > 0
        if sys.platform == "linux":
            assert timing.resident >= timing.num_bytes  # the file is read
            assert timing.resident > timing.anonymous >= 0


def test_files_take_turns(files, monkeypatch):
    turns = []

    class Stub:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return lambda command, *times: (
                turns.append((self.file.stem, *times))
                or ({"load": 1.0, "first": 2.0} if command == "load" else [1e-6] * times[0])
            )

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(module, "_child", lambda file, inputs, num_threads: Stub(file))
    found = bench(files["mean"], files["other"], runs=10, rounds=4)
    timed = [turn for turn in turns if len(turn) > 1 and turn[1] != module.WARM_UP]
    assert timed == [(name, n) for n in (2, 3, 2, 3) for name in ("mean", "other")]
    assert found[0].runs == 10 and found[0].p50_us == pytest.approx(1.0)
    assert (found[0].load_ms, found[0].first_ms, found[0].resident) == (1e3, 2e3, None)


def test_rows_of_the_user_take_turns(files, monkeypatch):
    given = []
    monkeypatch.setattr(module, "_child", lambda file, path, threads: given.append(np.load(path)))
    ids = np.arange(10).reshape(2, 5)
    for data, expected in ((ids, ids), ([ids], ids), ({"ids": ids}, ids)):
        with pytest.raises(TypeError):  # there is no child
            bench(files["other"], data=data)
        np.testing.assert_array_equal(given[-1]["0 ids"], expected[:, None])
    with pytest.raises(TypeError):
        bench(files["text"], data=["word1", "word2"])
    assert given[-1]["0 text"][1, 0].astype(np.uint8).tobytes().rstrip(b"\0") == b"word2"
    with pytest.raises(ValueError, match="`data` must be a list of at least one text"):
        bench(files["text"], data=ids)
    with pytest.raises(ValueError, match="`texts` must be None, if `data` are given"):
        bench(files["text"], data=ids, texts=["a"])


def test_the_command_refuses_texts_that_no_file_takes(files, capsys):
    assert main(["bench", str(files["mean"]), "--texts", str(files["mean"])]) != 0
    assert "mean.tflite takes no text" in capsys.readouterr().err


def test_texts_of_a_file_of_several_models(tmp_path, monkeypatch):
    (tmp_path / "two.tflite").write_bytes(two_text_files())
    (tmp_path / "texts.txt").write_text("word1\nword2\n", encoding="utf-8")
    given = []
    monkeypatch.setattr(module, "_child", lambda file, path, threads: given.append(np.load(path)))
    with pytest.raises(TypeError):  # there is no child
        main(["bench", str(tmp_path / "two.tflite"), "--texts", str(tmp_path / "texts.txt")])
    (array,) = (given[0][name] for name in given[0].files)
    assert bytes(array[1, 0, :5].astype(np.uint8)) == b"word2"


def test_percentiles_are_those_of_all_runs():
    timing = module.Timing("a", 1, 0, 0, 0, 0, 0, 0, None, None)
    found = module._timing(timing, [1e-6 * n for n in range(1, 102)])
    assert found.runs == 101
    np.testing.assert_allclose(found[5:8], [51, 91, 100])


def test_a_child_answers_line_by_line(files, tmp_path, monkeypatch, capsys):
    np.savez(tmp_path / "in.npz", **{"0 ids": np.ones((2, 1, 5), np.int32)})
    commands = [["run", 1], ["load"], ["run", 3]]
    text = "".join(json.dumps(command) + "\n" for command in commands[1:])
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    bench_process.main(str(files["other"]), str(tmp_path / "in.npz"), "1")
    load, run = (json.loads(line)["answer"] for line in capsys.readouterr().out.splitlines())
    assert load["load"] > 0 and load["first"] > 0
    assert len(run) == 3 and min(run) > 0


def test_a_child_says_what_went_wrong(files, tmp_path, monkeypatch, capsys):
    np.savez(tmp_path / "in.npz", **{"0 ids": np.ones((2, 1, 5), np.float32)})
    monkeypatch.setattr(sys, "stdin", io.StringIO('["load"]\n'))
    bench_process.main(str(files["mean"]), str(tmp_path / "in.npz"), "1")
    assert "error" in json.loads(capsys.readouterr().out)


def test_a_process_that_ends_is_an_error(files, tmp_path):
    np.savez(tmp_path / "in.npz", **{"0 ids": np.ones((2, 1, 5), np.int32)})
    (tmp_path / "gone.tflite").write_bytes(files["mean"].read_bytes())
    for name, inputs, message in (
        ("gone.tflite", "none.npz", "gone.tflite: its process ended with the status 1"),
        ("none.tflite", "in.npz", "none.tflite: the file cannot be run: "),
    ):
        with (
            module._child(tmp_path / name, tmp_path / inputs, 1) as child,
            pytest.raises(ValueError, match=message),
        ):
            child("load")


def test_refuses_what_cannot_be_run(files, tmp_path):
    (tmp_path / "bad.tflite").write_bytes(files["mean"].read_bytes()[:-9])
    with pytest.raises(
        ValueError, match="bad.tflite: `flatbuffer` must be a complete TFLite model"
    ):
        bench(files["mean"], tmp_path / "bad.tflite")
    function = tf.function(inverse).get_concrete_function(tf.TensorSpec((1, 3, 3)))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    converter.allow_custom_ops = True
    (tmp_path / "custom.tflite").write_bytes(converter.convert())
    with pytest.raises(ValueError, match="custom.tflite: .*built-in operators. .* needs Matrix"):
        bench(tmp_path / "custom.tflite")
    with pytest.raises(FileNotFoundError, match="none.tflite"):
        bench(tmp_path / "none.tflite")


@pytest.mark.parametrize("name", ["runs", "rounds", "num_threads", "sequence_length"])
def test_refuses_arguments(files, name):
    with pytest.raises(ValueError, match=f"`{name}` must be an integer >= 1"):
        bench(files["mean"], **{name: 0})
    with pytest.raises(ValueError, match="`files` must be at least one path"):
        bench()


def test_all_texts_are_run(tmp_path):
    path = tmp_path / "text.tflite"
    path.write_bytes(text_file())
    options = {"texts": [f"w{n}" for n in range(20)], "count": 20}
    (array,) = module._inputs(path, None, options).values()
    assert len(array) == 20
