"""`train --budget`: its teacher, its split, and what it refuses before any work."""

import argparse
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from kerascompact import cli, search
from kerascompact.commands import budget, source
from kerascompact.search import training
from kerascompact.search.preparing import dev_share
from kerascompact.text import Vocabulary


def test_a_teacher_is_a_file_or_a_function_of_this_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_teacher.py").write_text(
        "def answers(texts):\n    return [[1, 0]] * len(texts)\n"
    )
    assert budget._teacher("my_teacher:answers")(["a"]) == [[1, 0]]
    assert budget._teacher("model.tflite") == "model.tflite" and budget._teacher(None) is None
    for bad, message in {
        "my_teacher": "MODULE:NAME of a function. Received: 'my_teacher'",
        "my_teacher:other": "my_teacher:other.*no attribute",
        "nowhere_at_all:x": "No module named",
        ":x": "--teacher must be .*MODULE:NAME of a function. Received: ':x'",
        ".x:y": "--teacher must be .*MODULE:NAME of a function. Received: '.x:y'",
    }.items():
        with pytest.raises(ValueError, match=message):
            budget._teacher(bad)


def table(folder, rows):
    lines = [f"turn it {('up', 'down')[n % 2]} {n},{n % 2}" for n in range(rows)]
    path = folder / "mine.csv"
    path.write_text("text,label\n" + "\n".join(lines) + "\n")
    return path


def test_few_rows_have_a_larger_dev(tmp_path):
    parser = argparse.ArgumentParser()
    source.add_source(parser)
    arguments = parser.parse_args(["--data", str(table(tmp_path, 1000))])
    sizes = {
        len(source.dataset(arguments, 0, False, share).dev.texts) for share in (dev_share, None)
    }
    assert sizes == {200, 100}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--vectors", "nowhere.vec"], "`vectors` must be a file"),
        (["--teacher", "nowhere.tflite"], "nowhere.tflite"),
        (["--teacher", "nowhere"], "--teacher must be"),
    ],
)
def test_refuses_before_any_training(option, message, tmp_path, capsys):
    path, out = table(tmp_path, 60), tmp_path / "out"
    code = cli.main(["train", "--data", str(path), "--budget", "20KB", "--out", str(out), *option])
    assert code != 0 and message in capsys.readouterr().err
    assert not (out / "model.tflite").exists()


@pytest.mark.parametrize(("budgets", "place"), [("20KB", ""), ("20KB,30KB", "30KB")])
def test_words_of_another_file_stay(budgets, place, tmp_path, capsys):
    words = Vocabulary(["of", "another"]).save(tmp_path / "out" / place / "vocabulary.txt")
    before = words.read_bytes()
    arguments = ["train", "--data", str(table(tmp_path, 60)), "--budget", budgets]
    assert cli.main([*arguments, "--minutes", "0.001", "--out", str(tmp_path / "out")]) == 1
    assert "vocabulary.txt is the vocabulary of another file" in capsys.readouterr().err
    assert words.read_bytes() == before


@pytest.mark.parametrize("name", ["labels.txt", "trials.jsonl", "frontier.png"])
def test_a_folder_in_the_place_of_a_file_is_refused(name, tmp_path, capsys):
    (tmp_path / "out" / name).mkdir(parents=True)
    arguments = ["train", "--data", str(table(tmp_path, 60)), "--budget", "20KB"]
    assert cli.main([*arguments, "--minutes", "0.001", "--out", str(tmp_path / "out")]) == 1
    assert f"{name} is a folder, and must be a file" in capsys.readouterr().err


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "30KB").write_text("mine")
    arguments = ["train", "--data", str(table(tmp_path, 60)), "--budget", "20KB,30KB"]
    assert cli.main([*arguments, "--minutes", "0.001", "--out", str(tmp_path / "out")]) == 1
    assert "30KB is a file, and must be a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", [["--vectors", "glove50"], ["--minutes", "10"], ["--no-distil"], ["--distil"]]
)
def test_options_of_a_search_need_a_budget(option, tmp_path, capsys):
    arguments = ["train", "--data", str(table(tmp_path, 60)), "--out", str(tmp_path / "out")]
    assert cli.main([*arguments, *option]) != 0
    assert f"{option[0].replace('no-', '')} needs --budget" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_help_of_the_teacher_tells_the_order_that_labels_have(capsys):
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "the order of labels.txt: alphabetical, or by value if all are whole numbers" in shown


