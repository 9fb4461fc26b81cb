"""The tutorials run, in a fresh kernel of this interpreter, and leave nothing in the checkout.

Running them is slow; the short suite reads what is committed, and the calls that it makes.
"""

import ast
import importlib
import inspect
import json
import os
import re
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

from kerascompact.runtime import TextClassifier
from kerascompact.tflite import read_metadata

CHECKOUT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((CHECKOUT / "colab").glob("*.ipynb"))
FIRST = CHECKOUT / "colab" / "1_first_compact_model.ipynb"
SECOND = CHECKOUT / "colab" / "2_learned_codes.ipynb"
THIRD = CHECKOUT / "colab" / "3_anchors_and_knowledge.ipynb"
FOURTH = CHECKOUT / "colab" / "4_predefined_sparseness.ipynb"
FIFTH = CHECKOUT / "colab" / "5_no_vocabulary.ipynb"
SIXTH = CHECKOUT / "colab" / "6_to_the_phone.ipynb"
SEVENTH = CHECKOUT / "colab" / "7_a_budget.ipynb"
EIGHTH = CHECKOUT / "colab" / "8_few_labels.ipynb"
NINTH = CHECKOUT / "colab" / "9_language_models.ipynb"
ABSOLUTE = re.compile(r"(?<![\w.:/])(?:/(?:home|root|tmp|usr|var|opt|Users|content|mnt)/|[A-Z]:\\)")


def read(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def execute(path, folder, **settings):
    """Runs a notebook with `folder` as its working directory; its printed text by cell id."""
    spec = folder / "kernels" / "python3"
    spec.mkdir(parents=True)
    # A spec of our own: the one that is installed, if there is one, may start another Python.
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    facts = dict(argv=argv, display_name="these tests", language="python")
    (spec / "kernel.json").write_text(json.dumps(facts))
    specs = KernelSpecManager(kernel_dirs=[str(spec.parent)], ensure_native_kernel=False)
    manager = AsyncKernelManager(
        kernel_name="python3",
        kernel_spec_manager=specs,
        connection_file=str(folder / "connection.json"),
    )
    work = folder / "work"
    work.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if name != "MPLBACKEND"},
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")]),
        "IPYTHONDIR": str(folder / "ipython"),
        "OMP_NUM_THREADS": "1",
        "TF_NUM_INTRAOP_THREADS": "1",
        **settings,
    }
    notebook = read(path)
    resources = {"metadata": {"path": str(work)}}
    NotebookClient(notebook, km=manager, timeout=300, resources=resources).execute(
        env=environment, cleanup_kc=True
    )
    printed = {cell.id: stdout(cell) for cell in notebook.cells if cell.cell_type == "code"}
    return notebook, printed, work


def stdout(cell):
    return "".join(out.text for out in cell.outputs if out.get("name") == "stdout")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    settings = dict(KERASCOMPACT_TUTORIAL_ROWS="1000", KERASCOMPACT_TUTORIAL_EPOCHS="2")
    return execute(FIRST, tmp_path_factory.mktemp("colab"), **settings)


@pytest.mark.slow
def test_the_file_predicts_what_keras_does(run):
    _, printed, _ = run
    assert "agreement: 1.0" in printed["verify"].splitlines()
    assert "argmax agreement 1.000000" in printed["verify"]


@pytest.mark.slow
def test_what_it_wrote_predicts(run):
    _, _, work = run
    folder = work / "first_compact_model"
    names = {"intents.tflite", "vocabulary.txt", "accuracy_against_bytes.png"}
    assert {path.name for path in folder.iterdir()} == names
    assert [path.name for path in work.iterdir()] == [folder.name]
    prediction = TextClassifier(folder / "intents.tflite").predict("wake me up at seven")
    assert prediction.label in prediction.labels and len(prediction.labels) == 150
    assert prediction.known == prediction.tokens == 5
    np.testing.assert_allclose(prediction.probabilities.sum(), 1, atol=1e-5)  # float32 softmax
    assert read_metadata(folder / "intents.tflite")["recipe"]["name"] == "int8"


@pytest.mark.slow
def test_it_shows_an_empty_text_and_unknown_words(run):
    _, printed, _ = run
    known, unknown, empty = printed["bad"].splitlines()
    assert "1 of 2 words known" in known
    assert "no word of the text is in the vocabulary" in unknown
    assert empty.endswith("`text` has no token: it is empty or white space only.")


