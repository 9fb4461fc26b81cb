"""Optional packages: asked for by name, with the command that installs them."""

import importlib
from types import ModuleType

RUNTIME = "kerascompact-runtime"  # the package without TensorFlow among its requirements
_TRAINING = {"keras", "optuna", "tensorflow", "tensorflow_text"}


def require(module: str, extra: str) -> ModuleType:
    """Imports `module`, or says which extra of kerascompact brings it.

    Raises: ImportError, with the `pip` command.

    >>> require("json", "plot").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise  # it is installed, but something that it needs is not
        raise ImportError(
            f"This needs the package {module!r}. "
            f"Install it with: pip install '{_package_with(extra)}[{extra}]'"
        ) from error


def training_is_missing(error: ModuleNotFoundError) -> str | None:
    """A sentence about a package that only training and export need, if that is what is missing.

    >>> training_is_missing(ModuleNotFoundError("No module named 'keras'", name="keras"))[:48]
    "Training and exporting need the package 'keras'."
    >>> training_is_missing(ModuleNotFoundError("No module named 'json'", name="json"))
    """
    package = (error.name or "").partition(".")[0]
    if package not in _TRAINING:
        return None
    return (
        f"Training and exporting need the package {package!r}. "
        "Install all that they need with: pip install kerascompact"
    )


def _package_with(extra: str) -> str:
    from importlib import metadata  # slow, and `import kerascompact` does not need it

    try:
        extras = metadata.metadata(RUNTIME).get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        extras = []
    return RUNTIME if extra in extras else "kerascompact"
