"""`--data` and its companions, without a model."""

import argparse

import pytest

from kerascompact.commands import source

ROWS = "turn it up,louder\nturn it down,softer\n" * 10


def arguments(*words, splits=True):
    parser = argparse.ArgumentParser()
    source.add_source(parser, splits)
    return parser.parse_args(words)


@pytest.fixture
def write(tmp_path):
    def file(name, rows):
        (tmp_path / name).write_text("text,label\n" + rows)
        return str(tmp_path / name)

    return file


def test_dev_and_test_from_files(write):
    data, dev = write("mine.csv", ROWS), write("dev.csv", "more,louder\n")
    test = write("test.csv", "less,softer\n")
    loaded = source.dataset(arguments("--data", data, "--dev", dev, "--test", test))
    assert (len(loaded.train.texts), loaded.dev.texts, loaded.test.texts) == (
        20,
        ["more"],
        ["less"],
    )
    assert len(source.dataset(arguments("--data", data)).train.texts) == 16


def test_several_labels_in_a_cell(write):
    data = write("mine.csv", "a,x; y\nb,y\n" * 10)
    loaded = source.dataset(arguments("--data", data, "--separator", ";"))
    assert loaded.multi_label and loaded.label_names == ("x", "y")
    found = source.all_examples(arguments("--data", data, "--separator", ";"), ("y", "z", "x"))
    assert found.labels[:2].tolist() == [[1, 0, 1], [1, 0, 0]]


def test_empty_cells_are_a_line_on_stderr(write, capsys):
    data = write("mine.csv", ROWS + "a,\n")
    source.dataset(arguments("--data", data))
    source.all_examples(arguments("--data", data), ("louder", "softer"))
    line = f"kerascompact: warning: {data}: 1 of 21 rows have an empty text or label"
    found = capsys.readouterr().err.splitlines()
    assert sum(one.startswith(line) for one in found) == 2
    assert any("texts (100.0 %) are in train" in one for one in found)  # two texts, ten times each


@pytest.mark.parametrize("option", ["--dev", "--test", "--separator", "--label-column"])
def test_options_of_tables(option):
    with pytest.raises(ValueError, match=f"{option} is for tables, not for clinc150"):
        source.dataset(arguments("--data", "clinc150", option, "x.csv"))


def test_a_command_that_takes_no_splits(write):
    found = source.all_examples(
        arguments("--data", write("mine.csv", ROWS), splits=False), ("softer", "louder")
    )
    assert found.labels.tolist() == [1, 0] * 10
    with pytest.raises(ValueError, match=r"mine\.csv, line 3: label 'softer' does not occ"):
        source.all_examples(arguments("--data", write("mine.csv", ROWS)), ("louder",))
