"""Every way that people run a file: two programming interfaces, threads, with and without XNNPACK.

All in one process of its own, which imports no TensorFlow.
"""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

from export_models import V, answers, cluster, lstm, mean, some_ids, standard
from form_examples import COMPUTING, KINDS
from form_examples import V as ROWS
from kerascompact import export
from kerascompact.runtime import encoding
from kerascompact.text import Vocabulary

SCRIPT = """
import json
import sys
from pathlib import Path
import numpy as np
from ai_edge_litert import interpreter as litert
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.cpu_kernel_mode import CpuKernelMode
from ai_edge_litert.options import CpuOptions, Options


def classic(data, rows, threads, xnnpack):
    kind = "AUTO" if xnnpack else "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
    runner = litert.Interpreter(
        model_content=data, num_threads=threads,
        experimental_op_resolver_type=litert.OpResolverType[kind],
    ).get_signature_runner()
    (name,) = runner.get_input_details()
    for row in rows:
        (output,) = runner(**{name: row[None]}).values()
        yield output[0]


def compiled(data, rows, threads, xnnpack):
    mode = CpuKernelMode.XNNPACK if xnnpack else CpuKernelMode.BUILTIN
    options = Options(cpu_options=CpuOptions(num_threads=threads, kernel_mode=mode))
    model = CompiledModel.from_buffer(data, options=options)
    (details,) = model.get_output_tensor_details("serving_default").values()
    shape = [int(n) for n in details["shape"]]
    (given,), (made,) = model.create_input_buffers(0), model.create_output_buffers(0)
    for row in rows:
        given.write(np.ascontiguousarray(row[None]))
        model.run_by_index(0, [given], [made])
        yield made.read(int(np.prod(shape)), np.float32).reshape(shape)[0].copy()


found = {}
for path in sorted(Path(".").glob("*.tflite")):
    rows = np.load(path.with_suffix(".npy"))
    for way in (classic, compiled):
        for threads in (1, 2):
            for xnnpack in (True, False):
                name = f"{way.__name__} {threads} {xnnpack}"
                outputs = [*way(path.read_bytes(), rows, threads, xnnpack)]
                np.save(f"{path.stem} {name}.out.npy", np.stack(outputs))
print(json.dumps(sorted({"tensorflow", "keras"} & set(sys.modules))))
"""
WAYS = [f"{way} {n} {x}" for way in ("classic", "compiled") for n in (1, 2) for x in (True, False)]
LENGTH = 9
FORMS = ("dense", "codes_sum", "codes_concat", "sparse", "ragged", "hashed", "tensor_train")
# Each form as float32 and of four bits; of eight, which differ in no operator, two of them.
CASES = [(name, recipe) for name in FORMS for recipe in ("float32", "int4_tables")]
CASES += [(name, "int8_tables") for name in ("dense", "codes_sum")]
SHORT = {("codes_sum", "int4_tables")}
MODELS = [pytest.param("mean", marks=pytest.mark.slow), "lstm", "text"]  # a text has a mean


def form_files(cases):
    for name, recipe in cases:
        form, _ = KINDS[name]()
        ids = keras.Input((LENGTH,), dtype="int32", name="ids")
        model = keras.Model(ids, form(ids))
        rows = np.random.default_rng(0).integers(0, ROWS, (3, LENGTH)).astype(np.int32)
        frozen = export.freeze(model, recipe)
        yield f"{name} {recipe}", frozen.convert(), rows, answers(frozen.model, rows)


def model_files(names):
    ids = some_ids(LENGTH)
    for name, model in {"mean": mean(cluster(seed=0)), "lstm": lstm(standard())}.items():
        if name not in names:
            continue
        expected = answers(export.freeze(model, "int8_tables").model, ids)
        yield name, export.convert(model, sequence_length=LENGTH), ids, expected
    if "text" not in names:
        return
    words = Vocabulary([f"word{i}" for i in range(V - 2)])
    model = mean(standard(), sequence_length=LENGTH)
    texts = ["word1 word7", "", "Word27, word3!", "nobody knows word9"]
    rows = np.concatenate([encoding.encode(text, 40).numbers for text in texts])
    ids = words.encode_all(texts, LENGTH)
    expected = answers(export.freeze(model, "int8_tables").model, ids)
    yield "text", export.convert(model, text=words, max_bytes=40), rows, expected


@pytest.fixture(scope="module")
def outputs(request, tmp_path_factory):
    """Outputs of the files that the selected tests ask for."""
    keras.utils.set_random_seed(0)
    asked = [item.callspec.params for item in request.session.items if item.path == request.path]
    cases = {(case["name"], case["recipe"]): None for case in asked if "recipe" in case}
    names = {case["name"] for case in asked}
    folder, expected = tmp_path_factory.mktemp("files"), {}
    for name, data, rows, wanted in (*form_files(cases), *model_files(names)):
        (folder / f"{name}.tflite").write_bytes(data)
        np.save(folder / f"{name}.npy", rows)
        expected[name] = wanted
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert json.loads(done.stdout.splitlines()[-1]) == []  # no TensorFlow, no Keras
    found = {
        (name, way): np.load(folder / f"{name} {way}.out.npy") for name in expected for way in WAYS
    }
    return expected, found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "recipe"),
    [pytest.param(*case, marks=[] if case in SHORT else pytest.mark.slow) for case in CASES],
)
def test_forms(outputs, name, recipe, way):
    expected, found = outputs
    wanted, got = expected[f"{name} {recipe}"], found[f"{name} {recipe}", way]
    if KINDS[name] in COMPUTING:
        # sums of some ten float32 products of size <= 10, in an order that the kernel chooses
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_models(outputs, name, way):
    expected, found = outputs
    # probabilities, of float32 sums of some ten terms; the LSTM takes nine steps
    np.testing.assert_allclose(found[name, way], expected[name], atol=1e-5)
    np.testing.assert_array_equal(found[name, way].argmax(-1), expected[name].argmax(-1))


@pytest.mark.parametrize("name", MODELS)
def test_threads_change_nothing(outputs, name):
    """A run on two threads cuts a product by its outputs, not by its terms."""
    _, found = outputs
    for way in ("classic", "compiled"):
        for xnnpack in (True, False):
            one, two = (found[name, f"{way} {n} {xnnpack}"] for n in (1, 2))
            np.testing.assert_array_equal(one, two)
