"""Guard of weights with a penalty: a constraint that only proximal optimizers accept."""

from typing import TYPE_CHECKING, Any, NoReturn

import keras

if TYPE_CHECKING:
    from kerascompact.optimizers.pending import Pending


class ProxGuard(keras.constraints.Constraint):
    """Raises at the first step of an optimizer that takes no proximal steps.

    Keras applies constraints after each update. Optimizers made by
    `kerascompact.optimizers.Proximal` skip this one and take the proximal step instead; any other
    optimizer calls it, compiled or not, before its first step (outside a graph: after it).

    It also owns the rule of the variable and the state of its deferred steps, see `pending_of`.

    Args:
        path: Path of the variable, for the error message.
        pending: Rule of the variable, and the deferred steps of its rows.

    Raises: ValueError, when called.

    >>> ProxGuard("ant/transform")(None)
    Traceback (most recent call last):
        ...
    ValueError: Variable 'ant/transform' has a proximal rule, but the optimizer that trains it \
takes no proximal step, so nothing would make its entries zero. Compile the model with \
kerascompact.optimizers.Proximal around the optimizer: `model.compile(Proximal("adam"), ...)`.
    """

    def __init__(self, path: str, pending: "Pending | None" = None) -> None:
        self.path, self.pending = path, pending

    def __call__(self, w: Any) -> NoReturn:
        raise ValueError(
            f"Variable {self.path!r} has a proximal rule, but the optimizer that trains it takes "
            "no proximal step, so nothing would make its entries zero. Compile the model with "
            "kerascompact.optimizers.Proximal around the optimizer: "
            '`model.compile(Proximal("adam"), ...)`.'
        )

    def get_config(self) -> dict[str, Any]:
        return {"path": self.path}
