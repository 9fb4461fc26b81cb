"""A pytest plugin: Keras' own optimizer tests meet lazy classes under the names of Keras' own."""

import importlib

import keras

from kerascompact.optimizers.lazy import ELEMENTWISE, lazy_class

_PACKAGE = importlib.import_module("keras.src.optimizers")
_LAZY = {kind: lazy_class(kind) for kind in ELEMENTWISE}

for _kind, _lazy in _LAZY.items():
    for _place in (importlib.import_module(_kind.__module__), _PACKAGE, keras.optimizers):
        setattr(_place, _kind.__name__, _lazy)
for _name, _kind in _PACKAGE.ALL_OBJECTS_DICT.items():  # what a name or a config becomes
    _PACKAGE.ALL_OBJECTS_DICT[_name] = _LAZY.get(_kind, _kind)
