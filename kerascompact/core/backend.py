"""Check that Keras runs on TensorFlow, before something fails less clearly."""

import json
import os
import sys
from pathlib import Path


def check_backend() -> None:
    """Raises `ImportError` unless Keras runs, or would run, on the TensorFlow backend.

    Looks where Keras itself looks, in its order: the Keras that is already imported, the
    `KERAS_BACKEND` environment variable, then `keras.json` in `KERAS_HOME` or `~/.keras`. It does
    not import Keras, so that reading a `.tflite` file needs no TensorFlow.

    Raises: ImportError, naming the backend that was found and how to change it.

    >>> check_backend()

    Reference: [Keras, "Configuring your backend"](https://keras.io/getting_started/).
    """
    backend, where = _configured()
    if backend != "tensorflow":
        raise ImportError(
            "kerascompact needs Keras 3 on the TensorFlow backend. "
            f"Received: backend={backend!r} (from {where}). "
            "Set the environment variable KERAS_BACKEND=tensorflow before keras is first imported."
        )


def _configured() -> tuple[str, str]:
    if "keras" in sys.modules and hasattr(sys.modules["keras"], "backend"):
        return sys.modules["keras"].backend.backend(), "the imported keras"
    if os.environ.get("KERAS_BACKEND"):
        return os.environ["KERAS_BACKEND"], "the environment variable KERAS_BACKEND"
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        settings = json.loads((home / "keras.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # no file, or one that Keras ignores as well
        settings = {}
    return settings.get("backend", "tensorflow"), str(home / "keras.json")
