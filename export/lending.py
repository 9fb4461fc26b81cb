"""Lending: a model that cannot be copied, with forms in the place of its embeddings for a while."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from kerascompact.forms.base import Form

_ONE_AT_A_TIME = threading.RLock()  # another thread would look up in the forms of the first


@contextlib.contextmanager
def lent(model: Any, forms: Sequence[tuple[Any, Form]]) -> Iterator[None]:
    """Makes embeddings of a live model look up in their forms until the block ends.

    A subclassed model is code that finds its layers where it likes: in attributes, lists, closures,
    objects of its own. Nothing but the layers themselves leads to all of them, and the model cannot
    be copied from outside: `copy.deepcopy` and `from_config` need a configuration, which a model
    that is given layers does not have. So each embedding's own `call` stands aside in the block.

    The block may be entered again inside itself, for a file of several signatures. Other threads
    wait, and `fit` is refused: the embeddings would not train. A `fit` that is running goes on
    after the block, where a callback of it has entered it.

    Args:
        model: Model of any kind that has been built.
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
    """A `call` of an embedding that looks up in its form."""
    return lambda inputs, training=None, reverse=False: form.call(inputs, reverse)


def _refuse_to_train(*_: Any) -> NoReturn:
    """What `fit` and `train_on_batch` call for a step."""
    raise ValueError(
        "A model must not train while it is lent to the exporter: its embeddings are frozen until "
        "the block ends."
    )


def _give_back(layer: Any, before: Any) -> None:
    """Restores the `call` of a layer: that of its class, or the one it was lent with already."""
    del layer.call
    if before is not None:
        layer.call = before


def _forget_functions(model: Any) -> None:
    """Drops what Keras traced: its functions would go on with the layers of that time."""
    model.make_predict_function(force=True)
    model.make_test_function(force=True)
