"""Guards of weights: constraints that only those optimizers accept that can train them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import keras
import tensorflow as tf

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

    def before_copy(self) -> None:
        """Takes the steps owed in the metric of an optimizer, which a copy or a file may lack."""
        if self.pending is not None and self.pending.metric is not None:
            self.pending.settle_in_chunks()

    def of_copy(self, variable: keras.Variable, copied: Callable[[Any], Any]) -> "ProxGuard":
        """The guard of a copy of the variable, given what makes a copy of each other one."""
        pending = None if self.pending is None else self.pending.of_copy(variable, copied)
        return ProxGuard(variable.path, pending)

    def get_config(self) -> dict[str, Any]:
        return {"path": self.path}


class BFloat16Guard(keras.constraints.Constraint):
    """Raises at the first step of an optimizer that would compute in bfloat16.

    `lazy` optimizers skip it; they compute in float32 and round at random. Any other one holds its
    slots in the dtype of the variable and computes in it: Adam's `beta_2 = 0.999` is 1 there, and
    updates below 1/512 of a number are lost, so that a table would stand still without an error.

    Args:
        path: Path of the variable, for the error message.

    Raises: ValueError, when called with a bfloat16 variable.

    >>> BFloat16Guard("kd/logits")(keras.Variable([1.0], dtype="bfloat16"))
    Traceback (most recent call last):
        ...
    ValueError: Variable 'kd/logits' is held in bfloat16, in which its optimizer would compute: \
small updates and the decay of moments would be lost. Compile the model with \
kerascompact.optimizers.lazy around the optimizer: `model.compile(lazy("adam"), ...)`.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, w: Any) -> Any:
        if w.dtype not in ("bfloat16", tf.bfloat16):
            return w  # a copy in float32, see `core.keras_graph.twins`
        raise ValueError(
            f"Variable {self.path!r} is held in bfloat16, in which its optimizer would compute: "
            "small updates and the decay of moments would be lost. Compile the model with "
            "kerascompact.optimizers.lazy around the optimizer: "
            '`model.compile(lazy("adam"), ...)`.'
        )

    def get_config(self) -> dict[str, Any]:
        return {"path": self.path}


def held_in_bfloat16(variable: Any) -> bool:
    """Whether a variable has a `BFloat16Guard` and is bfloat16.

    >>> held_in_bfloat16(keras.Variable([1.0], dtype="bfloat16"))  # computed with as it is
    False
    """
    guarded = isinstance(getattr(variable, "constraint", None), BFloat16Guard)
    return guarded and variable.dtype == "bfloat16"


def check_bfloat16(optimizer: Any, variables: Any) -> None:
    """Raises `ValueError` for settings that sum or average in the dtype of a guarded variable."""
    path = next((v.path for v in variables if held_in_bfloat16(v)), None)
    for name in ("use_ema", "gradient_accumulation_steps"):
        if path is not None and getattr(optimizer, name):
            raise ValueError(
                f"`{name}` must be off for variable {path!r} in bfloat16, in which Keras would "
                f"lose most of what it adds up. Received: {name}={getattr(optimizer, name)}."
            )