@pytest.mark.slow
def test_it_compares_both_methods_at_three_sizes(run):
    _, printed, _ = run
    rows = [line.split() for line in printed["table"].splitlines()[1:]]
    assert sorted(row[0] for row in rows) == ["mixture"] * 3 + ["standard"] * 3
    sizes = {(row[0], row[1]): int(row[2].replace(",", "")) for row in rows}
    widths = {width for _, width in sizes}
    assert all(sizes["mixture", width] < sizes["standard", width] for width in widths)


@pytest.mark.slow
def test_it_shows_its_pictures_and_no_log_lines(run):
    notebook, printed, _ = run
    pictures = [
        cell.id
        for cell in notebook.cells
        if any("image/png" in out.get("data", {}) for out in cell.get("outputs", []))
    ]
    assert pictures == ["clusters-plot", "picture"]
    assert not any("tensorflow:" in text for text in printed.values())


@pytest.fixture(scope="module")
def codes(tmp_path_factory):
    settings = dict(KERASCOMPACT_TUTORIAL_ROWS="500", KERASCOMPACT_TUTORIAL_EPOCHS="2")
    return execute(SECOND, tmp_path_factory.mktemp("colab"), **settings)


@pytest.mark.slow
def test_codes_are_compressed_learned_and_shipped(codes):
    notebook, printed, work = codes
    compressed = printed["compress"].splitlines()[1:]
    assert len(compressed) == 5
    # scalar 2 bits, SVD at half the width, product and KD codes
    least = (4, 1.5, 4, 4)
    assert all(
        float(line.split()[-2]) > times for line, times in zip(compressed[1:], least, strict=True)
    )
    assert printed["export"].count("agreement: 1.0") == 3
    sizes = [int(line.split()[1].replace(",", "")) for line in printed["export"].splitlines()[::2]]
    assert sizes == sorted(sizes, reverse=True)  # float32, int8, int4
    assert {path.name for path in work.iterdir()} == {"learned_codes"}
    prediction = TextClassifier(work / "learned_codes" / "intents.tflite").predict("wake me up")
    assert prediction.label in prediction.labels


@pytest.mark.slow
def test_codes_are_read(codes):
    _, printed, _ = codes
    _, *lines = printed["read"].splitlines()
    # after these few steps, most words still have the common code
    assert 1 <= len(lines) <= 15 and all(re.match(r"[0-5]-[0-5]-[0-5] \S", line) for line in lines)


@pytest.fixture(scope="module")
def anchors(tmp_path_factory):
    settings = dict(KERASCOMPACT_TUTORIAL_ROWS="500", KERASCOMPACT_TUTORIAL_EPOCHS="3")
    return execute(THIRD, tmp_path_factory.mktemp("colab"), **settings)


@pytest.mark.slow
def test_anchors_are_sparse_and_shipped(anchors):
    notebook, printed, work = anchors
    full, sparse = (
        int(printed[cell].splitlines()[0].split()[-2].replace(",", "")) for cell in ("plain", "ant")
    )
    assert sparse < full
    facts = dict(line.split() for line in printed["ant"].splitlines()[1:])
    assert 0.1 < float(facts["sparsity"]) < 1
    assert printed["export"].count("agreement: 1.0") == 3
    sizes = [int(line.split()[-4].replace(",", "")) for line in printed["export"].splitlines()[::2]]
    assert sizes[1] > sizes[2]  # int8 after float32
    assert {path.name for path in work.iterdir()} == {"anchors_and_knowledge"}
    prediction = TextClassifier(work / "anchors_and_knowledge" / "intents.tflite").predict("hello")
    assert prediction.label in prediction.labels
    pictures = [cell.id for cell in notebook.cells if "image/png" in str(cell.get("outputs"))]
    assert pictures == ["pattern"]


@pytest.mark.slow
def test_anchors_are_told_what_is_related_and_read(anchors):
    _, printed, _ = anchors
    assert printed["graph"].startswith("<Graph of 3000 objects") and "checks ~" in printed["graph"]
    assert len(printed["related"].splitlines()) == 2
    left, right = printed["read"].split("\n\n")
    assert len(left.splitlines()) == 10 and len(right.splitlines()) == 8


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    settings = dict(KERASCOMPACT_TUTORIAL_ROWS="500", KERASCOMPACT_TUTORIAL_EPOCHS="2")
    return execute(FOURTH, tmp_path_factory.mktemp("colab"), **settings)


