"""Comparisons in the prose of the papers' pages, computed again from the committed rows."""

from statistics import mean, stdev

import pytest

from benchmarks.kd_codes import graph, kd_paper
from benchmarks.lib import results
from benchmarks.lib.experiments import ROOT

RESULTS = " ".join(
    " ".join((ROOT / "benchmarks" / folder / "RESULTS.md").read_text("utf-8").split())
    for folder in ("anchors", "clusters", "kd_codes", "projections", "sparseness")
)


def by_label(name):
    """Test perplexities of the seeds of each row of a table."""
    found = {}
    for row in results.rows(name):
        found.setdefault(row["label"], []).append(row["test_perplexity"])
    return found


def test_low_rank_on_penn_treebank():
    rows = {row["label"]: row for row in results.rows("ptb")}
    given = ["KD pretrained", "KD PDG"]
    best_first = [*given, "LR 0.1", "KD", "LR 0.2", "KD ODG", "SE", "KD random"]
    assert sorted(best_first, key=lambda name: rows[name]["test_perplexity"]) == best_first
    behind = rows["KD random"]["test_perplexity"] - rows["SE"]["test_perplexity"]
    assert f"last, {behind:.1f} points behind the full table" in RESULTS
    ahead = [rows["SE"]["test_perplexity"] - rows[name]["test_perplexity"] for name in given]
    assert f"vectors {ahead[1]:.1f} points, and with codes of that table" in RESULTS
    assert f"the rest is trained anew) {ahead[0]:.1f} points, the best row" in RESULTS
    assert f"pre-trained ones are {ahead[0] - ahead[1]:.1f} points ahead" in RESULTS
    behind = rows["KD ODG"]["test_perplexity"] - rows["KD"]["test_perplexity"]
    assert f"(ODG) they are {behind:.1f} points behind unguided ones" in RESULTS
    apart = rows["LR 0.2"]["test_perplexity"] - rows["KD"]["test_perplexity"]
    level = f"level with unguided codes ({rows['LR 0.2']['test_perplexity']:.1f})"
    assert abs(apart) < 0.1 and level in RESULTS
    share = rows["LR 0.1"]["paper_bits"] / rows["KD"]["paper_bits"]
    assert f"in {100 * share:.0f} % of the codes' bits" in RESULTS


def test_order_of_five_kinds_of_codes():
    paper = {"PDG": 107.77, "pretrained": 107.95, "ODG": 108.19, "": 108.5, "random": 115.79}
    found = by_label("ptb_300k")
    ours = sorted(paper, key=lambda kind: mean(found[f"KD {kind}".strip()]))
    theirs = sorted(paper, key=lambda kind: paper[kind])
    assert "three are in its order: random, ODG, pre-trained, from worst to best" in RESULTS
    same = ["pretrained", "ODG", "random"]
    assert [k for k in ours if k in same] == [k for k in theirs if k in same] == same
    assert (ours[1], ours[-1], theirs[0], theirs[-2]) == ("", "PDG", "PDG", "")
    given, free = found["KD pretrained"], found["KD"]
    spreads = f"{stdev(free):.1f} and {stdev(given):.1f}"
    said = f"pre-trained ones ({mean(free) - mean(given):.1f} behind, with spreads of {spreads})"
    assert said in RESULTS and "here PDG is last" in RESULTS
    assert {len(found[f"KD {kind}".strip()]) for kind in paper} == {3}


def test_start_of_low_rank_explains_part_of_its_loss():
    rows = {group[0]["label"]: group for group in results.by_seed(results.rows("ptb_300k"))}
    full, ours, uniform = rows["SE"], rows["LR 0.2"], rows["LR uniform 0.2"]
    epochs = range(len(full[0]["dev_by_epoch"]))
    dev = [[mean(row["dev_by_epoch"][n] for row in of) for n in epochs] for of in (full, uniform)]
    apart = [after - before for before, after in zip(*dev, strict=True)]
    said = ", ".join(f"{points:.1f}" for points in apart[:-1]) + f" and {apart[-1]:.1f} points"
    test, spread = results.spread(uniform, "test_perplexity")
    of_full, of_ours = (results.spread(of, "test_perplexity")[0] for of in (full, ours))
    assert said in RESULTS and f"at the end {test - of_full:.1f} on test" in RESULTS
    assert f"and {test - of_ours:.1f} behind low rank with our start" in RESULTS
    assert apart == sorted(apart, reverse=True) and 0 < test - of_full < spread


