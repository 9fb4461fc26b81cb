"""Sparse rows over anchors as a phone has them: bytes, exactness, microseconds of the file."""

from typing import Any

import keras
import numpy as np

from benchmarks.kd_codes.codes_on_device import float_table, run_beside
from benchmarks.lib import results, runner
from kerascompact import export
from kerascompact.core.storage import total_bits
from kerascompact.forms import Form, SparseForm

SIZES = ((10_000, 500), (268_000, 1_000))  # words and anchors
PER_ROW, WIDTH, TOKENS = 3.9, 300, 32
HEADS = ("lookup", "tied")
RECIPES = ("float32", "int8_tables")
MEMORY = 4 * 2**20  # bytes beside the file's own that the first lookup may make resident


def random_form(words: int, anchors: int) -> SparseForm:
    """Rows of a Poisson number of entries, 3.9 in the mean and none in some."""
    random = np.random.default_rng(0)
    lengths = np.minimum(random.poisson(PER_ROW, words), anchors)
    entries = int(lengths.sum())
    return SparseForm.from_entries(
        lengths,
        random.integers(0, anchors, entries),
        random.uniform(0.05, 1, entries).astype(np.float32),
        random.normal(size=(anchors, WIDTH)).astype(np.float32),
    )


def model_of(form: Form, head: str) -> keras.Model:
    """Ids in and vectors out; or one word in, the logits of the next word out."""
    ids = keras.Input((TOKENS if head == "lookup" else 1,), dtype="int32", name="ids")
    vectors = form(ids)
    if head == "lookup":
        return keras.Model(ids, vectors)
    return keras.Model(ids, form(keras.layers.Activation("tanh")(vectors), reverse=True))


def measure(words: int, anchors: int, head: str, recipe: str) -> dict[str, Any]:
    """One row: bytes beside what is counted, time beside a float table's, memory, agreement.

    A float table of 10,000 x 300 takes turns with it: gathered from, or (tied) multiplied with.

    Raises: ValueError, if the file does not give what the frozen Keras model does, is larger than
        1.02 times the stored bytes and 9 KB, or a lookup needs more memory than the file's bytes
        and `MEMORY`.
    """
    model = model_of(random_form(words, anchors), head)
    frozen = export.freeze(model, recipe).model
    shape = (1, TOKENS if head == "lookup" else 1)
    ids = np.random.default_rng(1).integers(0, words, shape).astype(np.int32)
    expected = frozen.predict(ids, verbose=0)
    table = float_table()
    files = {
        "codes": (words, export.convert(model, recipe)),
        "small": (16, export.convert(model_of(random_form(16, anchors), head), recipe)),
        "gather": (table.input_dim, export.convert(model_of(table, head), "float32")),
    }
    facts, outputs = run_beside(files, ids)
    difference = float(np.abs(outputs - expected).max())
    agreement = float(np.mean(outputs.argmax(-1) == expected.argmax(-1)))
    # Sums of some ten float32 products, and tied 300 of them and integers of 30 bits.
    if agreement < 1 or not difference <= 1e-5 * float(np.abs(expected).max()):
        raise ValueError(f"The file gives other numbers than Keras: {difference=}, {agreement=}.")
    form = next(layer for layer in frozen.layers if isinstance(layer, SparseForm))
    row = {
        "entries": form.num_entries,
        "theory_bytes": total_bits(form.storage()) / 8,
        "file_bytes": len(files["codes"][1]),
        "argmax_agreement": agreement,
        "largest_difference": difference,
        **facts,
    }
    if row["file_bytes"] > 1.02 * row["theory_bytes"] + 9 * 1024:
        raise ValueError(f"The file is larger than what it stores, 2 % and 9 KB: {row}.")
    if head == "lookup" and row["resident_bytes"] > row["file_bytes"] + MEMORY:
        raise ValueError(f"The file needs more memory than its size and 4 MiB: {row}.")
    return row


def benchmark(name: str, arguments: Any = None) -> list[dict[str, Any]]:
    """Every arm that has no row yet, and all rows."""
    specs = [
        {
            "words": words,
            "anchors": anchors,
            "head": head,
            "recipe": recipe,
            "entries_per_row": PER_ROW,
            "width": WIDTH,
            "tokens": TOKENS if head == "lookup" else 1,
        }
        for words, anchors in SIZES
        for head in HEADS
        for recipe in RECIPES
    ]

    def one(spec: dict[str, Any]) -> dict[str, Any]:
        return measure(*(spec[key] for key in ("words", "anchors", "head", "recipe")))

    runner.run_all(name, specs, one, table)
    return results.rows(name)


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a line for each arm."""
    head = (
        "| V | anchors | entries | head | recipe | counted B | file B | us | float table us "
        "| resident B |"
    )
    lines = [head, "|" + "---|" * 10]
    for row in rows:
        spec = row["spec"]
        lines.append(
            f"| {spec['words']:,} | {spec['anchors']:,} | {row['entries']:,} | {spec['head']} "
            f"| {spec['recipe']} | {row['theory_bytes']:,.0f} | {row['file_bytes']:,} "
            f"| {row['microseconds']:,.1f} | {row['gather_microseconds']:,.1f} "
            f"| {row['resident_bytes']:,} |"
        )
    return "\n".join(lines)