def numbers(text):
    """The columns of a table of accuracies, by the name of the line."""
    lines = [re.split(r" {2,}", line.strip()) for line in text.splitlines()[1:]]
    return {name: [float(cell.replace(",", "")) for cell in cells] for name, *cells in lines}


@pytest.mark.slow
def test_frequent_words_have_more_entries_of_as_many(sparse):
    notebook, printed, _ = sparse
    lengths = [int(line.split()[-2]) for line in printed["lengths"].splitlines()[1:]]
    assert lengths == sorted(lengths, reverse=True) and lengths[0] == 64 and lengths[-1] == 4
    table = {name: cells[1] for name, cells in numbers(printed["orders"]).items()}
    assert len(table) == 5
    few = table["dense, 16 columns"]
    assert all(abs(table[name] - few) <= 2 * 3000 for name in table if "order" in name)
    pictures = [cell.id for cell in notebook.cells if "image/png" in str(cell.get("outputs"))]
    assert pictures == ["lengths-plot"]


@pytest.mark.slow
def test_sparse_layers_are_smaller_and_their_files_agree(sparse):
    _, printed, _ = sparse
    (whole, table, wide, small) = (cells[2] for cells in numbers(printed["readers"]).values())
    assert whole > table > small and abs(wide - table) < 0.05 * table + 150 * 32
    assert printed["export"].count("agreement: 1.0") == 4
    sizes = [
        int(re.search(r"([\d,]+) bytes", line)[1].replace(",", ""))
        for line in printed["export"].splitlines()
    ]
    assert sizes[0] > sizes[1] > sizes[3] and sizes[0] > sizes[2] > sizes[3]


@pytest.mark.slow
def test_a_text_is_read_word_by_word(sparse):
    _, printed, work = sparse
    assert printed["states"].splitlines()[0].endswith("loops: 0")
    words = [line.split()[0] for line in printed["read"].splitlines()]
    assert words == ["how", "do", "i", "say", "hello", "in", "french"]
    assert printed["same"].endswith("same intent: True\n")
    names = {path.name for path in (work / "predefined_sparseness").iterdir()}
    assert names == {"intents_by_word.tflite", "vocabulary.txt"}
    assert read_metadata(work / "predefined_sparseness" / "intents_by_word.tflite")["labels"]


@pytest.fixture(scope="module")
def projected(tmp_path_factory):
    settings = dict(KERASCOMPACT_TUTORIAL_ROWS="1500", KERASCOMPACT_TUTORIAL_EPOCHS="4")
    return execute(FIFTH, tmp_path_factory.mktemp("colab"), **settings)


@pytest.mark.slow
def test_words_that_look_alike_share_bits(projected):
    _, printed, _ = projected
    shares = [int(line.split()[-4].rstrip("%")) for line in printed["bits"].splitlines()[1:]]
    same, plural, misspelt, upper, other, unlike = shares
    assert same == upper == 100 and plural > other > unlike and misspelt > other
    assert 40 <= unlike <= 60  # by chance: a half of 1120 bits, within many standard deviations


@pytest.mark.slow
def test_misspelt_words_cost_a_projection_less(projected):
    notebook, printed, _ = projected
    rows = [line.split() for line in printed["robust"].splitlines()[1:]]
    table, projection = ([float(row[place]) for row in rows] for place in (1, 2))
    assert len(rows) == 4 and projection[0] - projection[-1] < table[0] - table[-1]
    pictures = [cell.id for cell in notebook.cells if "image/png" in str(cell.get("outputs"))]
    assert pictures == ["picture"]


@pytest.mark.slow
def test_vectors_are_trained_and_have_neighbours(projected):
    _, printed, _ = projected
    losses = [float(value) for value in printed["pretrain"].split()[1:]]
    assert len(losses) == 4 and losses[-1] < losses[0]
    words = [line.split()[0] for line in printed["neighbours"].splitlines()]
    assert words[:2] == ["flight", "flihgt"] and len(words) == 7