def test_codes_of_the_medium_model_are_above_its_table_as_in_the_paper():
    full, codes, guided = results.rows("ptb_medium")
    assert f"{guided['test_perplexity'] - codes['test_perplexity']:.1f} behind those" in RESULTS
    above = [
        100 * (ours / table - 1)
        for ours, table in ((codes["test_perplexity"], full["test_perplexity"]), (89.03, 83.38))
    ]
    said = "are {:.1f} % above the table in a twelfth of its bits, where the paper's are {:.1f} %"
    assert said.format(*above) in RESULTS
    assert round(full["paper_bits"] / codes["paper_bits"]) == 12


def test_guided_codes_are_said_to_be():
    names = {"kd_text": kd_paper.name_of, "graph": lambda row: graph.Spec(**row["spec"]).label}
    for name, said in names.items():
        for row in results.rows(name):
            if row["spec"]["method"] == "kd":
                guided = "guidance" in row["spec"]["options"]
                words = "guided" in said(row) if name == "graph" else "no guide" not in said(row)
                assert words == guided
    assert "**in the paper they are not**" in RESULTS and "codes are not guided**" in RESULTS


@pytest.mark.parametrize(
    ("method", "anchors"), [("ANT 10 frequency", 10), ("ANT 50 frequency", 50)]
)
def test_entries_of_a_word_that_are_left_for_anchors(method, anchors):
    rows = [row for row in results.rows("ant_text") if row["spec"]["method"] == method]
    words, width = rows[0]["spec"]["size"], rows[0]["spec"]["width"]
    left = mean(row["embedding_parameters"] - anchors * width for row in rows) / words
    assert f"{left:.0f} of {anchors}" in RESULTS


def test_words_by_noise_are_not_better_than_frequent_ones():
    rows = results.rows("ant_text")

    def means(ending):
        methods = [f"VS {ending.format(words)}" for words in ("5,000", "3,000")]
        found = [[r for r in rows if r["spec"]["method"] == method] for method in methods]
        assert all(len(group) == 3 for group in found)
        return [mean(100 * row["hard_accuracy"] for row in group) for group in found]

    noise, frequency = means("VVD {}, by descent"), means("frequency {}")
    assert f"On test {noise[0]:.1f} with 5,000 and {noise[1]:.1f} with 3,000" in RESULTS
    assert f"by frequency {frequency[0]:.1f} and {frequency[1]:.1f}" in RESULTS
    assert all(one < other for one, other in zip(noise, frequency, strict=True))


def test_k_svd_with_shared_entries_is_level_with_the_table():
    found = {}
    for row in results.rows("ant_text"):
        found.setdefault(row["spec"]["method"], {})[row["spec"]["seed"]] = row
    table, tuned, untuned = (
        {seed: 100 * row["hard_accuracy"] for seed, row in found[name].items()}
        for name in (
            "SE", "ANT 180, shared k-SVD of SE, tuned at 2e-4", "k-SVD 180 of SE, shared",
        )
    )  # fmt: skip
    for scores in (table, tuned, untuned):
        assert len(scores) == 3
        said = f"{mean(scores.values()):.2f} ± {stdev(scores.values()):.2f}"
        assert said in RESULTS
    apart = [f"{abs(tuned[seed] - table[seed]):.2f}" for seed in range(3)]
    assert "is {} above, {} below and {} below".format(*apart) in RESULTS
    assert tuned[0] > table[0] and tuned[1] < table[1] and tuned[2] < table[2]
    assert mean(table.values()) - mean(tuned.values()) < stdev(tuned.values())
    numbers = [found[name][0]["embedding_parameters"] for name in ("SE", "k-SVD 180 of SE, shared")]
    assert round(numbers[0] / numbers[1]) == 40


