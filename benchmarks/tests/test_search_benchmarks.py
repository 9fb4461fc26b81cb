"""The benchmarks of `search`: rivals asked again, tables of made-up rows, sizes of a few files."""

import numpy as np
import pytest

from benchmarks.product import (
    budgets,
    fasttext_autotune,
    search_compact,
    search_files,
    search_sizes,
    text_bytes,
)
from kerascompact.search.setting import Setting
from kerascompact.search.sizes import Sizes
from kerascompact.search.word_sizes import sample_words


class Files:
    """Stands for fastText's files: accuracies are given, and files are what the test writes."""

    def __init__(self, folder):
        self.folder = folder

    def accuracy(self, path, split):
        return {"dev": 0.5, "test": 0.25}[split]


@pytest.mark.parametrize(("sizes", "attempts"), [([900], 1), ([1126, 1010, 980], 3)])
def test_the_rival_is_asked_for_less_until_its_file_fits(tmp_path, monkeypatch, sizes, attempts):
    asked = []

    def train(folder, path, size, spec):
        path.write_bytes(bytes(sizes[len(asked)] * 1024 // 1000))
        asked.append(size)

    monkeypatch.setattr(fasttext_autotune, "_in_a_process", train)
    spec = fasttext_autotune.Spec("trec", 1)
    row = fasttext_autotune.tuned(Files(tmp_path), spec)
    assert row["attempts"] == attempts and row["bytes"] <= 1024
    assert (row["dev_accuracy"], row["file_accuracy"], row["error"]) == (0.5, 0.25, None)
    assert asked[0] == 1024 and asked == sorted(asked, reverse=True)


def test_a_rival_that_fails_has_no_accuracy(tmp_path, monkeypatch):
    monkeypatch.setattr(fasttext_autotune, "_in_a_process", lambda *a: "no model so small")
    spec = fasttext_autotune.Spec("trec", 16)
    row = fasttext_autotune.tuned(Files(tmp_path), spec)
    assert row["bytes"] is None and row["error"] == "no model so small"
    line = fasttext_autotune.table([{**row, "spec": spec._asdict()}]).splitlines()[-1]
    assert line.startswith("| trec | 16 | 0 of 1 | none | ")


def test_table_of_searches_has_the_rivals_beside(monkeypatch):
    file = {"budget": 16384, "bytes": 16000, "dev_accuracy": 0.8, "file_accuracy": 0.75}
    rows = [
        {
            "spec": budgets.Spec("trec", seed=seed)._asdict(),
            "files": [{**file, "bytes": 16000 + seed}],
            "trials": {"16KiB": {"complete": 20 + seed, "pruned": 1}},
        }
        for seed in (0, 2)
    ]
    arms = {"grid": [{"file_accuracy": 0.7}], "autotune": [{"file_accuracy": None}]}
    monkeypatch.setattr(budgets, "rivals", lambda: {("trec", 16): arms})
    cells = [cell.strip() for cell in budgets.table(rows).splitlines()[-1].split("|")[1:-1]]
    assert cells[:7] == ["trec", "16", "10", "2", "2", "22", "16,002"]
    assert cells[7].startswith("80.00") and cells[8].startswith("75.00")
    assert cells[9] == "none" and cells[10].startswith("70.00") and cells[11] == "-"


def test_sizes_of_a_few_files(monkeypatch, tmp_path):
    monkeypatch.setattr(search_sizes, "DRAWN", 3)
    worker = search_sizes.worker_of(tmp_path, "clinc150", None)
    found = search_sizes.files(search_sizes.Spec("clinc150", 1), worker)
    for file in found:
        assert file["bytes"] <= file["budget"]
        assert abs(file["predicted"] - file["bytes"]) < 0.005 * file["bytes"]
    text = search_sizes.table([{"files": found}])
    assert text.splitlines()[-1].startswith("| all | 3 | ")


def test_table_of_files_counts_those_over_their_budget():
    made = [(20_000, 19_900), (30_000, 30_001), (2_000_000, 500_000)]
    files = [{"budget": budget, "bytes": size} for budget, size in made]
    assert search_files.table([{"files": files[:1]}, {"files": files[1:]}]).splitlines()[2:] == [
        "| 8 to 32 | 2 | 1 | 99.8 | 99.5 |",
        "| 512 to 2048 | 1 | 0 | 25.0 | 25.0 |",
        "| 8 to 2048 | 3 | 1 | 99.5 | 25.0 |",
    ]


def test_windows_of_running_text():
    x, y = search_compact.windows(np.arange(100))
    assert x.shape == y.shape == (2, 35) and (y == x + 1).all()


def test_bytes_by_part_of_a_file():
    sizes = Sizes(("yes", "no", "perhaps"), 12)
    setting = Setting(202, 8, stored="slots", skip_unknown=True, recipe="int4")
    file = sizes.convert(setting, sample_words(200))
    found = text_bytes.parts(file, setting, sizes)
    assert sum(found.values()) == len(file) and tuple(found) == text_bytes.PARTS
    assert found["words"] == 200 and found["vectors"] == 202 * 4 + 8 * 4
    assert found["kernels"] == 4 * 3 * (8 + 1)  # float32: so small a kernel is not rounded
    assert 200 < found["metadata"] < 600 and found["operators"] < 5000


def test_table_of_bytes_has_a_line_for_each_hash():
    parts = dict(zip(text_bytes.PARTS, (7000, 2700, 3000, 400, 2800), strict=True))
    rows = [
        {
            "spec": text_bytes.Spec("trec", hash=number, seed=seed)._asdict(),
            "bytes": 16_000 + seed,
            "parts": parts,
            "operators": 40 + seed,
            "dev_accuracy": 0.8,
            "file_accuracy": 0.75,
            "setting": {"words": 500},
        }
        for number in (2, 1)
        for seed in (0, 2)
    ]
    first, second = text_bytes.table(rows).splitlines()[-2:]
    assert first.startswith("| trec | 1 | 2 | 41 | 7,000 | 2,700 | 3,000 | 400 | 2,800 | 16,002 |")
    assert second.startswith("| trec | 2 | 2 | 41 |") and "75.00" in second