@pytest.mark.slow
def test_one_file_takes_text(projected):
    _, printed, work = projected
    assert "agreement: 1.0" in printed["export"] and "no vocabulary" in printed["export"]
    assert {path.name for path in (work / "no_vocabulary").iterdir()} == {"intents.tflite"}
    assert len(printed["predict"].splitlines()) == 4


@pytest.fixture(scope="module")
def phone(tmp_path_factory):
    settings = dict(KERASCOMPACT_TUTORIAL_ROWS="1000", KERASCOMPACT_TUTORIAL_EPOCHS="2")
    return execute(SIXTH, tmp_path_factory.mktemp("colab"), **settings)


@pytest.mark.slow
def test_recipes_are_smaller_and_the_exact_ones_agree(phone):
    _, printed, _ = phone
    rows = {name: cells for name, *cells in map(str.split, printed["recipes"].splitlines()[1:])}
    sizes = {name: int(cells[0].replace(",", "")) for name, cells in rows.items()}
    assert sizes["float32"] > sizes["int8_tables"] > sizes["int8"] > sizes["int4"]
    assert sizes["dynamic"] < sizes["int8_tables"] and sizes["full_int8"] < sizes["int8_tables"]
    assert all(float(rows[name][2]) == 1 for name in ("float32", "int8_tables", "int8", "int4"))
    first = printed["doctor"].splitlines()[1]
    assert "could be saved" in printed["doctor"] and "float table" in first
    assert len(printed["refused"].splitlines()) == 2


@pytest.mark.slow
def test_one_file_takes_text_and_says_what_it_holds(phone):
    notebook, printed, work = phone
    assert "agreement: 1.0" in printed["verify"]
    assert "the vocabulary is inside" in printed["inspect"] and "int4" in printed["inspect"]
    assert "nothing to save" in printed["doctor-again"]
    assert printed["damage"].count("truncated or damaged") == 2
    assert "8 bits more for the first" in printed["shrink"]
    compared = printed["mediapipe-run"]
    assert compared.startswith(("mediapipe is not installed", "100.00 % of "))
    names = {"plain.tflite", "ids.tflite", "intents.tflite", "app.tflite", "treemap.png"}
    assert {path.name for path in (work / "to_the_phone").iterdir()} == names
    pictures = [cell.id for cell in notebook.cells if "image/png" in str(cell.get("outputs"))]
    assert pictures == ["picture"]


@pytest.mark.slow
def test_it_runs_where_no_tensorflow_is(phone):
    _, printed, _ = phone
    first, *_, last = printed["app"].splitlines()
    assert last == "TensorFlow is loaded: False"
    assert printed["runtime"].split()[0] == first.split("-> ")[1].split()[0]
    one, two = (
        int(n.replace(",", "")) for n in re.findall(r"([\d,]+) bytes", printed["signatures"])
    )
    assert one < two < 1.5 * one, "the graph of text in is there twice, tables are not"
    assert len(printed["similar"].splitlines()) == 2
    files = [line.split()[0] for line in printed["bench"].splitlines()[1:]]
    assert files == ["plain.tflite", "ids.tflite", "intents.tflite"]


@pytest.mark.slow
def test_a_search_finds_files_within_their_budgets(tmp_path):
    settings = {"ROWS": 450, "MINUTES": 5, "TRIALS": 3}
    settings = {f"KERASCOMPACT_TUTORIAL_{name}": str(value) for name, value in settings.items()}
    _, printed, work = execute(SEVENTH, tmp_path, **settings)
    files = {path.parent.name: path for path in (work / "a_budget").glob("*/model.tflite")}
    for name, most in {"16KiB": 2**14, "32KiB": 2**15, "64KiB": 2**16}.items():
        assert files[name].stat().st_size <= most
        assert f"{name}: {files[name].stat().st_size:,} bytes" in printed["save"]
    assert len(printed["use"].splitlines()) == 2 and (work / "a_budget/frontier.png").exists()