def test_lead_of_the_mixture_on_ag_news_is_within_the_spread():
    rows = results.rows("ag_news")
    accuracy = {
        group[0]["label"]: [100 * row["hard_accuracy"] for row in group]
        for group in results.by_seed(rows)
    }
    for mixture, next_best, lead in (
        ("ME(k=32, m=4, u=250, v=5000)", "CE(k=32, m=5, v=9800)", "0.3 points over CE"),
        ("ME(k=100, m=8, u=1000, v=15000)", "CAE(k=100, m=8, v=10500)", "0.6 over CAE"),
    ):
        ahead = mean(accuracy[mixture]) - mean(accuracy[next_best])
        assert f"{ahead:.1f}" == lead[:3] and lead in RESULTS
        assert ahead < max(stdev(accuracy[mixture]), stdev(accuracy[next_best]))


def test_order_on_dbpedia_is_that_of_the_page():
    found = {
        (group[0]["model_mb"] > 0.055, group[0]["spec"]["method"]): [
            100 * row["file_accuracy"] for row in group
        ]
        for group in results.by_seed(results.rows("dbpedia_subset"))
    }
    order = ["standard", "cluster", "adjustment", "mixture"]
    small = [mean(found[False, method]) for method in order]
    assert small == sorted(small)
    said = "the table {:.1f}, clusters {:.1f}, with adjustments {:.1f}, the mixture {:.1f}."
    assert said.format(*small) in RESULTS
    for large in (False, True):
        best, second, _, last = sorted(order, key=lambda method: -mean(found[large, method]))
        lead = mean(found[large, best]) - mean(found[large, second])
        assert (best, last, f"{lead:.1f}") == ("mixture", "standard", "0.6")
        assert lead < max(stdev(found[large, method]) for method in (best, second))


def test_anchors_of_all_of_penn_treebank_are_not_above_the_table():
    rows = {row["label"]: row for row in results.rows("ant_ptb_whole")}
    full, few, low = (rows[label] for label in ("SE", "ANT 100", "LR 1/5"))
    order = ("ANT 1,000", "ANT 100", "ANT 500", "SE", "LR 1/5", "Post-SH + k-SVD 1,000")
    found = [rows[label]["test_perplexity"] for label in order]
    assert found == sorted(found)
    assert [f"{found[3] - other:.1f}" for other in found[:3]] == ["1.9", "1.2", "0.2"]
    steps = [rows[name]["dev_perplexity"] - rows[name]["dev_by_epoch"][-1] for name in order[:3]]
    assert [f"{step:.1f}" for step in steps] == ["0.8", "2.2", "2.5"]
    assert min(row["dev_by_epoch"][-1] for row in rows.values() if "dev_by_epoch" in row) == 109.14
    assert found[-1] < rows["ANT 500, k-SVD of SE, tuned"]["test_perplexity"]
    shares = [full["embedding_parameters"] / rows[name]["embedding_parameters"] for name in order]
    assert round(shares[1]) == 16 and shares[0] > 6
    assert f"{found[-1] - low['test_perplexity']:.1f}" == "2.6"
    apart = rows["TT 1/5"]["test_perplexity"] - low["test_perplexity"]
    assert f"in a fifth, {apart:.1f} above low rank of as many numbers" in RESULTS
    knowing = rows["ANT 100, knowledge"]["test_perplexity"]
    assert f"{knowing:.1f}, {knowing - found[1]:.1f} above those without" in RESULTS
    pairs = zip(few["dev_by_epoch"], full["dev_by_epoch"], strict=True)
    assert [ours < theirs for ours, theirs in pairs] == [False] * 6 + [True] * 4


