"""Every public class and function, made with no more than it requires, on real input."""

import importlib
import inspect
import types

import numpy as np
import pytest
import tensorflow as tf

import kerascompact
from default_calls import CALLS, ELSEWHERE, SLOW

ROOMS = [name for name in dir(kerascompact) if name[0] != "_"]


def public(room):
    """Names of a room's classes and functions."""
    module = importlib.import_module(f"kerascompact.{room}")
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if name[0] != "_" and getattr(value, "__module__", None) == module.__name__
    ]
    return {f"{room}.{name}" for name in names if callable(getattr(module, name))}


def test_no_public_class_or_function_is_missing():
    assert set(CALLS) | set(ELSEWHERE) == set().union(*map(public, ROOMS))
    assert not set(CALLS) & set(ELSEWHERE)


def numbers_of(found):
    if isinstance(found, list | tuple | dict) and not hasattr(found, "_asdict"):
        values = found.values() if isinstance(found, dict) else found
        return [number for value in values for number in numbers_of(value)]
    if isinstance(found, tf.RaggedTensor):
        found = found.flat_values
    is_array = isinstance(found, int | float | np.ndarray | np.generic) or tf.is_tensor(found)
    return [np.asarray(found)] if is_array else []


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CALLS]
)
def test_works_with_its_defaults(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    room, what = name.split(".")
    make = getattr(importlib.import_module(f"kerascompact.{room}"), what)
    required, use, *more = CALLS[name]
    arguments = required() if isinstance(required, types.FunctionType) else required
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [
        parameter
        for parameter in inspect.signature(make).parameters.values()
        if parameter.kind in kinds and parameter.default is inspect.Parameter.empty
    ]
    takes_any = what.startswith("WeightDrop")  # `*args` of Keras' layer: `units`
    assert len(arguments) == len(needed) or takes_any, f"{what} requires {needed}"
    found = use(make(*arguments, **dict(*more)))
    assert found is not None
    for numbers in numbers_of(found):
        if np.issubdtype(numbers.dtype, np.floating):
            assert np.isfinite(numbers).all()