@pytest.mark.slow
def test_few_labels_have_help(tmp_path):
    settings = {"ROWS": 2000, "LABELS": 5, "EPOCHS": 2, "MINUTES": 5, "TRIALS": 2}
    settings = {f"KERASCOMPACT_TUTORIAL_{name}": str(value) for name, value in settings.items()}
    _, printed, work = execute(EIGHTH, tmp_path, **settings)
    sizes = [int(size.replace(",", "")) for size in re.findall(r"([\d,]+) bytes", printed["table"])]
    assert len(sizes) == 3 and max(sizes) <= 2**16
    assert [line.split(":")[0] for line in printed["neighbours"].splitlines()] == [
        "car",
        "money",
        "monday",
    ]
    assert len(printed["use"].splitlines()) == 2
    assert (work / "few_labels/model.tflite").stat().st_size == sizes[2]


@pytest.mark.slow
def test_a_language_model_generates(tmp_path):
    pytest.importorskip("keras_hub", "0.32", reason="pip install 'kerascompact[hub]'")
    settings = {"ROWS": 3000, "EPOCHS": 2, "SCORED": 30}
    settings = {f"KERASCOMPACT_TUTORIAL_{name}": str(value) for name, value in settings.items()}
    _, printed, work = execute(NINTH, tmp_path, **settings)
    sizes = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) bytes", printed["convert"])]
    assert len(sizes) == 5 and sizes[0] > sizes[1] > sizes[2] > sizes[3]
    perplexities = [float(one) for one in re.findall(r"(\d+\.\d\d)$", printed["compare"], re.M)]
    assert len(perplexities) == 4 and perplexities[1] < 1.02 * perplexities[0]
    assert len(printed["generate"].splitlines()) == 4
    assert (work / "language_models/trimmed_int4.tflite").stat().st_size == sizes[4]
    assert printed["pieces"].startswith("['[CLS]', 'what', ")
    report = printed["classifier"]
    assert "frozen model - file: argmax agreement 1.000000" in report
    assert report.splitlines()[-1].replace("_", "").isalpha()  # the name of a class


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_committed(path):
    notebook = read(path)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert not ABSOLUTE.search(json.dumps(cell)), cell.id
        if cell.cell_type == "code":
            assert "tf.keras" not in cell.source and "tf_keras" not in cell.source, cell.id
            assert len(cell.source.splitlines()) <= 20, cell.id  # short cells are read


def calls(path):
    """Every name of this package that a notebook reads, with the arguments of its calls."""
    cells = [cell.source for cell in read(path).cells if cell.cell_type == "code"]
    lines = "\n".join(cells).splitlines()
    tree = ast.parse("\n".join(re.sub(r"^( *)[%!].*", r"\1pass", line) for line in lines))
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "kerascompact":
            module = importlib.import_module(node.module)
            for alias in node.names:
                found = getattr(module, alias.name, None)
                if found is None:  # a room, or a module
                    found = importlib.import_module(f"{node.module}.{alias.name}")
                known[alias.asname or alias.name] = found

    def resolve(node):
        """What an expression stands for; `None`, if it is nothing of this package."""
        if isinstance(node, ast.Name):
            return known.get(node.id)
        owner = resolve(node.value) if isinstance(node, ast.Attribute) else None
        if inspect.ismodule(owner) or inspect.isclass(owner):
            assert hasattr(owner, node.attr), f"{owner.__name__} has no {node.attr}"
            return getattr(owner, node.attr)
        return None

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            resolve(node)
        found = resolve(node.func) if isinstance(node, ast.Call) else None
        if callable(found):
            yield found, node


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_calls_are_those_of_the_package(path):
    """Names and arguments, without running them: what a new name would break is seen at once."""
    seen = 0
    for function, node in calls(path):
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            continue
        names = {keyword.arg: None for keyword in node.keywords if keyword.arg is not None}
        try:
            inspect.signature(function).bind_partial(*node.args, **names)
        except TypeError as error:
            pytest.fail(f"{function.__name__}, line {node.lineno}: {error}")
        seen += 1
    assert seen >= 3


@pytest.mark.parametrize("text", ["at /home/me/a.txt", '"/tmp/x"', r"C:\\Users", "(/usr/lib)"])
def test_absolute_paths_are_noticed(text):
    assert ABSOLUTE.search(text)


@pytest.mark.parametrize("text", ["https://a.org/tmp/x", "1 / 3", "first/usr/x", "../tmp/"])
def test_addresses_and_fractions_are_no_paths(text):
    assert not ABSOLUTE.search(text)
