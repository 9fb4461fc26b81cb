"""Lending: forms replace the embeddings of a model that cannot be copied, until a block ends."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from kerascompact.forms.base import Form

_ONE_AT_A_TIME = threading.RLock()  # a second thread would use the forms of the first one


@contextlib.contextmanager
def lent(model: Any, forms: Sequence[tuple[Any, Form]]) -> Iterator[None]:
    """Context in which the embeddings of the trained model itself look up in their forms.

    A subclassed model may keep its layers anywhere: in attributes, lists, closures or its own
    objects. It cannot be copied from outside: `copy.deepcopy` and `from_config` need a
    configuration, which a model that is given layers does not have. So the block replaces the
    `call` of each embedding.

    Blocks may be nested, for a file with several signatures. Other threads wait. `fit` is refused,
    since the embeddings would not train; if a callback of `fit` enters the block, training goes on
    after it.

    Args:
        model: Built model of any kind.
        forms: Embeddings of the model, each with its form.

    Raises: ValueError, if the model is trained in the block by `fit` or `train_on_batch`.
    """
    with _ONE_AT_A_TIME, contextlib.ExitStack() as stack:
        stack.callback(_forget_functions, model)
        for layer, form in forms:
            stack.callback(_give_back, layer, vars(layer).get("call"))
            layer.call = _lookup_in(form)
        _forget_functions(model)
        stack.callback(setattr, model, "train_function", model.train_function)
        model.train_function = _refuse_to_train
        yield


def _lookup_in(form: Form) -> Any:
    """Replacement for the `call` of an embedding, which looks up in its form."""
    return lambda inputs, training=None, reverse=False: form.call(inputs, reverse)


def _refuse_to_train(*_: Any) -> NoReturn:
    """Replacement for the function that `fit` and `train_on_batch` call in each step."""
    raise ValueError(
        "A model must not train while it is lent to the exporter: its embeddings are frozen until "
        "the block ends."
    )


def _give_back(layer: Any, before: Any) -> None:
    """Restores the `call` of a layer: that of its class, or of the block around this one."""
    del layer.call
    if before is not None:
        layer.call = before


def _forget_functions(model: Any) -> None:
    """Drops the functions that Keras traced, which would go on using the former layers."""
    model.make_predict_function(force=True)
    model.make_test_function(force=True)
