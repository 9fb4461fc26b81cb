"""A small trained folder, made once through the command line itself."""

import contextlib
import csv
import io
import random

import pytest

from kerascompact.cli import main

VERBS = {
    "louder": ["raise", "increase", "boost"],
    "softer": ["lower", "reduce", "dampen"],
    "stop": ["halt", "silence", "end"],
}
SMALL = dict(clusters=5, unique=8, width=6, sequence_length=8, epochs=10, batch_size=16)
SMALL |= dict(learning_rate=0.03)
PROJECTION = [
    "--width",
    "6",
    "--sequence-length",
    "8",
    "--epochs",
    "12",
    "--batch-size",
    "16",
    "--hidden",
    "12",
]
TRAIN = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]


def write_table(path, rows=240, header=("text", "label")):
    draw = random.Random(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        for number in range(rows):
            label = draw.choice(list(VERBS))
            text = f"please {draw.choice(VERBS[label])} the music number {number % 20}"
            table.writerow([text, label])
    return path


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("data") / "mine.csv")


@pytest.fixture(scope="session")
def trained(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("trained") / "out"
    with pytest.MonkeyPatch.context() as patch:
        # Compiled by XLA, these few steps would cost twice as much; `tests/tasks` has it.
        patch.setattr("keras.src.trainers.trainer.model_supports_jit", lambda model: False)
        assert main(["train", "--data", str(table), "--out", str(out), *TRAIN]) == 0
    return out


@pytest.fixture(scope="session")
def text_export(trained, tmp_path_factory):
    """The file of `export --text-in`, of at most 80 bytes a text, and what the command printed."""
    out, printed = tmp_path_factory.mktemp("text") / "model.tflite", io.StringIO()
    arguments = ["export", str(trained), "--text-in", "--max-bytes", "80", "--out", str(out)]
    with contextlib.redirect_stdout(printed):
        assert main(arguments) == 0
    return out, printed.getvalue()


@pytest.fixture(scope="session")
def text_file(text_export):
    return text_export[0]


@pytest.fixture(scope="session")
def projected(table, tmp_path_factory):
    """The folder of `--method projection`, and what training it printed."""
    out, printed = tmp_path_factory.mktemp("projected") / "out", io.StringIO()
    arguments = ["train", "--data", str(table), "--out", str(out), "--method", "projection"]
    with contextlib.redirect_stdout(printed):
        assert main([*arguments, *PROJECTION]) == 0
    return out, printed.getvalue()


@pytest.fixture
def fails(capsys):
    """Runs a command that must fail with one line and status 1; returns that line.

    Warnings about the made-up data, whose texts repeat, may stand before it.
    """

    def run(*arguments):
        assert main([str(argument) for argument in arguments]) == 1
        found = capsys.readouterr().err.splitlines()
        lines = [line for line in found if not line.startswith("kerascompact: warning: ")]
        assert len(lines) == 1, found
        assert lines[0].startswith("kerascompact: error: ")
        return lines[0]

    return run
