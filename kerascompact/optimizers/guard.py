"""Guard of weights with a penalty: a constraint that only proximal optimizers accept."""

from typing import Any, NoReturn

import keras


class ProxGuard(keras.constraints.Constraint):
    """Raises at the first step of an optimizer that knows nothing of proximal rules.

    Keras applies constraints after each update, to the variables that it was given. Optimizers made
    by `kerascompact.optimizers.Proximal` keep this one away from it and take the proximal step
    instead; any other optimizer calls it, jit-compiled or not, before it has made a step (outside
    a graph: after its first).

    Args:
        path: Path of the variable, for the error message.

    Raises: ValueError, when called.

    >>> ProxGuard("ant/transform")(None)
    Traceback (most recent call last):
        ...
    ValueError: Variable 'ant/transform' has a proximal rule, but the optimizer that trains it \
takes no proximal step, so nothing would make its entries zero. Compile the model with \
kerascompact.optimizers.Proximal around the optimizer: `model.compile(Proximal("adam"), ...)`.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, w: Any) -> NoReturn:
        raise ValueError(
            f"Variable {self.path!r} has a proximal rule, but the optimizer that trains it takes "
            "no proximal step, so nothing would make its entries zero. Compile the model with "
            "kerascompact.optimizers.Proximal around the optimizer: "
            '`model.compile(Proximal("adam"), ...)`.'
        )

    def get_config(self) -> dict[str, Any]:
        return {"path": self.path}
