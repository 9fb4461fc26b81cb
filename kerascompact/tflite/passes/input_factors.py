"""Factors that TensorFlow's converter multiplied into a dense kernel, one for each input."""

from typing import Any

import numpy as np

from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import OP, TYPE, become, new_buffer, new_tensor

ROUNDS = 3  # the third reaches rows and columns of a sparse kernel that the first two do not


def fitted(kernel: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
    """Factors `f` of the inputs, if `kernel[o, i] = codes[o, i] s[o] f[i]` has a solution.

    Alternates between the least squares for `s` and for `f`, from one column on. If there is no
    solution, the factors fit nothing, so compare.

    Args:
        kernel: Float32 kernel `(outputs, inputs)`.
        codes: Integers of the same shape.

    Returns: Float32 factors with a largest one of 1 or -1; `None` if all would be 0.

    >>> fitted(np.float32([[0.5, 8.0], [3.0, 4.0]]), np.int8([[1, 8], [3, 2]])).tolist()
    [0.5, 1.0]
    """
    values, numbers = kernel.astype(np.float64), codes.astype(np.float64)
    factors = np.zeros(kernel.shape[1])
    factors[np.argmax(np.count_nonzero(kernel, axis=0))] = 1
    for _ in range(ROUNDS):
        scales = _least_squares(values, numbers * factors)
        factors = _least_squares(values.T, (numbers * scales[:, None]).T)
    largest = np.abs(factors).max()
    return (factors / largest).astype(np.float32) if largest > 0 else None


def _least_squares(values: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """The factor of each row of `parts` that brings it closest to that of `values`."""
    squares = np.einsum("ij,ij->i", parts, parts)
    return np.einsum("ij,ij->i", values, parts) / np.where(squares > 0, squares, 1)


class InputFactors:
    """Operators of a graph that multiply inputs with their factors, each once.

    Args:
        model: Parsed model.
        graph: Subgraph of it, changed in place.
    """

    def __init__(self, model: Any, graph: Any) -> None:
        self.model, self.graph = model, graph
        self.known: list[tuple[np.ndarray, int]] = []  # factors, and the tensor that holds them
        self._products: dict[tuple[int, int], int] = {}

    def multiply(self, readers: list[Any], factors: np.ndarray) -> None:
        """Gives operators the products of their first input with factors.

        Args:
            readers: Operators of the graph.
            factors: Float32 factor of each column.
        """
        numbers = next((tensor for one, tensor in self.known if one is factors), None)
        if numbers is None:
            buffer = new_buffer(self.model, factors)
            numbers = new_tensor(self.graph, TYPE.FLOAT32, factors.shape, buffer)
            self.known.append((factors, numbers))
        for reader in readers:
            product = self._product(int(reader.inputs[0]), numbers)
            reader.inputs = np.array([product, *reader.inputs[1:]], np.int32)

    def _product(self, given: int, numbers: int) -> int:
        if (given, numbers) not in self._products:
            before, operators = self.graph.tensors[given], self.graph.operators
            product = new_tensor(self.graph, TYPE.FLOAT32, before.shape, 0)
            self.graph.tensors[product].shapeSignature = before.shapeSignature
            node, options = schema.OperatorT(), schema.MulOptionsT()
            become(self.model, node, OP.MUL, 1, schema.BuiltinOptions.MulOptions, options)
            node.inputs = np.array([given, numbers], np.int32)
            node.outputs = np.array([product], np.int32)
            # Right behind what writes the input: before all of its readers.
            places = [n for n, one in enumerate(operators) if given in one.outputs]
            operators.insert(places[0] + 1 if places else 0, node)
            self._products[given, numbers] = product
        return self._products[given, numbers]
