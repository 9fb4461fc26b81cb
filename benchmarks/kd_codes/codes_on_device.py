"""Codes as a phone has them: bytes, microseconds and memory of the file, beside a float table."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

from benchmarks.lib import results, runner
from kerascompact import export
from kerascompact.core.storage import total_bits
from kerascompact.forms import CodebookForm, CodeLSTMForm, DenseForm, FactoredForm, Form

WORDS, CARDINALITY, CODE_LENGTH, WIDTH, NARROW, TOKENS = (10_000, 268_000), 32, 32, 300, 100, 32
MEMORY = 4 * 2**20  # bytes beside the file's own that the first run may make resident, of sums
ARMS = [
    *((words, "sum", hidden, "int8_tables") for words in WORDS for hidden in (None, NARROW)),
    *((words, "sum", hidden, "int4_tables") for words in WORDS for hidden in (None, NARROW)),
    *((WORDS[0], "sum", hidden, "float32") for hidden in (None, NARROW)),
    *((WORDS[0], "lstm", hidden, "int8_tables") for hidden in (None, NARROW)),
]

# Runs alone, without TensorFlow and without kerascompact: what is resident is the runtime's.
_CHILD = """
import json, sys, time
import numpy as np
from ai_edge_litert.interpreter import Interpreter

def resident():
    (line,) = [l for l in open("/proc/self/status") if l.startswith("VmRSS")]
    return 1024 * int(line.split()[1])

def load(name):
    file = Interpreter(f"{sys.argv[1]}/{name}.tflite", num_threads=1)
    file.allocate_tensors()
    file.set_tensor(file.get_input_details()[0]["index"], ids % words[name])
    file.invoke()
    return file

def seconds(file, times):
    start = time.thread_time()  # of this thread alone, however busy the machine is
    for _ in range(times):
        file.invoke()
    return (time.thread_time() - start) / times

ids = np.load(f"{sys.argv[1]}/ids.npy")
words = json.load(open(f"{sys.argv[1]}/words.json"))
start = resident()
warm = load("small")  # the same operators: the pages of the runtime itself are resident now
before = resident()
codes = load("codes")
after = resident()
np.save(f"{sys.argv[1]}/outputs.npy", codes.get_tensor(codes.get_output_details()[0]["index"]))
gather = load("gather")
files = [codes, gather]
turns = [max(1, int(1e-3 / seconds(file, 3))) for file in files]  # a millisecond each
rounds = 300 if turns[0] > 1 else 15
times = np.median([list(map(seconds, files, turns)) for _ in range(rounds)], axis=0)
print(json.dumps({
    "microseconds": round(1e6 * float(times[0]), 1),
    "gather_microseconds": round(1e6 * float(times[1]), 1),
    "resident_bytes": after - before,
    "runtime_bytes": before - start,
}))
"""


def random_form(words: int, composition: str, hidden: int | None) -> Form:
    """KD codes with random numbers: `d' = d`, or `d' = hidden` and a matrix."""
    random = np.random.default_rng(0)
    width = hidden or WIDTH

    def numbers(*shape: int) -> np.ndarray:
        return random.normal(size=shape).astype(np.float32)

    codes = random.integers(0, CARDINALITY, (words, CODE_LENGTH))
    books = numbers(CODE_LENGTH, CARDINALITY, width)
    form: Form
    if composition == "sum":
        form = CodebookForm.from_codes(codes, books)
    else:
        kernel, recurrent = numbers(2, width, 4 * width) / np.float32(width**0.5)
        form = CodeLSTMForm.from_codes(codes, books, kernel, recurrent, numbers(4 * width))
    return FactoredForm.from_parts(form, numbers(width, WIDTH)) if hidden else form


def lookup(form: Form) -> keras.Model:
    """A model of `TOKENS` ids and their vectors."""
    ids = keras.Input((TOKENS,), dtype="int32", name="ids")
    return keras.Model(ids, form(ids))


def measure(words: int, composition: str, hidden: int | None, recipe: str) -> dict[str, Any]:
    """One row: bytes beside what is counted, time beside a float table's, memory, agreement.

    `resident_bytes`: what loading the file and its first run add to the resident memory of a
    process in which a small file of the same operators has run before; `runtime_bytes`: what that
    one added. `microseconds`: processor time of a run on one thread, the median of milliseconds in
    turns with a float32 table of 10,000 x 300.

    Raises: ValueError, if the file does not give what the frozen Keras model does.
    """
    model = lookup(random_form(words, composition, hidden))
    frozen = export.freeze(model, recipe).model
    ids = np.random.default_rng(1).integers(0, words, (1, TOKENS)).astype(np.int32)
    expected = frozen.predict(ids, verbose=0)
    files = {
        "codes": (words, export.convert(model, recipe)),
        "small": (16, export.convert(lookup(random_form(16, composition, hidden)), recipe)),
        "gather": (WORDS[0], export.convert(lookup(float_table()), "float32")),
    }
    facts, outputs = run_beside(files, ids)
    difference = float(np.abs(outputs - expected).max())
    agreement = float(np.mean(outputs.argmax(-1) == expected.argmax(-1)))
    # Sums of 32 float32 code vectors, of size 30, then of 100 or 300 products with those.
    if agreement < 1 or not difference <= 1e-5 * float(np.abs(expected).max()):
        raise ValueError(f"The file gives other vectors than Keras: {difference=}, {agreement=}.")
    return {
        "theory_bytes": total_bits(frozen.layers[-1].storage()) / 8,
        "file_bytes": len(files["codes"][1]),
        "argmax_agreement": agreement,
        "largest_difference": difference,
        **facts,
    }


def run_beside(
    files: dict[str, tuple[int, bytes]], ids: np.ndarray
) -> tuple[dict[str, Any], np.ndarray]:
    """Runs three files in one process without TensorFlow, and gives times, memory and outputs.

    Args:
        files: "codes", which is measured; "small", of the same operators, which runs before; and
            "gather", whose runs take turns with it. Each with the number of its words.
        ids: The input of each, modulo its words.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, (_, data) in files.items():
            (Path(folder) / f"{name}.tflite").write_bytes(data)
        sizes = {name: size for name, (size, _) in files.items()}
        (Path(folder) / "words.json").write_text(json.dumps(sizes))
        np.save(f"{folder}/ids.npy", ids)
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, folder], stdout=subprocess.PIPE, check=True
        )
        return json.loads(child.stdout), np.load(f"{folder}/outputs.npy")


