import numpy as np
import pytest

from benchmarks.lib import paper, results


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    for seed, accuracy in enumerate((0.5, 0.7)):
        spec = {"seed": seed, "method": "CE", "options": {"k": 4}}
        results.append("imdb", {"spec": spec, "label": "CE(k=4)", "file_accuracy": accuracy})
    results.append("imdb", {"spec": {"seed": 0, "method": "SE"}, "file_accuracy": 0.9})


def test_line_has_mean_spread_difference_and_seeds():
    line = paper.Line("Table 3", "CE", 61.5, "fewer epochs", "imdb", {"options.k": 4})
    assert paper.table([line]).splitlines()[2] == (
        "| Table 3 | CE | 61.5 | 60.00 ± 14.14 | -1.50 | 2 | fewer epochs |"
    )


def test_line_without_rows_has_its_reason_and_one_seed_has_no_spread():
    missing = paper.Line("Table 1", "Yelp", 90.0, "no data")
    alone = paper.Line("Table 3", "SE", None, "", "imdb", {"method": "SE"})
    assert paper.table([missing, alone]).splitlines()[2:] == [
        "| Table 1 | Yelp | 90 | - | - | - | no data |",
        "| Table 3 | SE | - | 90.00 | - | 1 |  |",
    ]


@pytest.mark.parametrize("where, count", [({}, 2), ({"method": "ME"}, 0)])
def test_rows_of_several_settings_or_none_are_refused(where, count):
    with pytest.raises(ValueError, match=f"Table 3, CE: rows of {count} settings, not of one"):
        paper.table([paper.Line("Table 3", "CE", 1.0, "", "imdb", where)])


def test_gain_and_share_are_taken_seed_by_seed():
    for seed, accuracy in enumerate((0.4, 0.5)):
        results.append("imdb", {"spec": {"seed": seed, "method": "ME"}, "file_accuracy": accuracy})
    where, base = {"options.k": 4}, {"method": "ME"}
    gain = paper.Line("4.2.3", "gain", 5.7, "", "imdb", where, base=base)
    np.testing.assert_allclose(paper.ours(gain), [10, 20])
    np.testing.assert_allclose(paper.ours(gain._replace(share=True)), [1.25, 1.4])
    with pytest.raises(ValueError, match="have no base"):
        paper.ours(gain._replace(base={"method": "SE"}))