@pytest.mark.filterwarnings("default:it was late")
def test_options_go_to_the_search_and_its_files_to_the_folder(tmp_path, capsys, monkeypatch):
    given, saved = {}, []
    found = SimpleNamespace(
        save=saved.append,
        table=lambda: "the table",
        why="the reason",
        by_budget={"20KB": SimpleNamespace(file=bytes(12_345))},
    )

    def searched(data, budget, minutes, **options):
        given.update(options, budget=budget, minutes=minutes, dev=len(data.dev.texts))
        warnings.warn("it was late", stacklevel=2)
        return found

    monkeypatch.setattr(search, "text_classifier", searched)
    (tmp_path / "dev").mkdir()
    out, dev = tmp_path / "out", table(tmp_path / "dev", 60)
    arguments = ["train", "--data", str(table(tmp_path, 300)), "--budget", "20KB", "--out"]
    arguments += [str(out), "--vectors", "v.vec", "--workers", "1", "--no-distil"]
    assert cli.main([*arguments, "--minutes", "0.5", "--dev", str(dev)]) == 0
    wanted = dict(budget="20KB", minutes=0.5, vectors="v.vec", workers=1, distil=False)
    wanted |= dict(dev=60, dev_alone=True)  # of one's own
    assert {name: given[name] for name in wanted} == wanted and saved == [out]
    printed, warned = capsys.readouterr()
    assert "the table" in printed and "the reason" in printed
    assert "model.tflite: 12,345 bytes" in printed and "warning: it was late" in warned


@pytest.mark.parametrize("begun", [False, True])
def test_an_interrupted_search_tells_how_to_go_on(begun, tmp_path, capsys, monkeypatch):
    def interrupted(data, budget, minutes, **options):
        if begun:
            options["folder"].mkdir(parents=True)
            (options["folder"] / "task.json").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "text_classifier", interrupted)
    data, out = str(table(tmp_path, 300)), str(tmp_path / "out")
    assert cli.main(["train", "--data", data, "--budget", "20KB", "--out", out]) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    hint = ". The same command with --resume goes on." if begun else ""
    assert last == f"kerascompact: interrupted{hint}"


@pytest.mark.slow
@pytest.mark.filterwarnings("default:No training ended in time")
def test_vectors_of_a_file_train(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(training, "LEAST", 300)
    words = ["turn", "it", "up", "down"]
    numbers = np.random.default_rng(0).normal(size=(4, 3))
    lines = [
        f"{w} {' '.join(f'{n:.4f}' for n in row)}" for w, row in zip(words, numbers, strict=True)
    ]
    (tmp_path / "v.vec").write_text("4 3\n" + "\n".join(lines) + "\n")
    arguments = [
        "train",
        "--data",
        str(table(tmp_path, 300)),
        "--budget",
        "20KB",
        "--minutes",
        "0.001",  # one training goes on
    ]
    arguments += [
        "--out",
        str(tmp_path / "out"),
        "--vectors",
        str(tmp_path / "v.vec"),
        "--workers",
        "1",
    ]
    (tmp_path / "dev").mkdir()
    dev = table(tmp_path / "dev", 60)  # of one's own: no training on train and dev together
    assert cli.main([*arguments, "--no-distil", "--dev", str(dev)]) == 0
    assert "warning: No training ended in time: one goes on now" in capsys.readouterr().err
    report = (tmp_path / "out" / "report.json").read_text()
    assert "<WordVectors of 4 words, 3 numbers each>" in report
    assert (tmp_path / "out" / "model.tflite").stat().st_size <= 20_000
