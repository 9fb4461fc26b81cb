"""Files of every kind in the tools of others: each reads, shows, quantizes or runs them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from export_models import V, cluster, lstm, mean, mixture, some_ids, standard
from kerascompact import export, tools
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import Vocabulary
from kerascompact.tflite import flatbuffer

pytestmark = pytest.mark.slow
SHIPPED = Path(export.__file__).parent / "testvectors" / "intents.tflite"


def words(rules="wordpunct"):
    return Vocabulary([f"w{i}" for i in range(V - 2)], rules)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Every recipe, loops, fused operators, several signatures, text in, MediaPipe, shrunk."""
    rows, made = some_ids(rows=20), {}
    for name, one in export.RECIPES.items():
        given = {"representative": rows} if one.kernels == "full_int8" else {}
        made[name] = export.convert(mean(standard(), sequence_length=9), name, **given)
    table = cluster()
    made["loop"] = export.convert({"a": mean(table), "b": lstm(table)}, sequence_length=9)
    made["fused"] = export.convert(lstm(standard()), sequence_length=9, fused_lstm=True)
    made["text"] = export.convert(mean(cluster()), text=words())
    made["names"] = export.convert(mean(mixture()), names=True)
    wide = keras.Sequential([keras.Input((9,), dtype="int32"), keras.layers.Embedding(3000, 32)])
    made["64 KiB"] = export.convert(mean(keras.layers.Embedding(3000, 32)), sequence_length=9)
    for recipe in ("int8", "int4", "codes"):
        made[f"shrunk {recipe}"] = tools.shrink(export.convert(wide, "float32"), recipe).data
    for rules in ("mediapipe", "mediapipe_bert"):
        made[rules] = export.convert(
            mean(cluster()), vocabulary=words(rules), sequence_length=9, mediapipe=True
        )
    made["shipped"] = SHIPPED.read_bytes()
    folder = tmp_path_factory.mktemp("files")
    for name, data in made.items():
        (folder / f"{name}.tflite").write_bytes(data)
    return {name: folder / f"{name}.tflite" for name in made}


def names_of(path):
    """Operators and the names of inputs and outputs, as our own reader has them."""
    model = flatbuffer.read(path)[1]
    graph = model.subgraphs[0]
    count = len(graph.operators)
    ports = [[graph.tensors[i].name.decode() for i in ids] for ids in (graph.inputs, graph.outputs)]
    return flatbuffer.operator_names(model)[:count], *ports


def plain(name):
    return name.replace("_", "").lower()


def test_litert_quantizer_quantizes_every_file(files):
    quantizer = pytest.importorskip("litert_quantizer.quantizer")
    recipe = pytest.importorskip("litert_quantizer.recipe").dynamic_wi8_afp32()
    for path in files.values():
        assert quantizer.Quantizer(path.read_bytes(), recipe).quantize().quantized_model
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'decode'"):
        none = export.convert(mean(cluster()), names=False)  # as the docstring of `convert` says
        quantizer.Quantizer(none, recipe).quantize()


def test_netron_shows_every_file(files):
    netron, node = pytest.importorskip("netron"), shutil.which("node")
    if node is None:
        pytest.skip("needs node: apt install nodejs")
    script = Path(__file__).with_name("netron.mjs")
    done = subprocess.run(
        [node, script, Path(netron.__file__).parent, *files.values()],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for path, shown in zip(files.values(), json.loads(done.stdout), strict=True):
        operators, inputs, outputs = names_of(path)
        assert shown["format"] == "TensorFlow Lite v3"
        assert [*map(plain, shown["operators"])] == [*map(plain, operators)]
        assert (shown["inputs"], shown["outputs"]) == (inputs, outputs)


def test_model_explorer_shows_every_file(files):
    adapter = pytest.importorskip("ai_edge_model_explorer_adapter")
    for path in files.values():
        shown = json.dumps(json.loads(adapter.ConvertFlatbufferDirectlyToJson(
            adapter.VisualizeConfig(), str(path))))  # fmt: skip
        for operator in {*names_of(path)[0]}:
            assert f'"tfl.{operator.lower()}"' in shown or f'"{operator.lower()}"' in shown, path


def test_tensorflows_own_interpreter_gives_litert_s_numbers(files):
    """In a process of its own, as both bring a runtime."""
    script = """
import sys
import numpy as np
import tensorflow as tf
for path in sys.argv[1:]:
    run = tf.lite.Interpreter(path)
    run.allocate_tensors()
    for port in run.get_input_details():
        run.set_tensor(port["index"], np.full(port["shape"], 1, port["dtype"]))
    run.invoke()
    np.save(path + ".npy", run.get_tensor(run.get_output_details()[0]["index"]))
"""
    fixed = {name: path for name, path in files.items() if fits(path)}
    assert len(fixed) >= 12
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, fixed.values())], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for path in fixed.values():
        file = Interpreter(path)
        ones = {
            name: np.full(port["shape"], 1, port["dtype"]) for name, port in file.inputs.items()
        }
        (wanted,) = file.run(ones).values()
        np.testing.assert_allclose(np.load(f"{path}.npy"), wanted, atol=1e-6)


def fits(path):
    """Whether the file has one signature, and no size that is open."""
    file = flatbuffer.read(path)[1]
    shapes = [file.subgraphs[0].tensors[i].shapeSignature for i in file.subgraphs[0].inputs]
    return len(file.signatureDefs) == 1 and all(one is None or -1 not in one for one in shapes)


def test_compiled_model_runs_every_file_without_states(files):
    compiled = pytest.importorskip("ai_edge_litert.compiled_model").CompiledModel
    for name, path in files.items():
        if not fits(path) or name == "fused":  # its states outlive a run; see `doctor`
            continue
        model, file = compiled.from_file(str(path)), Interpreter(path)
        given, made = model.create_input_buffers(0), model.create_output_buffers(0)
        for buffer, port in zip(
            given, model.get_input_tensor_details("serving_default").values(), strict=True
        ):
            buffer.write(np.full(port["shape"], 1, np.int32))
        model.run_by_index(0, given, made)
        ones = {key: np.full(port["shape"], 1, port["dtype"]) for key, port in file.inputs.items()}
        (wanted,) = file.run(ones).values()
        if wanted.dtype == np.float32:
            np.testing.assert_allclose(
                made[0].read(wanted.size, np.float32), wanted.reshape(-1), atol=1e-5
            )
