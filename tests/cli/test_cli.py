"""The command line itself: light to start, one line for an error, statuses."""

import subprocess
import sys

import pytest

import kerascompact
from kerascompact import cli


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, timeout=120, text=True, **options
    )


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([name, "--help"] for name in cli.COMMANDS)]
)
def test_help_is_light(arguments):
    code = (
        "import sys; from kerascompact.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit as done: print(done.code)\n"
        "print(sorted({'tensorflow', 'keras', 'numpy', 'ai_edge_litert'} & set(sys.modules)))"
    )
    done = run("-c", code)
    assert done.stdout.splitlines()[-2:] == ["0", "[]"], done.stderr


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"{kerascompact.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [[], ["cook"], ["predict"], ["train", "--out", "x"], ["export", "d", "--recipe", "int3"]],
)
def test_a_wrong_command_line_has_status_2(arguments):
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)


def test_every_command_has_a_line_of_help():
    for module in cli.COMMANDS.values():
        assert module.__doc__ and module.__doc__.splitlines()[0].endswith(".")


def test_train_takes_every_method_and_its_options():
    from kerascompact.tasks.methods import METHODS

    for method in METHODS.values():
        flags = [f"--{name.replace('_', '-')}={1}" for name in method.options]
        arguments = cli.parse_args(
            ["train", "--data", "x", "--out", "y", "--method", method.name, *flags]
        )
        assert [getattr(arguments, name) for name in method.options] == [1] * len(flags)


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (ValueError("two\n  lines"), 1, "kerascompact: error: two lines\n"),
        (OSError(28, "No space left on device"), 1, "kerascompact: error: [Errno 28] No space"),
        (ImportError("no package"), 1, "kerascompact: error: no package\n"),
        (KeyboardInterrupt(), 130, "kerascompact: interrupted\n"),
    ],
)
def test_errors_are_one_line(error, status, line, monkeypatch, capsys):
    def fail(arguments):
        raise error

    monkeypatch.setattr(cli.COMMANDS["inspect"], "run", fail)
    assert cli.main(["inspect", "x"]) == status
    assert capsys.readouterr().err.startswith(line)


def test_the_module_runs_and_prints_no_traceback(tmp_path):
    done = run("-m", "kerascompact", "inspect", str(tmp_path / "no.tflite"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kerascompact: error: ")
    assert done.stderr.count("\n") == 1
    assert "no.tflite" in done.stderr


@pytest.mark.slow
def test_a_reader_that_stops_is_no_error(trained):
    command = f"{sys.executable} -m kerascompact inspect {trained}/model.tflite --json | head -n 1"
    done = run("-c", f"import subprocess; subprocess.run({command!r}, shell=True)")
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr
    assert "error" not in done.stderr
