"""Command line `kerascompact COMMAND ...`.

Each command is a module of `kerascompact.commands`. It imports TensorFlow only when it runs and
needs it, so `predict`, `inspect` and `--help` are fast and work without TensorFlow.
"""

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence

import kerascompact
from kerascompact.commands import (
    bench,
    compress,
    demo,
    doctor,
    export,
    inspect,
    neighbours,
    predict,
    shrink,
    train,
    verify,
)
from kerascompact.core.extras import training_is_missing

COMMANDS = {
    "demo": demo,
    "train": train,
    "compress": compress,
    "export": export,
    "inspect": inspect,
    "doctor": doctor,
    "shrink": shrink,
    "bench": bench,
    "verify": verify,
    "predict": predict,
    "neighbours": neighbours,
}


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the command line.

    Args:
        argv: Words of the command line. Default: those of the process.

    Returns: The arguments; their `run` is the function of the command.

    >>> parse_args(["inspect", "model.tflite"]).file
    'model.tflite'
    """
    parser = argparse.ArgumentParser(
        "kerascompact", description="Compact text embeddings: from texts to a small .tflite file."
    )
    parser.add_argument("--version", action="version", version=kerascompact.__version__)
    commands = parser.add_subparsers(metavar="command", required=True)
    for name, module in COMMANDS.items():
        line = (module.__doc__ or "").splitlines()[0]
        command = commands.add_parser(name, help=line.rstrip("."), description=line)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; an error is printed as one line on stderr.

    Args:
        argv: Words of the command line. Default: those of the process.

    Returns: Exit status: 0, or 1 after an error, or 130 if interrupted. A wrong command line exits
        with 2.
    """
    arguments = parse_args(argv)
    with only_our_lines():
        try:
            return arguments.run(arguments)
        except BrokenPipeError:  # the reader of our output, such as `head`, has ended
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (ValueError, OSError, ImportError) as error:
            missing = isinstance(error, ModuleNotFoundError) and training_is_missing(error)
            line = missing or " ".join(str(error).split()) or type(error).__name__
            print(f"kerascompact: error: {line}", file=sys.stderr)
            return 1
        except KeyboardInterrupt as stop:  # with a hint, if the command has one
            print(f"kerascompact: interrupted{stop}", file=sys.stderr)
            return 130


@contextlib.contextmanager
def only_our_lines() -> Iterator[None]:
    """Hides what TensorFlow and LiteRT log, in C++ and in Python; Python's stderr stays visible.

    Set `TF_CPP_MIN_LOG_LEVEL` to anything but 3 to see the log.
    """
    for name in ("tensorflow", "absl"):
        logging.getLogger(name).setLevel(logging.ERROR)
    if os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") != "3" or not _is_real_stderr():
        yield
        return
    python, saved = sys.stderr, os.dup(2)
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    os.close(sink)
    try:
        with open(os.dup(saved), "w", encoding="utf-8", errors="backslashreplace") as sys.stderr:
            yield
    finally:
        sys.stderr = python
        os.dup2(saved, 2)
        os.close(saved)


def _is_real_stderr() -> bool:
    try:
        return sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):  # closed, or captured by a test
        return False
