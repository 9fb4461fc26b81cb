"""Shrinks a `.tflite` file whose model is lost: tables and kernels as int8, int4 or codes."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.tflite import flatbuffer, tensor_names
from kerascompact.tflite.associated_files import associated_files, with_files
from kerascompact.tflite.graph_edits import drop_unused
from kerascompact.tflite.metadata import add_metadata, metadata_of, metadata_of_graph
from kerascompact.tflite.metadata_schema import METADATA_NAME
from kerascompact.tflite.passes.int4 import store_tables_as_int4
from kerascompact.tflite.passes.own_memory import give_own_memory
from kerascompact.tools.differences import Difference, differences
from kerascompact.tools.float_constants import FloatConstant, float_constants
from kerascompact.tools.id_counts import id_counts
from kerascompact.tools.random_inputs import given_inputs, num_given, random_inputs
from kerascompact.tools.smaller import NUMBERS_PER_CODE, Change, Options, shrink_constant

# Largest relative error of an output, by recipe, unless the caller says otherwise.
MAX_ERROR = {"int8": 0.05, "int4": 0.3, "codes": 0.5}
RANDOM = 32  # examples that both files run on


class Shrunk(NamedTuple):
    """Result of `shrink`; printing it gives a report.

    Args:
        data: Bytes of the smaller file.
        bytes_before: Size of the file that was given.
        changes: What became of each float constant, the largest first.
        outputs: How far every output is from that of the file that was given.
    """

    data: bytes
    bytes_before: int
    changes: list[Change]
    outputs: list[Difference]

    def __repr__(self) -> str:  # without the bytes of the file
        return f"Shrunk({self.bytes_before:,} bytes -> {len(self.data):,} bytes)"

    def __str__(self) -> str:
        before, after = self.bytes_before, len(self.data)
        lines = [f"{before:,} bytes -> {after:,} bytes, {before / after:.2f} times smaller"]
        lines.append(f"{'bytes before':>13} {'after':>11}  error  constant")
        for change in self.changes:
            name, now = f"{change.was} {change.name}".strip(), change.now
            lines.append(
                f"{change.before:>13,} {change.after:>11,} {change.error:6.4f}  {name}: {now}"
            )
        lines.append("  largest  relative  same class  output")
        lines.extend(
            f"{found.largest:9.2g} {found.relative:9.5f} {found.same_class:11.2%}  "
            f"{found.output} on {found.rows} {found.inputs} inputs"
            for found in self.outputs
        )
        return "\n".join(lines)


def shrink(
    file: bytes | str | Path,
    recipe: str = "int8",
    *,
    calibrate: Any = None,
    keep: Sequence[str] = (),
    numbers_per_code: int = NUMBERS_PER_CODE,
    max_error: float | None = None,
    min_agreement: float = 0.0,
    seed: int = 0,
    steps: Callable[[int, str], Iterable[int]] = lambda count, what: range(count),
) -> Shrunk:
    """Stores the float tables and kernels of any `.tflite` file in fewer bytes.

    A table of `GATHER` or `EMBEDDING_LOOKUP` becomes

    - `int8`: integers with a scale for each column, 8 bits a number;
    - `int4`: the same in 4 bits a number; needs runtime 2.15 or newer;
    - `codes`: product codes of 8 bits for `numbers_per_code` neighbouring numbers each, with
      codebooks of 256 int8 vectors; needs `pip install 'kerascompact[compress]'`. A table
      that this would make no smaller than int4, for its width has no such divisor, is int4.

    Kernels (of `FULLY_CONNECTED`, convolutions, `BATCH_MATMUL`, fused LSTMs) become int8 in every
    recipe, with a scale for each output; the runtime turns them into float32 once, at its first
    run, so no input is rounded. A table that is also a kernel is int8 for both. A constant that a
    way of storing would change by more than half of its size gets more bits, or stays, as does one
    that would save less than 0.2 % of the file. With `calibrate`, ids are counted: codes follow the
    frequent rows, and if the first rows hold 85 % of the lookups, as in a vocabulary in the order
    of frequency, they get 8 bits more. All other
    bytes of the file stay as they are: metadata, signatures, the files inside (MediaPipe's
    vocabulary and labels), the names of inputs and outputs.

    The new file then answers random inputs and those in `calibrate`, and so does the old one.

    Args:
        file: Path or bytes of the file.
        recipe: "int8", "int4" or "codes".
        calibrate: Examples to check with, and to count ids on: an array, or a dictionary, list or
            tuple of arrays for several inputs; texts, if the file takes text. A file that knows
            words by fingerprints needs them: made-up texts have none of its words. Of several
            models in a file, the first is checked with arrays, and each with texts; ids are
            counted in the first.
        keep: Names of constants (or the ends of names) that stay as they are.
        numbers_per_code: Numbers for which a code stands; 2 takes 4 bits a number, 4 takes 2.
        max_error: Largest relative error of an output: root of the mean squared difference divided
            by that of the numbers. Default: 0.05 for int8, 0.3 for int4, 0.5 for codes.
        min_agreement: Smallest share of equal classes on the examples in `calibrate`; on random
            inputs, if there are none.
        seed: Seed of the random inputs and of the codes.
        steps: Function that returns `range(count)`, perhaps with a progress bar.

    Returns: The bytes of the smaller file and what they cost; printing it gives a report.

    Raises: ValueError, if the file is damaged, needs operators that the plain runtime lacks, has
        nothing to shrink, or if the new file's answers are too far from the old one's, or cannot
        be checked without `calibrate`.

    Example:
    >>> ids = keras.Input((8,), dtype="int32", name="ids")
    >>> model = keras.Model(ids, keras.layers.Embedding(2000, 16)(ids))
    >>> model.export("stock.tflite", format="litert", verbose=False)
    >>> found = shrink("stock.tflite", "int4")
    >>> found.bytes_before // len(found.data)
    7

    Differs: from dynamic-range quantization, which rounds inputs of kernels in every run, too.
    """
    checks.choice("recipe", recipe, tuple(MAX_ERROR))
    checks.integer_in("numbers_per_code", numbers_per_code, 1)
    checks.seed(seed)
    limit = MAX_ERROR[recipe] if max_error is None else max_error
    checks.number("max_error", limit, above=0)
    if min_agreement != 0:
        checks.number("min_agreement", min_agreement, above=0, up_to=1)
    data, model = flatbuffer.read(file)
    _check_can_run(model)
    text = metadata_of_graph(model).get("text", {})  # of several models, the same in each
    if calibrate is None and "fingerprint_bits" in text:
        expected = "some texts: the file knows words by fingerprints, which made-up texts lack"
        checks.fail("calibrate", expected, None)
    # Texts are for every model in the file, arrays for the first.
    graphs = [] if calibrate is None else _graphs(model) if text else [0]
    asked = {one: (model, calibrate, "calibrate", one) for one in graphs}
    given = {one: (given_inputs(*a), num_given(*a)) for one, a in asked.items()}
    counts = id_counts(data, given[0][0]) if given else {}
    found = float_constants(model)
    _check_names(keep, found)
    options = Options(recipe, counts, numbers_per_code, seed, steps, len(data))
    changes = [
        shrink_constant(model, one, options)
        for one in found
        if not any(one.name.endswith(name) for name in keep)
    ]
    small = _packed(model, associated_files(data), recipe)
    if len(small) >= len(data) or not any(change.after < change.before for change in changes):
        listed = "; ".join(f"{c.was} {c.name}: {c.now}" for c in changes) or "no float constant"
        raise ValueError(
            f"The file has nothing to shrink, {len(small):,} bytes of {len(data):,}: {listed}."
        )
    outputs = _outputs(data, small, given, seed)
    _check_outputs(outputs, limit, min_agreement, changes)
    return Shrunk(small, len(data), changes, outputs)


def _check_can_run(model: Any) -> None:
    custom = {n[7:] for n in flatbuffer.operator_names(model) if n.startswith("CUSTOM:")}
    if custom:
        raise ValueError(
            "The file must run on built-in operators, so that its answers can be checked. "
            f"Received: a file that needs {', '.join(sorted(custom))}."
        )
    if any(buffer.offset > 1 for buffer in model.buffers):
        raise ValueError("The file must have its constants inside, less than 2 GB of them.")


def _check_names(keep: Sequence[str], found: list[FloatConstant]) -> None:
    names = [one.name for one in found]
    for wanted in keep:
        if not wanted or not any(name.endswith(wanted) for name in names):
            checks.fail("keep", f"names of float constants, such as {names[:3]}", wanted)


def _packed(model: Any, files: dict[str, bytes], recipe: str) -> bytes:
    """Bytes of the changed model: inputs and outputs keep their names, by which apps find them."""
    for graph in model.subgraphs:
        drop_unused(graph)
    if recipe != "int8":
        store_tables_as_int4(model)
    give_own_memory(model)
    names = [[tensor.name for tensor in graph.tensors] for graph in model.subgraphs]
    _tell_what_changed(model, recipe)
    flatbuffer.slim(model)
    for graph, own in zip(model.subgraphs, names, strict=True):
        for index in {int(port) for port in (*graph.inputs, *graph.outputs)}:
            graph.tensors[index].name = own[index]
    return with_files(tensor_names.pack(model), files)


def _tell_what_changed(model: Any, recipe: str) -> None:
    """Names the recipe in kerascompact's metadata, and drops sizes, which are the old file's."""
    facts = metadata_of(model)
    if facts is not None:
        model.metadata = [one for one in model.metadata if one.name != METADATA_NAME]
        add_metadata(model, _of_shrunk(facts, recipe))


def _of_shrunk(facts: dict[str, Any], recipe: str) -> dict[str, Any]:
    """Metadata of a file, or of each model in it, after shrinking."""
    kept = {k: v for k, v in facts.items() if k not in ("crc32", "embeddings")}
    if "signatures" in kept:
        kept["signatures"] = {k: _of_shrunk(v, recipe) for k, v in kept["signatures"].items()}
    return kept | {"shrunk": recipe}


def _graphs(model: Any) -> list[int]:
    """Numbers of the graphs that an app can run."""
    return sorted({0, *(one.subgraphIndex for one in model.signatureDefs or [])})


def _outputs(
    data: bytes, small: bytes, given: dict[int, tuple[dict[str, np.ndarray], int]], seed: int
) -> list[Difference]:
    model = flatbuffer.parse(data)
    found = []
    for graph in _graphs(model):
        random = random_inputs(model, RANDOM, seed=seed, graph=graph)
        found += differences(data, small, random, "random", graph)
    for graph, (inputs, examples) in given.items():
        found += differences(data, small, inputs, "given", graph, examples)
    return found


def _check_outputs(
    outputs: list[Difference], max_error: float, min_agreement: float, changes: list[Change]
) -> None:
    """Refuses a file whose answers are too far from those of the old one."""
    told = [one for one in outputs if one.inputs == "given"] or outputs
    # A NaN, which is larger than nothing, comes first.
    worst = max(outputs, key=lambda one: (math.isnan(one.relative), one.relative))
    least = min(told, key=lambda one: one.same_class)
    if worst.relative <= max_error and least.same_class >= min_agreement:
        return
    what = (
        f"a relative error of {worst.relative:.3g} of the output {worst.output!r}, on "
        f"{worst.inputs} inputs, and `max_error` is {max_error:g}"
        if not worst.relative <= max_error
        else f"{least.same_class:.2%} equal classes of {least.output!r}, on {least.inputs} inputs, "
        f"and `min_agreement` is {min_agreement:.2%}"
    )
    largest = max(changes, key=lambda change: change.error)
    raise ValueError(
        f"The smaller file must answer as the old one does. Received: {what}. The constant with "
        f"the largest error is {largest.name or largest.was} ({largest.error:.3g}): name it in "
        f"`keep`, or choose another recipe."
    )
