"""Comparisons in the README and the page of the product, computed again from committed rows."""

from statistics import mean, stdev

from benchmarks.lib import results
from benchmarks.lib.experiments import ROOT
from benchmarks.product import budgets
from kerascompact.search.sizes import MARGIN

RESULTS = " ".join((ROOT / "benchmarks/product/RESULTS.md").read_text("utf-8").split())
README = " ".join((ROOT / "README.md").read_text("utf-8").split())


def test_numbers_of_the_readme():
    groups = {}
    for row in results.rows("phone"):
        groups.setdefault((row["arm"], row["recipe"]), []).append(row)
    keras, int4, clusters = (
        (
            mean(row["file_bytes"] for row in groups[key]),
            100 * mean(row["file_accuracy"] for row in groups[key]),
        )
        for key in (("SE", "float32"), ("SE", "int4"), ("ME", "int4"))
    )
    times, points = (
        [round(keras[0] / one[0]) for one in (int4, clusters)],
        [f"{keras[1] - one[1]:.1f}" for one in (int4, clusters)],
    )
    said = "{} times smaller for {} points of accuracy, {} times for {}."
    assert said.format(times[1], points[1], times[0], points[0]) in README
    assert f"{keras[0]:,.0f} bytes with {keras[1]:.1f} %" in README
    assert f"with 4-bit tables {int4[0]:,.0f} bytes and {int4[1]:.1f} %" in README
    assert f"it has {clusters[0]:,.0f} bytes and {clusters[1]:.1f} %" in README
    (stock,) = (group for key, group in groups.items() if key[1] == "converter, dynamic range")
    size, right = (mean(row[key] for row in stock) for key in ("file_bytes", "file_accuracy"))
    assert f"TensorFlow's 8 bits: {size:,.0f} and {100 * right:.1f} %" in README


def searched():
    """Test accuracies of each cell, and of each rival in it, in percent."""
    ours, rivals = {}, budgets.rivals()
    for row in budgets.of_the_page():
        for file in row["files"]:
            key = row["spec"]["dataset"], file["budget"] // 1024
            ours.setdefault(key, []).append(100 * file["file_accuracy"])
    theirs = {
        key: {
            arm: made
            for arm, group in rivals.get(key, {}).items()
            if (made := [100 * row["file_accuracy"] for row in group if row["file_accuracy"]])
        }
        for key in ours
    }
    return ours, theirs


def spread(scores):
    """The standard deviation, 0 of a single score."""
    return stdev(scores) if len(scores) > 1 else 0.0


def mean_of_sets(kind, **changed):
    """Mean accuracy of each set over its budgets and seeds, in percent, on dev or of the files."""
    found = {}
    for row in budgets.of_ten_minutes(**changed):
        scores = [100 * file[f"{kind}_accuracy"] for file in row["files"]]
        found.setdefault(row["spec"]["dataset"], []).extend(scores)
    return {name: mean(scores) for name, scores in found.items()}


def test_searches_of_the_readme():
    ours, theirs = searched()
    best = {key: max(theirs[key].values(), key=mean) for key in ours}
    leads = {key: mean(scores) - mean(best[key]) for key, scores in ours.items()}
    behind = [key for key, lead in leads.items() if lead < -1e-9]
    clear = [k for k, lead in leads.items() if lead > max(spread(ours[k]), spread(best[k]))]
    assert f"in {len(clear)} by more than the spread" in README
    assert f"in {len(clear)} by more than the spread" in RESULTS
    claim = f"in {len(ours) - len(behind)} of {len(ours)} cells"
    assert claim in README and claim in RESULTS
    assert behind == [("trec", 128)]
    assert "behind on TREC at 128 KiB" in RESULTS
    seeds = {}
    for row in budgets.of_the_page():
        seeds.setdefault(row["spec"]["dataset"], set()).add(row["spec"]["seed"])
    assert set(map(len, seeds.values())) == {3} and len(seeds) == 5


