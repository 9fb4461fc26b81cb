"""Table 1 of the Anchor & Transform paper: its methods on a few hundred rows, one epoch."""

import keras
import numpy as np
import pytest

from benchmarks.anchors import anchors_text, anchors_tuned
from benchmarks.anchors.anchor_methods import Statistics, embedding
from benchmarks.anchors.anchors_text import METHODS, Spec, grid, run_all, specs, table
from benchmarks.lib import results
from kerascompact import knowledge, layers
from kerascompact.tasks.classification import encode
from tiny_task import dataset

pytest.importorskip("scipy")

SMALL = {"size": 30, "length": 8, "width": 6, "epochs": 1, "batch_size": 32, "dataset": "tiny"}


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / anchors_text.WORDNET
    folder.mkdir()
    columns = "synset\tmembers\thypernym\tsimilar\tmero_part\tmero_member\n"
    (folder / "synsets.tsv").write_text(columns + "1-a\tgood|bad\t\t\t\t\n")
    (folder / "senses.tsv").write_text("lemma\tsynsets\ngood\t1-a\nbad\t1-a\n")
    return folder


@pytest.fixture(scope="module")
def statistics(wordnet):
    return Statistics(encode(dataset(), size=30, sequence_length=8), wordnet)


def test_statistics_are_those_of_train(statistics):
    ids = statistics.ids
    assert statistics.counts.tolist() == [np.count_nonzero(ids == word) for word in range(30)]
    lengths = np.sqrt(statistics.neighbours.multiply(statistics.neighbours).sum(axis=1))
    np.testing.assert_allclose(lengths[2:], 1)  # of every word but padding and the unknown one
    near = knowledge.cooccurrence_counts(ids, 30, 10, min_count=3, min_pmi=1.0, ignore=(0, 1))
    words = statistics.vocabulary
    pair = sorted((words.id_of("good"), words.id_of("bad")))
    assert 1 not in pair
    found = {tuple(pair) for pair in statistics.graph.pairs().tolist()}
    assert found == {tuple(p) for p in np.argwhere(near.toarray()).tolist() if p[0] < p[1]} | {
        tuple(pair)
    }


@pytest.mark.parametrize("by", ["frequency", "tf_idf", "clusters", "frequency_clusters"])
def test_words_are_chosen_without_the_reserved_ids(statistics, by):
    found = statistics.chosen(by, 7)
    assert len(set(found.tolist())) == 7 and found.min() >= 2
    if by.startswith("frequency"):
        assert statistics.counts[found[0]] == statistics.counts[2:].max()


@pytest.mark.parametrize("method", [name for name in METHODS if "first" not in METHODS[name]])
def test_each_method_builds_its_layer(statistics, method):
    options = {k: v for k, v in METHODS[method].items() if k not in anchors_text.TRAINING}
    if "words" in options:
        options["words"] = 9
    if options.get("num_anchors") == 50:
        options["num_anchors"] = 12
    made = embedding(statistics, 6, **options)
    assert made.name == "embedding" and made.mask_zero
    made.build(None)
    if options["kind"] == "anchors":
        assert isinstance(made, layers.AnchorTransformEmbedding)
        assert made.nonnegative == ("signed" not in method)
        assert (made.negative_pairs is not None) == ("knowledge" in method)
        assert (made.positive_pairs is not None) == ("frequency, knowledge" in method)
        if made.positive_pairs is not None:
            rows = made.positive_pairs[
                np.isin(
                    made.positive_pairs[:, 0],
                    statistics.chosen("frequency", options["num_anchors"]),
                )
            ]
            assert len(rows) >= options["num_anchors"]  # an anchor's own entry is one of them


def test_refuses(statistics):
    with pytest.raises(ValueError, match="`kind` must be one of 'standard', 'sparse_code'"):
        embedding(statistics, 6, "hashing")
    with pytest.raises(ValueError, match="`by` must be one of 'frequency', 'tf_idf'"):
        statistics.chosen("luck", 3)
    with pytest.raises(ValueError, match="`related` must be False: a random basis has no words"):
        embedding(statistics, 6, "anchors", num_anchors=3, related=True)
    with pytest.raises(ValueError, match="`wordnet` must be the folder"):
        _ = Statistics(encode(dataset(), size=30, sequence_length=8)).graph


def test_specs_are_every_method_seed_by_seed():
    found = specs((0, 1))
    assert [spec.seed for spec in found] == [0] * len(METHODS) + [1] * len(METHODS)
    assert found[0] == Spec("SE", {"kind": "standard"}) and found[0].width == 256
    tried = grid(epochs=3)
    assert {spec.epochs for spec in tried} == {3}
    for name, (option, values) in anchors_text.GRID.items():
        found = [spec.options for spec in tried if spec.method == name]
        assert found == [{**METHODS[name], option: value} for value in values]
    assert {METHODS[name]["kind"] for name in anchors_text.GRID} == {
        options["kind"]
        for options in METHODS.values()
        if {"l1_weight", "group_lasso_weight", "kl_weight"} & set(options) or options.get("tuned")
    }


SMOKE = ("sparse code 100", "ANT 10 frequency, knowledge")
SIZES = {
    "num_anchors": 9,
    "num_neighbors": 2,
    "num_base": 9,
    "words": 9,
    "ratio": 0.5,
    "max_neighbors": 4,
}