def test_anchors_and_low_rank_of_a_third_of_penn_treebank():
    found = by_label("ant_ptb")
    full, few, low = (mean(found[label]) for label in ("SE", "ANT 100", "LR 1/10"))
    assert all(len(found[label]) == 3 for label in ("SE", "ANT 100", "LR 1/10", "LR 1/5"))
    said = "text 100 lose {:.1f} of perplexity in a tenth of the numbers, low rank {:.1f}; on all"
    assert said.format(few - full, low - full) in RESULTS
    said = f"{low:.1f} ± 0.6 and with twice as many at {mean(found['LR 1/5']):.1f} ± 0.8"
    assert said in RESULTS
    labels = ("SE", "ANT 100", "ANT 500", "ANT 1,000", "ANT 2,000")
    full, few, more, many, most = (mean(found[f"{label}, 256 units"]) for label in labels)
    said = f"{few:.1f} in 0.195 M numbers, {few - full:.1f} above the full table's {full:.1f}"
    assert said in RESULTS
    assert f"{more:.1f} in 0.308 M, 1,000 at {many:.1f} in 0.472 M" in RESULTS
    assert f"2,000 at {most:.1f} in 0.720 M" in RESULTS


def test_shares_of_imdb():
    found = {}
    for row in results.rows("imdb_shares"):
        key = row["spec"]["method"], row["spec"].get("share", 1.0)
        found.setdefault(key, []).append(100 * row["file_accuracy"])
    assert {len(scores) for scores in found.values()} == {3} and len(found) == 16

    def behind(method, share, other="standard"):
        return f"{mean(found[other, share]) - mean(found[method, share]):.1f}"

    clusters, mixture = (
        [behind(one, share) for share in (0.1, 1.0)] for one in ("cluster", "mixture")
    )
    said = "alone are {} points below plain vectors at a tenth, {} with all, the mixture {} and {}."
    assert said.format(*clusters, *mixture) in RESULTS
    for share, said in ((0.1, "at a tenth by {} and {} points"), (0.25, "it is {} and {} below.")):
        both = [behind("mixture", share, other) for other in ("standard", "adjustment")]
        assert said.format(*both) in RESULTS
    spreads = {share: max(stdev(found[one, share]) for one, _ in found) for share in (0.1, 0.25)}
    assert [f"{spread:.1f}" for spread in spreads.values()] == ["2.1", "0.3"]


def test_the_mixture_is_first_at_each_size_of_dbpedia():
    rows = results.rows("dbpedia_curves")
    leads = []
    for size in (0.05, 0.071, 0.1, 0.2):
        best = {
            method: max(
                row["dev_accuracy"]
                for row in rows
                if row["spec"]["method"] == method and row["model_mb"] <= size + 0.0005
            )
            for method in ("standard", "cluster", "adjustment", "mixture")
        }
        mixture = best.pop("mixture")
        leads.append(round(100 * (mixture - max(best.values())), 1))
    assert leads == [0.3, 0.9, 0.3, 0.4]


def test_no_seed_and_no_size_brings_the_mixture_to_the_papers_number_on_imdb():
    (seeds,) = (
        [100 * row["file_accuracy"] for row in group]
        for group in results.by_seed(results.rows("imdb"))
        if group[0]["label"] == "ME(k=50, m=5, u=300, v=3000)"
    )
    said = "Ten seeds of it have {:.1f} on average and {:.1f} at best, so that the seed"
    assert len(seeds) == 10 and said.format(mean(seeds), max(seeds)) in RESULTS
    dev = {
        (row["spec"]["clusters"], row["spec"]["unique"]): f"{100 * row['dev_accuracy']:.2f}"
        for row in results.rows("imdb_dev")
        if row["spec"]["method"] == "mixture" and row["spec"]["epochs"] == 7
    }
    clusters = f"have {dev[25, 300]}, {dev[100, 300]} and {dev[200, 300]}, "
    vectors = f"100 and 1,000 unique vectors {dev[50, 100]} and {dev[50, 1000]}, "
    assert clusters + vectors in RESULTS
    assert f"vectors {dev[100, 1000]}, the paper's sizes 85.90 (seed 0; " in RESULTS
    schedule = {
        row["spec"]["method"]: f"{100 * row['dev_accuracy']:.2f}"
        for row in results.rows("imdb_dev")
        if row["spec"]["epochs"] == 10
    }
    said = "reach {mixture} on dev, plain vectors {standard} (seed 0): neither gains"
    assert said.format(**schedule) in RESULTS


