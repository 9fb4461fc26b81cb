"""Optional packages: asked for by name, with the command that installs them."""

import importlib
from types import ModuleType


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
            f"Install it with: pip install 'kerascompact[{extra}]'"
        ) from error
