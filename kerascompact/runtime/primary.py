"""Calls of a file's primary graph, which is the only one in most files."""

from typing import Any

import numpy as np


class Primary:
    """Runs the primary graph as LiteRT's signature runner would, in less time.

    A signature runner sets all shapes and plans memory at each call; this one does so for shapes
    that are not those of the call before. On a phone's classifier that is 1.5 us of 3.5.

    Args:
        runtime: LiteRT's interpreter of the file. No signature runner of it may be left: LiteRT
            refuses calls like these beside one.
        inputs: Details of the inputs by name, as a signature runner gives them.
        outputs: Details of the outputs by name.

    Shapes: named arrays in, named arrays out.
    """

    def __init__(
        self, runtime: Any, inputs: dict[str, dict[str, Any]], outputs: dict[str, dict[str, Any]]
    ) -> None:
        self._runtime = runtime
        self._inputs = {name: details["index"] for name, details in inputs.items()}
        self._outputs = {name: details["index"] for name, details in outputs.items()}
        self._first = next(iter(self._inputs.values()), None)  # damaged files may have none
        self._last = next(iter(self._outputs.values()), None)
        self._planned: list[tuple[int, ...]] | None = None  # shapes of the inputs

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        values = [inputs[name] for name in self._inputs]
        self._plan([value.shape for value in values])
        for index, value in zip(self._inputs.values(), values, strict=True):
            self._runtime.set_tensor(index, value)
        self._invoke()
        return {name: self._runtime.get_tensor(index) for name, index in self._outputs.items()}

    def only(self, value: np.ndarray) -> np.ndarray:
        """The output of a graph with one input and one output, without dictionaries."""
        if self._planned != [value.shape]:
            self._plan([value.shape])
        self._runtime.set_tensor(self._first, value)
        self._invoke()
        output: np.ndarray = self._runtime.get_tensor(self._last)
        return output

    def _invoke(self) -> None:
        try:
            self._runtime.invoke()
        except BaseException:
            self._planned = None  # plan anew: who knows what is left
            raise

    def _plan(self, shapes: list[tuple[int, ...]]) -> None:
        if self._planned == shapes:
            return
        self._planned = None
        for index, shape in zip(self._inputs.values(), shapes, strict=True):
            self._runtime.resize_tensor_input(index, shape)
        self._runtime.allocate_tensors()
        self._planned = shapes