def test_a_dev_that_decides_alone():
    """TREC's files of both arms, and how far the usual one is behind fastText's."""
    arms = {True: {}, False: {}}
    for row in results.rows("dev_alone"):
        for file in row["files"]:
            found = arms[row["spec"]["dev_alone"]].setdefault(file["budget"] // 1024, [])
            found.append(100 * file["file_accuracy"])
    alone, usual = ({size: mean(scores) for size, scores in arm.items()} for arm in arms.values())
    worse = [size for size in alone if alone[size] < usual[size]]
    assert worse == [32, 64, 128]
    said = f"of three worse: {mean(alone.values()):.1f} and {mean(usual.values()):.1f} on average"
    assert said in RESULTS
    for size, scores in arms[True].items():
        clear = abs(alone[size] - usual[size]) > max(spread(scores), spread(arms[False][size]))
        assert clear == (size == 16)
    before, theirs = searched()
    now = mean(usual.values()) - mean(mean(before["trec", size]) for size in usual)
    assert f"TREC's files have {-now:.1f} points less on test" in RESULTS
    leads = [usual[size] - max(map(mean, theirs["trec", size].values())) for size in usual]
    assert abs(max(leads)) < 0.05 and sum(lead < -1e-9 for lead in leads) == 3
    assert f"and level to {-min(leads):.1f} behind with half the trials" in README


def test_shorter_searches_of_other_kinds():
    two, ten = (mean_of_sets("file", minutes=minutes, distil=True) for minutes in (2, 10))
    two = {name: score - ten[name] for name, score in two.items()}
    assert len(two) == 5
    assert abs(mean(two.values())) < 0.05
    assert "Two minutes are as good as ten on average" in RESULTS
    worst = sorted(two, key=two.get)[:2]
    assert worst == ["ag_news", "imdb"]
    assert f"{-two['ag_news']:.1f} points less on AG News and {-two['imdb']:.1f} on IMDB" in RESULTS
    assert max(abs(two["clinc150"]), abs(two["snips"])) < 0.05
    assert f"the same on CLINC150 and SNIPS, {two['trec']:.1f} more on TREC" in RESULTS
    speeds = []
    for workers in (1, 2, 4):
        found = [
            60 * budgets.begun(row) / row["seconds"]
            for row in budgets.of_ten_minutes(minutes=2, workers=workers, distil=True)
            if row["spec"]["dataset"] == "clinc150"
        ]
        speeds.append((f"{mean(found):.1f}", len(found)))
    (one, _), (two, seeds), (four, _) = speeds
    assert f"One process begins {one} trials a minute on two cores, two {two}" in RESULTS
    assert seeds == 3 and f"(three seeds), four {four}." in RESULTS


def test_searches_with_soft_labels_and_without():
    sets = {"trec": "TREC", "snips": "SNIPS", "imdb": "IMDB"}
    said = []
    for name, shown in sets.items():
        more = [
            mean_of_sets(kind, distil=False)[name] - mean_of_sets(kind, distil=True)[name]
            for kind in ("dev", "file")
        ]
        dev, test = (round(one, 1) + 0.0 for one in more)  # no -0.0
        said.append(f"{shown} {dev:+.1f} and {test:+.1f}")
    assert "; ".join(said) in RESULTS
    assert max(abs(mean_of_sets("dev", distil=False)[one] -
                   mean_of_sets("dev", distil=True)[one]) for one in sets) < 0.3  # fmt: skip
    files = [file for row in budgets.of_ten_minutes(distil=True) for file in row["files"]]
    count = sum(file["setting"]["soft"] > 0 for file in files)
    assert f"{count} of {len(files)} files learned from soft labels" in RESULTS
    for row in budgets.of_ten_minutes():
        if row["spec"]["dataset"] == "clinc150":
            spec = {**row["spec"], "distil": True}
            (same,) = (one for one in results.rows("budgets") if one["spec"] == spec)
            assert row["files"] == same["files"]


def test_random_budgets():
    files = [file for row in results.rows("search_files") for file in row["files"]]
    assert all(file["bytes"] <= file["budget"] for file in files)
    assert f"None of {len(files)} is over." in RESULTS


def test_models_of_keras_hub():
    rows = results.rows("keras_hub")
    assert f"All {len(rows)} text backbones and tasks" in README
    assert all(row["passes"] for row in rows)
    assert max(row["difference"] for row in rows) < 1e-5
    opened = sum(row["keras_open"].get("difference") is not None for row in rows)
    fixed = sum(row["keras_fixed"].get("difference") is not None for row in rows)
    assert f"Keras' own export runs for {opened} of {len(rows)}, {fixed} with fixed" in RESULTS
    twice = [r for r in rows if (r["keras_fixed"].get("bytes") or 0) > r["bytes"] + 200_000]
    tied = {row["spec"]["model"].removesuffix("CausalLM") for row in twice}
    assert tied == {"Gemma", "Gemma3", "Qwen", "Qwen3", "SmolLM3"}
    found = results.rows("generation")
    assert f"{len(found)} language models generate the tokens of Keras" in README
    assert all(row["equal"] == 4 for row in found)
    ours = [row["tokens_per_second"] for row in found]
    graph = [row["tokens_per_second"] / row["keras_tokens_per_second"] for row in found]
    assert min(graph) >= 6 and max(graph) <= 12.5 and "6 to 12 times as fast as the" in RESULTS
    xla = [row["keras_xla_tokens_per_second"] / mine for row, mine in zip(found, ours, strict=True)]
    assert min(xla) >= 1.35 and max(xla) <= 2.75 and "is 1.4 to 2.7 times as fast" in RESULTS


def test_a_small_gpt():
    found = {row["spec"]["stored"]: row for row in results.rows("gpt")}
    scores = {name: f"{row['perplexity']:.1f}" for name, row in found.items()}
    assert f"Perplexity {scores['float32']} in float32, {scores['int4']} with tables" in RESULTS
    assert f"{scores['dynamic_int4']} with a scale for each word" in RESULTS
    assert 5.5 < found["float32"]["bytes"] / found["int4"]["bytes"] < 6.5
    for row in found.values():
        assert row["keras_perplexity"] == found["float32"]["keras_perplexity"]
    whole = found["float32"]
    faster = found["dynamic_int4"]["tokens_per_second"] / whole["tokens_per_second"]
    hub = " ".join((ROOT / "docs" / "keras_hub.md").read_text().split())
    assert f"at a fifth of the bytes and {faster:.1f} times the speed" in hub
    assert abs(whole["perplexity"] / whole["keras_perplexity"] - 1) < 1e-4


def test_a_large_table():
    found = {row["spec"]["kind"]: row for row in results.rows("large_table")}
    int8, int4 = (found[f"{bits}, integers"] for bits in ("int8", "int4"))
    assert int4["milliseconds"] <= 1.5 * int8["milliseconds"]
    codes = found["codes of 160 x 256"]["milliseconds"]
    exact = found["int4 by rows"]["milliseconds"]
    times = [f"{one['milliseconds']:.0f}" for one in (int4, int8)]
    said = f"In {times[0]} ms, int8 in {times[1]}; {exact:.0f} without rounded inputs, "
    assert f"{said}{codes:.0f} for codes." in RESULTS


def test_trimmed_vocabularies():
    for row in results.rows("trimmed"):
        assert row["same_tokens"] == 1.0 and row["difference"] <= 1e-6
    saved = {
        (row["spec"]["dataset"], row["spec"]["tokenizer"]): 100
        * (1 - row["trimmed_bytes"] / row["bytes"])
        for row in results.rows("trimmed")
        if row["spec"]["keep"] is None
    }
    first, second = (f"{saved[name, 'WordPiece']:.0f}" for name in ("clinc150", "ag_news"))
    assert f"{first} % on CLINC150, {second} on AG News" in RESULTS


def test_wordpiece_in_a_file():
    (file,), texts = (
        [row for row in results.rows("wordpiece") if (row["spec"]["kind"] == "file") == kind]
        for kind in (True, False)
    )
    assert all(row["equal"] == row["texts"] and not row["different"] for row in texts)
    count = sum(row["texts"] for row in texts)
    said = f"for all of {count:,} texts, in {file['bytes'] / 1000:.0f} KB with the operators."
    assert said in RESULTS and file["microseconds"] < 150
    methods = " ".join((ROOT / "docs" / "methods.md").read_text().split())
    assert f"30,522 pieces: {file['bytes'] / 1000:.0f} KB with the operators" in methods


def test_fasttext_of_the_readme():
    ours, theirs = searched()
    ahead = {
        key: mean(ours[key])
        - max(mean(theirs[key][arm]) for arm in ("autotune", "grid") if arm in theirs[key])
        for key, score in ours.items()
    }
    clinc, trec = ([ahead[name, kib] for kib in (16, 32, 64, 128)] for name in ("clinc150", "trec"))
    assert f"{min(clinc):.0f} to {max(clinc):.0f} points ahead of the better of" in README
    assert f"with 500 test questions, {max(trec):.1f} ahead to {-min(trec):.1f} behind" in README


def test_few_labels():
    arms, files = {}, {}
    for row in results.rows("few_labels"):
        spec, (small, large) = row["spec"], row["files"]
        assert (small["budget"], large["budget"]) == (65_536, 262_144)
        key = spec["dataset"], spec["labels"], spec["arm"]
        arms.setdefault(key, []).append(100 * small["file_accuracy"])
        files.setdefault(key, []).append(100 * large["file_accuracy"])

    def shown(*sample):
        return [f"{mean(arms[*sample, arm]):.1f}" for arm in ("random", "vectors", "teacher")]

    plain, vectors, teacher = shown("ag_news", 100)
    assert f"labels of AG News: from {plain} to {vectors} and {teacher}" in RESULTS
    plain, _, teacher = shown("imdb", 1000)
    large = f"{mean(files['imdb', 1000, 'teacher']):.1f}"
    assert f"IMDB from {plain} to {teacher}" in RESULTS
    assert f"the files have {teacher} (64 KiB) and {large} (256 KiB)" in RESULTS
    plain, vectors, teacher = shown("ag_news", 1000)
    three = [len(found) for key, found in arms.items() if key[1] == 1000]
    assert three == [3] * 6
    assert f"from {plain} to {vectors} and {teacher}" in RESULTS
    assert f"1,000 of AG News give {teacher} %, without {plain} %" in README
    rivals = [
        row
        for row in results.rows("few_labels_rivals")
        if (row["spec"]["dataset"], row["spec"]["rival"]) == ("ag_news", "fasttext")
        and row["spec"]["labels"] == 1000
    ]
    assert len(rivals) == 3
    accuracy, size = (mean(row[key] for row in rivals) for key in ("accuracy", "bytes"))
    assert f"has {100 * accuracy:.1f} in {size / 1e6:.0f} MB" in RESULTS
    axes = [
        100 * row["accuracy"]
        for row in results.rows("few_labels_rivals")
        if (row["spec"]["dataset"], row["spec"]["labels"]) == ("imdb", 1000)
        and row["spec"]["rival"] == "tfidf_axes"
    ]
    assert len(axes) == 3 and f"has {mean(axes):.1f} with scikit-learn" in RESULTS


def test_all_labels_with_vectors():
    found = {
        (row["spec"]["dataset"], row["spec"]["arm"]): 100 * row["file_accuracy"]
        for row in results.rows("few_labels_all")
        if row["spec"]["seed"] == 0
    }
    trec, clinc = (
        {found[name, arm] for arm in ("vectors", "teacher")} for name in ("trec", "clinc150")
    )
    assert f"one that starts at random and has {trec.pop():.1f}, behind searches" in RESULTS
    assert f"one with vectors and without soft labels, {clinc.pop():.1f}." in RESULTS
    assert not trec and not clinc  # both arms ship one file


def test_a_trained_model_within_a_budget():
    rows = [row for row in results.rows("search_compact") if not row["spec"]["epochs"]]
    assert [row["spec"]["share"] for row in rows] == [4, 8, 16, 32]
    lost = [100 * (row["perplexity"] / row["whole_perplexity"] - 1) for row in rows]
    shown = f"{lost[0]:.1f}, {lost[1]:.1f}, {lost[2]:.0f} and {lost[3]:.0f} % of perplexity"
    assert shown in RESULTS
    for row in rows:
        hands = [hand["perplexity"] for hand in row["hands"].values()]
        assert row["bytes"] <= row["budget"]
        assert all(row["perplexity"] <= 1.005 * hand for hand in hands)
    assert f"perplexity on test is {rows[0]['whole_perplexity']:.1f}" in RESULTS


def test_sizes_before_training():
    files = [file for row in results.rows("search_sizes") for file in row["files"]]
    error = max(abs(file["predicted"] / file["bytes"] - 1) for file in files)
    assert f"Within {100 * error:.2f} %, of {len(files)} settings." in RESULTS
    assert all(file["bytes"] <= file["budget"] for file in files)
    assert error < 0.005
    for file in files:
        assert file["bytes"] - file["predicted"] <= MARGIN


def test_bytes_of_a_small_file():
    rows = results.rows("text_bytes")
    arms = {
        (name, number): [
            row for row in rows if (row["spec"]["dataset"], row["spec"]["hash"]) == (name, number)
        ]
        for name in ("clinc150", "trec")
        for number in (1, 2)
    }
    assert [len(arm) for arm in arms.values()] == [3, 3, 6, 6] and len(rows) == 18
    before, after = (
        mean(row["parts"]["operators"] + row["parts"]["metadata"] for row in arms["clinc150", one])
        for one in (1, 2)
    )
    assert f"took {before / 1000:.1f} KB, and take {after / 1000:.1f}" in RESULTS
    old, new = (mean(row["file_accuracy"] for row in arms["clinc150", one]) for one in (1, 2))
    assert f"CLINC150 gains {100 * (new - old):.1f} points" in RESULTS
    old, new = (mean(row["file_accuracy"] for row in arms["trec", one]) for one in (1, 2))
    assert f"points, TREC {100 * (new - old):.1f}." in RESULTS
    assert all(row["bytes"] <= 16 * 1024 for row in rows)


def test_files_whose_models_are_lost():
    ours = [row for row in results.rows("shrunk") if "quantizer" not in row["spec"]["route"]]
    files = {(row["spec"]["file"], row["spec"]["route"], row["spec"]["seed"]) for row in ours}
    assert len(files) == len(ours) == 4 * 3 + 3 + 2
    times = {kind: [] for kind in ("test", "random")}
    for row in ours:
        times[row["outputs"][0]["inputs"]].append(row["bytes_before"] / row["bytes_after"])
    low, high = (f"{one:.1f}" for one in (min(times["test"]), max(times["test"])))
    most = max(times["random"])
    said = f"{low} to {high} times of a trained file, up to {most:.1f} of random numbers"
    assert said in RESULTS
    codes = [row for row in ours if row["spec"]["route"] == "codes of 2"]
    assert f"{mean(row['bytes_after'] for row in codes):,.0f} bytes keeps 99.9 %" in RESULTS
    assert min(row["outputs"][0]["same_class"] for row in codes) >= 0.999
    assert {row["outputs"][0]["rows"] for row in codes} == {25_000}
    large = [row for row in ours if "30,522" in row["spec"]["file"]]
    first, second = (row["bytes_before"] / row["bytes_after"] for row in large)
    assert f"large one {first:.2f} times smaller, int4 {second:.2f} times" in RESULTS


def test_every_text_has_the_class_of_keras_in_mediapipe():
    rows = results.rows("in_mediapipe")
    sets = {row["spec"]["dataset"]: row["test_rows"] for row in rows}
    assert f"For all {sum(sets.values()):,} test texts of three sets" in RESULTS
    assert all(share == 1 for row in rows for share in row["same_class"].values())
    assert len(rows) == 27


def test_from_bytes_to_class():
    for row in results.rows("text_speed"):
        times = {arm: one["microseconds"] for arm, one in row["arms"].items()}
        assert 16 < times["MediaPipe"] / times["ours, ids"] < 17
        assert 0.9 < times["ours, ids, bare"] / times["Keras, float32"] < 1.1
        assert max(times["fastText"], times["Keras, float32"]) < times["ours, ids"]
        assert 0.5 < times["ours, from ids to class"] / times["fastText"] < 0.95
        assert row["arms"]["ours, ids"]["accuracy"] == row["arms"]["ours, text in"]["accuracy"]


def test_files_of_integers_alone():
    lost, errors = {}, {}
    for row in results.rows("integers"):
        for name, file in row["files"].items():
            lost.setdefault((name, row["label"]), []).append(100 * (row["test"] - file["test"]))
            errors.setdefault((name, row["label"]), []).append(file["error"])
    networks = {label for _, label in lost}

    def losses(name):
        return sorted(mean(lost[name, label]) for label in networks)

    assert max(losses("ours, full_int8")) < 0.2 and all(len(one) == 3 for one in lost.values())
    assert [round(one) for one in losses("TensorFlow's converter")] == [0, 0, 14, 47]
    assert f"{losses('litert-quantizer, static int8')[-1]:.1f}" == "6.7"
    assert "Ours within 0.2 points; TensorFlow's converter loses 14 and 47 on two" in RESULTS
    assert "an eighth to half of the error, in fewer bytes" in RESULTS
    shares = [
        mean(errors["ours, int8 kernels", label]) / mean(errors["ours, full_int8", label])
        for label in networks
    ]
    assert min(shares) > 1 / 8.5 and max(shares) < 0.5
