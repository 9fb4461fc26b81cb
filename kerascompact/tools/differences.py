"""How far the answers of two `.tflite` files are apart, output by output."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from kerascompact.runtime.interpreter import bare
from kerascompact.tflite import flatbuffer


class Difference(NamedTuple):
    """How far an output of a file is from the same output of another.

    Args:
        output: Name of the output.
        inputs: What the files ran on, such as "random".
        rows: How many examples.
        largest: Largest difference of two numbers; of two strings, 1 if they are not equal.
        relative: Root of the mean squared difference, divided by that of the first file's numbers,
            without columns that are the same in every row of both files.
        same_class: Share of equal classes: the largest number of the last dimension, or, if there
            is one number, whether it is above 0.5. For integers and strings, the share of equal
            ones; `relative` is the share of the others.
    """

    output: str
    inputs: str
    rows: int
    largest: float
    relative: float
    same_class: float


def differences(
    before: bytes,
    after: bytes,
    inputs: Mapping[str, np.ndarray],
    what: str,
    graph: int = 0,
    examples: int | None = None,
) -> list[Difference]:
    """Runs two files that have the same inputs and outputs, and compares every output.

    Args:
        before: Bytes of a file, checked by `flatbuffer.read`.
        after: Bytes of a file that should answer the same.
        inputs: An array `(batches, ...)` for each input, in their order, see `random_inputs`.
        what: Name of these inputs, for the report.
        graph: Number of the graph to run.
        examples: How many of the rows are examples, see `num_given`: those after them fill up the
            last batch, and do not count. Default: each batch is one example.

    Returns: A `Difference` for each output.

    Raises: ValueError, if a file cannot be run, or has other outputs.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> exact, small = (kerascompact.export.convert(model, one) for one in ("float32", "int8"))
    >>> (found,) = differences(exact, small, {"ids": np.array([[[1, 2, 3, 4]]], "int32")}, "own")
    >>> found.relative < 0.01
    True
    """
    first, second = (_answers(file, inputs, graph, examples) for file in (before, after))
    if [*first] != [*second]:
        raise ValueError(f"The outputs must be {[*first]}. Received: {[*second]}.")
    rows = len(next(iter(inputs.values()))) if examples is None else examples
    return [
        Difference(name.partition(" ")[2], what, rows, *_apart(first[name], second[name]))
        for name in first
    ]


def _answers(
    file: bytes, inputs: Mapping[str, np.ndarray], graph: int, examples: int | None
) -> dict[str, np.ndarray]:
    """All outputs of a file, by place and name, flat in all dimensions but the last."""
    found: dict[str, list[np.ndarray]] = {}
    size = next((given.shape[1] for given in inputs.values() if given.ndim > 1), 1)
    try:
        for run, outputs in enumerate(_runs(file, inputs, graph)):
            for name, numbers in outputs.items():
                if examples is not None and numbers.shape[:1] == (size,):
                    numbers = numbers[: examples - run * size]
                last = numbers.shape[-1] if numbers.ndim else 1
                rows = numbers.size // last if last else 0
                found.setdefault(name, []).append(np.reshape(numbers, (rows, last)))
    except (RuntimeError, ValueError, MemoryError) as error:
        reason = (str(error) or "no memory").splitlines()[0]
        raise ValueError(f"The file cannot be run: {reason}") from error
    return {name: _joined(parts) for name, parts in found.items()}


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """The answers below each other; number by number, if they differ in their last dimension."""
    if len({part.shape[1] for part in parts}) > 1:
        parts = [part.reshape(-1, 1) for part in parts]
    return np.concatenate(parts)


def _runs(
    file: bytes, inputs: Mapping[str, np.ndarray], graph: int
) -> Iterator[dict[str, np.ndarray]]:
    model = flatbuffer.parse(file)
    signature = next((s for s in model.signatureDefs or [] if s.subgraphIndex == graph), None)
    runtime = bare(file)
    if signature is None:
        yield from _runs_without_names(runtime, inputs)
        return
    names = {port.tensorIndex: port.name.decode() for port in signature.inputs}
    if not {*map(int, model.subgraphs[graph].inputs)} <= {*names}:
        raise ValueError("its signature does not name every input")
    order = [names[int(index)] for index in model.subgraphs[graph].inputs]
    run = runtime.get_signature_runner(signature.signatureKey.decode())
    for rows in zip(*inputs.values(), strict=True):
        outputs = run(**dict(zip(order, rows, strict=True)))
        yield {f"{place} {name}": outputs[name] for place, name in enumerate(sorted(outputs))}


def _runs_without_names(
    runtime: Any, inputs: Mapping[str, np.ndarray]
) -> Iterator[dict[str, np.ndarray]]:
    set_shapes(runtime, inputs)
    outputs = runtime.get_output_details()
    for rows in zip(*inputs.values(), strict=True):
        for port, row in zip(runtime.get_input_details(), rows, strict=True):
            runtime.set_tensor(port["index"], row)
        runtime.invoke()
        yield {
            f"{place} {port['name']}": runtime.get_tensor(port["index"])
            for place, port in enumerate(outputs)
        }


def set_shapes(runtime: Any, inputs: Mapping[str, np.ndarray]) -> None:
    """Gives a runtime the shapes of its inputs, and memory.

    Args:
        runtime: LiteRT's interpreter.
        inputs: An array `(examples, ...)` for each input, in their order.
    """
    for port, array in zip(runtime.get_input_details(), inputs.values(), strict=True):
        if tuple(port["shape"]) != array.shape[1:]:
            runtime.resize_tensor_input(port["index"], array.shape[1:])
    runtime.allocate_tensors()


def _apart(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Largest difference, relative difference and share of equal classes."""
    texts = first.dtype.kind in "OS" and second.dtype.kind in "OS"  # S has the longest's width
    if first.shape != second.shape or (first.dtype != second.dtype and not texts):
        return np.inf, np.inf, 0.0
    if not first.size:
        return 0.0, 0.0, 1.0
    if texts:
        same = float(np.mean(first == second))
        return float(same < 1), 1 - same, same
    if not np.issubdtype(first.dtype, np.floating):
        same = float(np.mean(first == second))
        return float(np.max(np.abs(first.astype(float) - second))), 1 - same, same
    equal = (first == second) | (np.isnan(first) & np.isnan(second))  # infinity, too
    error = np.subtract(
        second, first, where=~equal, out=np.zeros(first.shape), dtype=np.float64, casting="unsafe"
    )
    # Columns that say the same in every row, such as -1e9 for what is left out, would hide others.
    varies = ~(equal & (first == first[:1])).all(axis=0)
    some = np.isfinite(first) & (varies if varies.any() else True)
    size = np.sqrt(np.mean(np.square(first[some], dtype=np.float64))) if some.any() else 0.0
    apart = np.sqrt(np.mean(np.square(error[:, varies] if varies.any() else error)))
    relative = apart / size if size > 0 else (0.0 if apart == 0 else np.inf)
    classes = [a[:, 0] > 0.5 if a.shape[1] == 1 else np.argmax(a, 1) for a in (first, second)]
    worst = np.max(np.abs(error))
    return float(worst), float(relative), float(np.mean(classes[0] == classes[1]))