def test_compositional_codes_lose_nothing_without_noise():
    def mean_of(name, dataset, **options):
        found = [
            100 * (row["dev_accuracy"] if name == "noise_dev" else row["file_accuracy"])
            for row in results.rows(name)
            if row["spec"]["dataset"] == dataset
            if row["spec"]["method"] == ("compositional" if options else "kd")
            if {key: row["spec"]["options"].get(key) for key in options} == options
        ]
        return f"{mean(found):.1f}"

    papers, plain = ({"noise_scale": noise, "temperature": 1} for noise in (1, 0))
    noisy, without = (mean_of("imdb", "imdb", **options) for options in (papers, plain))
    assert f"as long as they are soft and {noisy} as codes, where" in RESULTS
    assert f"on the codes that ship, they have {without} (three seeds, of noise two;" in RESULTS
    noisy, without = (mean_of("noise_dev", "ag_news", **options) for options in (papers, plain))
    assert f"such codes have {noisy} with noise and {without} without (one seed)" in RESULTS
    ours = {"noise_scale": 0, "temperature": 0.3}
    found = [mean_of("noise_dev", "clinc150", **options) for options in (papers, plain, ours, {})]
    said = "words {} and {}, {} with a temperature of 0.3, which only makes the gradient steeper, "
    assert said.format(*found[:3]) + f"KD codes of that length {found[3]} (three" in RESULTS


def test_anchors_of_awd_lstm_are_its_tables_k_svd():
    by = {
        tuple(row["spec"][key] for key in ("num_anchors", "neighbors", "seed")): row
        for row in results.rows("awd_anchors")
        if row["spec"]["neighbors"] or not row["spec"]["num_anchors"]
    }
    tables = {
        row["spec"]["seed"]: row["test_perplexity"]
        for row in results.rows("awd_50k")
        if row["spec"]["kind"] == "dense"
    }
    dense = [tables[seed] for seed in range(3)]
    assert "are at {:.1f}, {:.1f} and {:.1f} on test".format(*dense) in RESULTS
    behind = [
        [by[count, 5, seed]["test_perplexity"] - dense[seed] for seed in range(3)]
        for count in (1000, 100)
    ]
    assert max(map(abs, behind[0])) < 0.1 and "less than 0.1 from its table" in RESULTS
    few = f"{min(behind[1]):.1f} to {max(behind[1]):.1f} behind in a sixth"
    assert f"in a quarter of the numbers; with 100 anchors {few}" in RESULTS
    more = [by[0, 0, seed]["test_perplexity"] for seed in range(3)]
    gain = mean(dense) - mean(more)
    assert f"by eight epochs more, {gain:.1f} on average ({mean(more):.1f})" in RESULTS
    sizes = [320_000 / by[count, 5, 0]["embedding_parameters"] for count in (1000, 100)]
    assert [round(size) for size in sizes] == [4, 6]
    for (count, _, _), row in by.items():  # the weights that a k-SVD began with
        assert count == 0 or min(row["finetune_dev_by_epoch"]) > row["finetune_dev"]
    best = {
        row["spec"]["rate"]: min(row["finetune_dev_by_epoch"])
        for row in results.rows("awd_anchors_dev")
        if row["spec"]["neighbors"]
    }
    assert [round(best[rate], 1) for rate in (30.0, 3.0, 0.3)] == [444.6, 379.0, 371.5]