def smaller(spec):
    """A run of the tiny task; what its first run has for options stays."""
    sizes = {key: SIZES[key] for key in spec.options if key in SIZES}
    return spec._replace(**SMALL, options={**spec.options, **sizes})


BEGUN = (
    "k-SVD 180 of SE",
    "ANT 180, shared k-SVD of SE, tuned at 2e-4",
    "LR 1/36 of SE, tuned",
    "sparse code 100 of SE, tuned",
    "VS GL 3,000",
)


def test_runs_begin_with_a_trained_one(tmp_path, monkeypatch, statistics):
    data = encode(dataset(), size=30, sequence_length=8)
    rows = {}
    monkeypatch.setattr(anchors_text, "METHODS", {
        name: {**options, **{key: SIZES[key] for key in options if key in SIZES}}
        for name, options in METHODS.items()
    })  # fmt: skip
    for method in BEGUN:
        spec = smaller(Spec(method, METHODS[method]))
        rows[method] = anchors_text.run(spec, data, statistics, tmp_path, test=False)
    firsts = {METHODS[name]["first"] for name in rows}
    assert len(list(tmp_path.glob("*.keras"))) == len(firsts) == 5  # each is made once
    assert rows["k-SVD 180 of SE"]["best_epoch"] == 0
    for method, row in rows.items():
        numbers = {"selected": 9 * 6, "low_rank": 2 * 36, "k_svd": 9 * 6 + 30 * 2}
        kind = METHODS[method]["kind"]
        assert row["embedding_parameters"] <= numbers.get(kind, 30 * 9 + 9 * 6)
        assert 0 <= row["first_dev_accuracy"] <= 1
    again = smaller(Spec("k-SVD 180 of SE", METHODS["k-SVD 180 of SE"]))
    found = anchors_text.run(again, data, statistics, tmp_path, test=False)
    assert found["dev_accuracy"] == rows[again.method]["dev_accuracy"]


def test_tuning_begins_at_the_trained_model(tmp_path, statistics):
    data = encode(dataset(), size=30, sequence_length=8)
    spec = Spec("SE", METHODS["SE"])._replace(**SMALL)
    first = anchors_text.build(spec, data, statistics)
    table = first.get_layer("embedding").embeddings.numpy()
    options = {**METHODS["k-SVD 180 of SE"], "num_anchors": 12, "num_neighbors": 6}
    ant = anchors_text.build(spec._replace(options=options), data, statistics, first)
    made = ant.get_layer("embedding")
    assert isinstance(made, layers.SparseAnchorEmbedding) and made.mask_zero
    # six of twelve anchors fit six numbers
    error = np.square(made(np.arange(30)) - table).sum() / np.square(table).sum()
    assert error < 1e-2
    np.testing.assert_allclose(
        ant.predict(data.dev.ids, verbose=0), first.predict(data.dev.ids, verbose=0), atol=0.02
    )
    vvd = layers.VariationalVocabularyEmbedding(30, 6, kl_weight=1e-3, name="embedding")
    vvd.build()
    noise = np.random.default_rng(0).normal(size=30)
    vvd.log_alpha.assign(noise)
    ids = keras.Input((8,), dtype="int32")
    found = anchors_tuned.ranked(keras.Model(ids, vvd(ids)), 5)
    assert found.tolist() == (np.argsort(noise[2:])[:5] + 2).tolist()


def test_rows_and_their_table(tmp_path, monkeypatch, wordnet):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(anchors_text.datasets, "load", lambda name, data_dir: dataset())
    wanted = [spec._replace(**SMALL) for spec in specs((0,)) if spec.method in SMOKE]
    wanted[0] = wanted[0]._replace(options={**wanted[0].options, "num_base": 9})
    rows = run_all(wanted, "ant_text", data_dir=str(wordnet.parent))
    assert [row["label"] for row in rows] == list(SMOKE)
    for row, vectors in zip(rows, (9, 10), strict=True):  # numbers of T and of A
        assert 0 < row["embedding_parameters"] - vectors * 6 <= 30 * vectors
    for row in rows:
        assert row["argmax_agreement"] == 1 and row["file_accuracy"] == row["hard_accuracy"]
        assert row["best_epoch"] == 1 and row["file_bytes"] > row["stored_bytes"] > 0
    monkeypatch.setattr(anchors_text, "run", lambda *args, **options: pytest.fail("ran again"))
    assert run_all(wanted, "ant_text", data_dir=str(wordnet.parent)) == rows
    lines = table(rows[::-1]).splitlines()
    assert [line.split(" | ")[0][2:] for line in lines[2:]] == list(SMOKE)
    assert {line.count("|") for line in lines} == {14}
    assert len(results.rows("ant_text")) == 2


def test_dev_rows_leave_test_untouched(tmp_path, monkeypatch, statistics):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    data = encode(dataset(), size=30, sequence_length=8)
    spec = Spec("ANT 10 dynamic", METHODS["ANT 10 dynamic"])._replace(**{**SMALL, "epochs": 4})
    row = anchors_text.run(spec, data, statistics, test=False)
    assert "file_bytes" in row and "file_accuracy" not in row and row["best_epoch"] >= 3
    assert table([row]).count("|") == 14 * 3
    assert keras.config.floatx() == "float32"
