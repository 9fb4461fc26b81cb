"""Table 2 of the KD paper: its sizes, its specs, its table."""

import pytest

from benchmarks.kd_codes import kd_paper
from benchmarks.lib import results, runner, text_runs
from kerascompact.tasks.measure import parameters
from kerascompact.tasks.methods import build_embedding
from tiny_task import dataset


def kd(**options):
    return build_embedding("kd", 69_323, 300, **{**kd_paper.KD, **options})


def test_parameters_of_kd_codes_are_the_papers():
    """0.308 M = K D d' + C on every set: what batch normalization learns is C."""
    layer = kd(codes="fixed")  # logits of 69,323 words would take 284 MB
    assert parameters(layer) == 32 * 32 * 300 + 2 * 300 == 307_800


def test_bits_of_kd_codes_are_the_papers():
    layer = kd(codes="fixed")
    layer.build()
    assert layer.paper_bits() == 69_323 * 32 * 5 + 32 * (32 * 32 * 300 + 2 * 300)
    assert layer.paper_bits() / 1e9 == pytest.approx(0.021, abs=5e-4)  # AG News, in Gbit


@pytest.mark.parametrize("ratio, millions", [(0.1, 2.019), (0.05, 0.975)])
def test_parameters_of_low_rank_are_the_papers(ratio, millions):
    layer = build_embedding("low_rank", 69_323, 300, ratio=ratio)
    assert round(layer.rank * (69_323 + 300) / 1e6, 3) == millions  # AG News


def test_specs_are_every_method_on_every_set_seed_by_seed():
    found = kd_paper.specs((0, 1))
    assert len(found) == len(set(map(str, found))) == 2 * 5 * 5
    assert [spec.seed for spec in found] == [0] * 25 + [1] * 25
    sets = ["trec", "clinc150", "ag_news", "dbpedia_subset", "imdb"]
    assert [spec.dataset for spec in found[:25:5]] == sets
    names = [kd_paper.name_of({"spec": spec._asdict()}) for spec in found[:5]]
    assert names == list(kd_paper.METHODS)
    labels = {spec.label for spec in found[:5]}
    assert f"KD(K=32, D=32, m=300, v={found[0].size})" in labels
    assert f"LR(ratio=0.05, m=300, v={found[0].size})" in labels


def test_table_has_a_line_for_each_set_and_method(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(text_runs.datasets, "load", lambda name, data_dir: dataset())
    small = {"size": 30, "length": 6, "width": 8, "epochs": 1}
    specs = [spec._replace(**small) for spec in kd_paper.specs((0, 1)) if spec.dataset == "trec"]
    assert len(specs) == 10
    rows = text_runs.run_all(specs, "kd_text")
    lines = kd_paper.table(rows).splitlines()
    assert kd_paper.table(rows[::-1]).splitlines() == lines  # in the paper's order
    assert len(lines) == 2 + 5
    assert [line.split(" | ")[1] for line in lines[2:]] == list(kd_paper.METHODS)
    assert {line.count("|") for line in lines} == {13}
    assert all(" | 2 | " in line for line in lines[2:])
    assert len(results.rows("kd_text")) == 10


def test_dev_rows_are_of_codes_without_a_guide():
    found = kd_paper.dev_specs((0, 1))
    assert len(set(map(str, found))) == 2 * 5 * 2
    rows = [{"spec": spec._asdict(), "dev_accuracy": 0.5} for spec in found]
    lines = kd_paper.table(rows).splitlines()
    assert lines[2:4] == [
        "| trec | KD, no guide | 0.01 | 0.5 | 2 | 50.00 ± 0.00 |",
        "| trec | KD, no guide, logits normalized | 0.01 | 0.5 | 2 | 50.00 ± 0.00 |",
    ]
    assert not any("guidance" in spec._asdict()["options"] for spec in found)


def test_rates_of_dbpedia_are_the_best_of_its_trials():
    wanted = [runner.facts(spec) for spec in kd_paper.tried()]
    trials = [row for row in results.rows("kd_text_dev") if row["spec"] in wanted]
    assert len(trials) == len(wanted)
    used = next(base for base in kd_paper.BASES if base.dataset == "dbpedia_subset")
    for name in ("SE", "LR 10x", kd_paper.UNGUIDED[1], "KD"):
        group = [row for row in trials if kd_paper.name_of(row) == name]
        best = max(row["dev_accuracy"] for row in group)
        chosen = kd_paper.spec_of(used, name)._asdict()
        (one,) = (row for row in group if row["spec"] == runner.facts(chosen))
        assert one["dev_accuracy"] == best
