"""Which combinations `search.compact` builds: none that fits is left out for its graph's bytes."""

import keras
import pytest

from kerascompact import export
from kerascompact.search.parts import KEPT, Candidate, parts_of
from kerascompact.search.plan import Plan
from kerascompact.tflite import flatbuffer

# name -> bytes of arrays, loss, bytes of the graph
WAYS = {
    KEPT: (9000, 0.0, 1000),
    "integers": (3000, 0.1, 1500),
    "codes": (1500, 0.2, 5000),
    "factors": (900, 0.4, 2500),
    "anchors": (500, 0.8, 6000),
}


def plan_of(monkeypatch, names=("words",), kernels=()):
    """A plan with stubs for files, which have the bytes of arrays and graphs."""
    built = []

    def build(self, pick):
        built.append([one.name for one in pick])
        floats = sum(2000 for one in pick[len(names) :] if one.name == KEPT)  # not one operator
        graphs = sum(WAYS[one.name][2] for one in pick[: len(names)]) + floats
        return pick, None, bytes(sum(one.bytes for one in pick) + graphs)

    monkeypatch.setattr(Plan, "built", build)
    choices = [
        [Candidate(name, None, size, loss) for name, (size, loss, _) in WAYS.items()] for _ in names
    ]
    choices += [
        [Candidate(KEPT, None, 4000, 0.0), Candidate("int8", None, 1000, 0.1)] for _ in kernels
    ]
    return Plan(keras.Sequential(), [], [*names, *kernels], choices), built


def test_a_file_that_fits_is_found_beside_a_smallest_table_with_a_large_graph(monkeypatch):
    plan, _ = plan_of(monkeypatch)
    ((pick, _, file),) = plan._fitting(4500, joint=1)
    assert pick[0].name == "integers" and len(file) == 4500


def test_of_many_combinations_few_are_built_and_none_is_missed(monkeypatch):
    plan, built = plan_of(monkeypatch, names="abcdef")
    ((pick, _, file),) = plan._fitting(27_000, joint=1)
    assert [one.name for one in pick] == 6 * ["integers"] and len(file) == 27_000
    assert len(built) <= 1 + 6 * len(WAYS)


def test_the_error_names_the_smallest_file(monkeypatch):
    plan, _ = plan_of(monkeypatch)
    with pytest.raises(ValueError, match=r"at least 3,400 bytes \(words 900, the rest 2,500\)"):
        plan._fitting(3399, joint=1)
    assert len(plan._fitting(3400, joint=1)[0][2]) == 3400


def test_what_fits_is_not_refused_where_rounded_kernels_have_the_plainer_graph(monkeypatch):
    plan, _ = plan_of(monkeypatch, kernels=["lstm"])
    for budget in (4400, 5500):
        ((pick, _, file),) = plan._fitting(budget, joint=1)
        assert pick[1].name == "int8" and 4400 <= len(file) <= budget
    with pytest.raises(ValueError, match="at least 4,400 bytes"):
        plan._fitting(4399, joint=1)


def test_files_are_compared_without_names_which_those_from_64_kib_on_have():
    ids = keras.Input((4,), dtype="int32")
    model = keras.Model(ids, keras.layers.Embedding(4200, 4, name="words")(ids))
    large = Plan(model, parts_of(model), [], []).built((Candidate(KEPT, None, 67_200, 0.0),))[2]

    def names(file):
        (graph,) = flatbuffer.parse(file).subgraphs
        return sum(bool(tensor.name) for tensor in graph.tensors)

    assert names(large) == 2 < names(export.convert(model, "float32"))  # input and output
