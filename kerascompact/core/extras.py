"""Optional packages: asked for by name, with the command that installs them."""

import importlib
from types import ModuleType

RUNTIME = "kerascompact-runtime"  # the package without TensorFlow among its requirements
_TRAINING = {"keras", "optuna", "tensorflow", "tensorflow_text"}
_NAMES = {"sklearn": "scikit-learn"}  # of packages that are imported by another name


def require(module: str, extra: str) -> ModuleType:
    """Imports `module`, or says which extra of kerascompact brings it.

    Raises: ImportError, with the `pip` command.

    >>> require("json", "plot").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.split(".")[0]
        if error.name != package:
            raise  # it is installed, but something that it needs is not
        raise ImportError(
            f"This needs the package {_NAMES.get(package, package)!r}. "
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
    first = "" if _extras_of_runtime() is None else f"pip uninstall {RUNTIME}, then "
    return (
        f"Training and exporting need the package {package!r}. "
        f"Install all that they need with: {first}pip install kerascompact"
    )


def _package_with(extra: str) -> str:
    return RUNTIME if extra in (_extras_of_runtime() or []) else "kerascompact"


def _extras_of_runtime() -> list[str] | None:
    """Extras of the package without TensorFlow; `None` if it is not installed."""
    from importlib import metadata  # slow, and `import kerascompact` does not need it

    try:
        return metadata.metadata(RUNTIME).get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return None