def float_table() -> DenseForm:
    """10,000 float32 rows: what everything is measured beside."""
    table = np.random.default_rng(2).normal(size=(WORDS[0], WIDTH)).astype(np.float32)
    return DenseForm.from_arrays({"table": table}, input_dim=WORDS[0], output_dim=WIDTH)


def benchmark(name: str, arguments: Any = None) -> list[dict[str, Any]]:
    """Every arm that has no row yet, and all rows.

    Raises: ValueError, if a sum of codes needs more memory than the file's bytes and `MEMORY`. An
        LSTM may: the runtime holds its matrices as float32, twice, in the order that they are used.
    """
    specs = [
        {
            "words": words,
            "composition": composition,
            "hidden": hidden,
            "recipe": recipe,
            "cardinality": CARDINALITY,
            "code_length": CODE_LENGTH,
            "width": WIDTH,
            "tokens": TOKENS,
        }
        for words, composition, hidden, recipe in ARMS
    ]

    def one(spec: dict[str, Any]) -> dict[str, Any]:
        row = measure(*(spec[key] for key in ("words", "composition", "hidden", "recipe")))
        if spec["composition"] == "sum" and row["resident_bytes"] > row["file_bytes"] + MEMORY:
            raise ValueError(f"The file needs more memory than its size and 4 MiB: {row}.")
        return row

    runner.run_all(name, specs, one, table)
    return results.rows(name)


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a line for each arm."""
    head = (
        "| V | composition | d' | recipe | counted B | file B | us | float table us | resident B |"
    )
    lines = [head, "|" + "---|" * 9]
    for row in rows:
        spec = row["spec"]
        width = f"{spec['hidden']} + H" if spec["hidden"] else f"{spec['width']}"
        lines.append(
            f"| {spec['words']:,} | {spec['composition']} | {width} | {spec['recipe']} "
            f"| {row['theory_bytes']:,.0f} | {row['file_bytes']:,} | {row['microseconds']:,.1f} "
            f"| {row['gather_microseconds']:.1f} | {row['resident_bytes']:,} |"
        )
    return "\n".join(lines)