def test_three_seeds_of_a_hundred_thousand_words():
    found = {}
    for row in results.rows("ant_wiki"):
        found.setdefault(row["label"], {})[row["spec"]["seed"]] = row["test_perplexity"]
    names = ("SE", "Hash Embed 50,000", "Hash Embed 10,000", "ANT 500", "ANT 1,000")
    for seed in range(3):
        each = [found[name][seed] for name in names]
        assert each == sorted(each, reverse=True)
    means = {name: sum(one.values()) / 3 for name, one in found.items() if len(one) == 3}
    full, large, small, half, anchors = (means[name] for name in names)
    assert f"(means {small:.1f} and {large:.1f}), these of the full table ({full:.1f})" in RESULTS
    assert f"500 anchors of both ({half:.1f}), and 1,000 anchors of all ({anchors:.1f})" in RESULTS
    costs = [means[f"k-SVD {count} of SE"] - full for count in ("1,000", "500")]
    said = "costs {:.1f} with 1,000 anchors and {:.1f} with 500".format(*costs)
    assert f"k-SVD of the full table's vectors {said}" in RESULTS
    costs = [means[f"Post-SH {count}"] - full for count in ("1,000", "500")]
    assert "of the distances alone, {:.1f} and {:.1f} in as many numbers".format(*costs) in RESULTS
    stronger = found["ANT 1,000, stronger"]
    assert all(test > max(found[name][seed] for name in names) for seed, test in stronger.items())
    said, words = sum(stronger.values()) / len(stronger), {2: "two", 3: "three"}[len(stronger)]
    assert f"stronger penalty is behind all of them ({said:.1f}, {words} seeds)" in RESULTS
    made = means["k-SVD 1,000 of ANT 1,000"]
    assert f"dense anchors learn is at {made:.0f} in 1/19 of the numbers" in RESULTS
    assert f"the full table at {full:.0f} (three seeds each)" in RESULTS


def test_anchors_of_awd_lstm_from_scratch():
    found = {
        (row["spec"]["num_anchors"], row["spec"]["frozen"]): row
        for row in results.rows("awd_anchors")
        if not row["spec"]["neighbors"]
    }
    for at in ((100, False), (1000, False), (100, True), (1000, True)):
        assert f"{found[at]['test_perplexity']:.1f} " in RESULTS
    assert found[100, True]["embedding_parameters"] < 320_000  # of the table
    assert found[1000, True]["embedding_parameters"] > 320_000
    behind = [found[count, True]["test_perplexity"] / 346.2 - 1 for count in (100, 1000)]
    assert 0.145 < min(behind) < 0.155 and "from scratch they are 15 % behind or more" in RESULTS
    dense = next(
        row["train_dev_by_epoch"]
        for row in results.rows("awd_50k")
        if row["spec"]["kind"] == "dense" and row["spec"]["seed"] == 0
    )
    trials = {
        row["spec"]["l1_weight"]: row
        for row in results.rows("awd_anchors_dev")
        if row["spec"]["frozen"]
    }
    perplexities = [row["dev_perplexity"] for row in trials.values()]
    assert list(trials) == sorted(trials) and f"{dense[11]:.1f} there" in RESULTS
    assert "{:.1f}, {:.1f}, {:.1f}, {:.1f} and {:.1f} with".format(*perplexities) in RESULTS
    assert abs(perplexities[0] / dense[11] - 1) < 0.03  # moves as the table does


def test_longer_codes_larger_alphabets_and_an_lstm_on_clinc150():
    rows = [row for row in results.rows("code_sizes") if row["spec"]["dataset"] == "clinc150"]

    def mean_of(cardinality, code_length, composition="sum"):
        wanted = {
            "cardinality": cardinality, "code_length": code_length,
            "composition": composition, "batch_norm": True,
        }  # fmt: skip
        found = [100 * row["file_accuracy"] for row in rows if row["spec"]["options"] == wanted]
        assert len(found) == 3
        return mean(found)

    def ahead(one, other):
        return f"{mean_of(*one) - mean_of(*other):.1f}"

    more = ahead((8, 8), (8, 4)), ahead((16, 4), (8, 4))
    assert f"gains {more[0]} points by twice D" in RESULTS
    assert f"and {more[1]} by twice K" in RESULTS
    lead = [ahead((8, length, "lstm"), (8, length)) for length in (2, 16)]
    assert "at D = 2 is {} points ahead of a sum, at D = 16 {}.".format(*lead) in RESULTS
