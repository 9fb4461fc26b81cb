"""Classifiers over pre-trained vectors: scikit-learn's numbers, and trainings that begin there."""

import types

import keras
import numpy as np
import pytest
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from kerascompact.search import finishing, pretrained, tf_idf, training
from kerascompact.search.corpus import ALL, WHOLE, Corpus
from kerascompact.search.guides import Guide, Guides, weights_of
from kerascompact.search.runs import Run
from kerascompact.search.setting import Setting
from kerascompact.search.starts import Start, start_at
from kerascompact.search.tokens import UNSEEN
from kerascompact.search.training import train
from kerascompact.tasks.classification import outputs_of
from kerascompact.text import SlotVocabulary, WordVectors
from kerascompact.text.rules import named
from tiny_task import dataset

RANDOM = np.random.default_rng(0)
WORDS = ["the", "good", "bad", "odd", *(f"word{number}" for number in range(25)), "fine", "awful"]
NUMBERS = RANDOM.normal(size=(len(WORDS), 6)).astype(np.float32)
NUMBERS[WORDS.index("fine")] = NUMBERS[WORDS.index("good")]
VECTORS = WordVectors(NUMBERS, WORDS)
MORE = ["good word1 a new word", "bad word2", "odd word99 word99"]


def corpus(folder, names=("good", "bad", "odd"), labels=None, more=WORDS):
    data = dataset(90)
    texts = [*data.train.texts, *data.dev.texts, *MORE]
    if labels is None:
        labels = np.concatenate([data.train.labels, data.dev.labels])
    return Corpus(texts, labels, 90, names, folder, more=more)


@pytest.fixture
def guides(tmp_path):
    found = corpus(tmp_path)
    pretrained.write(tmp_path, found, [VECTORS])
    return Guides(found, tmp_path, 2, "accuracy", 0)


def test_words_of_vectors_and_of_texts_without_labels_are_known(tmp_path):
    tokens = corpus(tmp_path).tokens("wordpunct")
    counts = dict(zip(tokens.vocabulary.words, tokens.counts[2:].tolist(), strict=True))
    assert counts["new"] == 1 and counts["word99"] == 2  # of a text without a label
    assert counts["fine"] == UNSEEN and "awful" in counts
    assert corpus(tmp_path).tokens("wordpunct").vocabulary.words == tokens.vocabulary.words
    pairs = corpus(None).tokens("wordpunct_pairs")
    both = dict(zip(pairs.vocabulary.words, pairs.counts[2:].tolist(), strict=True))
    assert {word: both[word] for word in counts} == counts and any(" " in word for word in both)


def test_tables_are_those_of_the_vectors(tmp_path):
    found = corpus(tmp_path)
    tokens = found.tokens("wordpunct")
    other = WordVectors(NUMBERS[:, :3] * 7, WORDS)
    coverage = pretrained.write(tmp_path, found, [VECTORS, other])
    for table, counts in zip(pretrained.tables_of(tmp_path), (None, tokens.counts), strict=True):
        for columns, vectors in (slice(6), VECTORS), (slice(6, None), other):
            wanted = vectors.table(tokens.vocabulary, counts=counts)
            ratio = table[:, columns][wanted.known] / wanted.weights[wanted.known]
            np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-4)
    plain = pretrained.tables_of(tmp_path)[0]
    known = VECTORS.table(tokens.vocabulary).known
    assert plain[known][:, :6].std() == pytest.approx(1, abs=1e-5)
    assert coverage == pytest.approx(VECTORS.coverage(tokens.vocabulary, tokens.counts))


@pytest.mark.few(1)
@pytest.mark.parametrize("classes", [3, 2])
def test_the_probe_is_a_logistic_regression(tmp_path, classes):
    found = corpus(tmp_path)
    if classes == 2:
        found = corpus(tmp_path, ("good", "not"), np.minimum(found.labels, 1))
    pretrained.write(tmp_path, found, [VECTORS])
    table = pretrained.tables_of(tmp_path)[0]
    probe = pretrained.probe(found, [table])
    ids = found.tokens("wordpunct").ids
    known = [row[row > 1] for row in ids]
    means = np.stack([table[row].mean(axis=0) if len(row) else 0 * table[0] for row in known])
    features = means / means[:90].std(axis=0).mean()
    fits = [
        LogisticRegression(C=c).fit(features[:90], found.labels[:90]) for c in pretrained.PRIORS
    ]
    apart = [np.abs(one.predict_proba(features) - probe.outputs).max() for one in fits]
    assert min(apart) < 2e-2
    logits = np.stack(
        [probe.table[row].mean(axis=0) if len(row) else 0 * probe.bias for row in known]
    )
    wanted = keras.ops.softmax(logits + probe.bias)
    np.testing.assert_allclose(wanted, probe.outputs, atol=1e-5)


def test_a_class_without_a_text_is_never_the_answer(tmp_path):
    found = corpus(tmp_path, ("good", "bad", "odd", "rare"))
    pretrained.write(tmp_path, found, [VECTORS])
    outputs = pretrained.probe(found, pretrained.tables_of(tmp_path)).outputs
    assert outputs.shape[1] == 4 and outputs[:, 3].max() < 1e-6


class BegunError(Exception):
    """Ends a training before its first step, which would have to be traced."""


class Stop(keras.callbacks.Callback):
    """Ends a training before its first step, with what it begins at."""

    def on_train_begin(self, logs=None):
        self.outputs = outputs_of(self.model, self.ids)
        raise BegunError


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rules", "start"),
    [("wordpunct", "vectors"), ("wordpunct", "tf-idf"), ("wordpunct_pairs", "tf-idf")],
)
def test_a_training_begins_at_the_probe(guides, rules, start, monkeypatch):
    monkeypatch.setattr(tf_idf, "PENALTIES", (10.0,))  # which is best is not asked here
    found = guides.corpus
    tokens = found.tokens(rules)
    setting = Setting(0, 8, rules=rules, skip_unknown=True, start=start, epochs=1, dropout=0.0)
    whole = guides.whole(rules, start=start)
    stop = Stop()
    stop.ids = found.encode(tokens.vocabulary, known_only=True, unlabelled=True)
    first = start_at(setting, tokens.vocabulary, tokens, whole)
    with pytest.raises(BegunError):
        train(setting, found, tokens.vocabulary, start=first, callbacks=[stop])
    if start == "vectors":
        wanted = guides.get("vectors").outputs
    else:
        logits = pretrained.means(tokens.ids, whole.table) @ whole.kernel + whole.bias
        wanted = keras.ops.softmax(logits)
    np.testing.assert_allclose(stop.outputs, wanted, atol=2e-3)  # float16


def test_pairs_begin_at_zero_beside_their_words(guides):
    plain = guides.whole("wordpunct", start="vectors")
    both = guides.whole("wordpunct_pairs", start="vectors")
    tokens = {rules: guides.corpus.tokens(rules) for rules in ("wordpunct", "wordpunct_pairs")}
    for row, word in enumerate(tokens["wordpunct_pairs"].vocabulary.words, 2):
        wanted = 0 if " " in word else plain.table[tokens["wordpunct"].vocabulary.id_of(word)]
        np.testing.assert_array_equal(
            both.table[row], np.broadcast_to(wanted, plain.table.shape[1])
        )
    np.testing.assert_array_equal(both.kernel, 2 * plain.kernel)


def test_several_labels_have_vectors_and_no_teacher(tmp_path):
    several = np.eye(3, dtype=np.uint8)[corpus(None).labels]
    found = corpus(tmp_path, labels=several)
    pretrained.write(tmp_path, found, [VECTORS])
    whole = Guides(found, tmp_path, 1, "micro_f1", 0).whole("wordpunct", start="vectors")
    np.testing.assert_array_equal(whole.table, pretrained.tables_of(tmp_path)[0])
    assert whole.kernel is None


def test_weights_of_teachers_are_the_most_likely():
    right = RANDOM.dirichlet([1, 1, 3], 400)[:, :3] * [1.0, 0.6, 0.9]
    found = weights_of(right)
    steps = np.linspace(0, 1, 41)
    grid = [(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1]
    best = max(np.mean(np.log(right @ np.array(one) + 1e-12)) for one in grid)
    assert np.mean(np.log(right @ found + 1e-12)) >= best - 1e-3
    assert found.sum() == pytest.approx(1)


def test_tf_idf_is_scikit_learns(tmp_path, monkeypatch):
    found = corpus(tmp_path)
    texts, (rows, dev) = np.array(found.texts), found.rows()
    rules = named("wordpunct_pairs")
    known = found.tokens("wordpunct_pairs").vocabulary.words  # without pairs that are there once
    made = TfidfVectorizer(
        tokenizer=rules.tokens, token_pattern=None, sublinear_tf=True, vocabulary=known
    )
    made.fit(np.delete(texts, dev))
    features = made.transform(texts)
    tokens = found.tokens("wordpunct_pairs")
    idf, ours = tf_idf._features(tokens.ids, len(tokens.vocabulary), dev)
    np.testing.assert_allclose(idf[2:], made.idf_, rtol=1e-5)
    seen = np.setdiff1d(np.arange(len(texts)), dev)  # dev has words that only it has
    wanted = (features[seen] @ features[seen].T).toarray()
    np.testing.assert_allclose((ours[seen] @ ours[seen].T).toarray(), wanted, atol=1e-5)
    monkeypatch.setattr(tf_idf, "PENALTIES", (10.0,))
    monkeypatch.setattr(tf_idf, "TOGETHER", (1e-9,))  # words alone are better
    model = LogisticRegression(C=10.0, tol=1e-8, max_iter=1000)  # ours ends at 1e-3
    model.fit(features[rows], found.labels[rows])
    probe = tf_idf.probe(found, "wordpunct_pairs")
    wanted = model.predict_proba(features[seen])
    np.testing.assert_allclose(probe.outputs[seen], wanted, atol=3e-2)
    table = made.idf_[:, None] * model.coef_.T  # of the mean, but for one number
    same = table.ravel() @ probe.table[2:].ravel()
    assert same / np.linalg.norm(table) / np.linalg.norm(probe.table[2:]) > 0.99
    means = pretrained.means(tokens.ids[rows], probe.table)
    logits = features[rows] @ model.coef_.T
    assert np.sum(means * (means - logits)) == pytest.approx(0, abs=0.05 * np.sum(means**2))


def topics(unlabelled=True):
    """Texts of words that stand for a class; those of test occur in texts without a label only."""
    random = np.random.default_rng(1)
    words = [[f"{name}{number}" for number in range(40)] for name in ("sun", "sea")]
    labels = np.arange(16) % 2
    texts = [" ".join(random.choice(words[label][:20], 2)) for label in labels]
    new = [" ".join(words[label][20 + 4 * n : 24 + 4 * n]) for n in range(4) for label in (0, 1)]
    more = [" ".join(random.choice(words[n % 2], 12)) for n in range(200)]
    labels = np.concatenate([labels, [0, 1] * 4])
    return Corpus([*texts, *new, *(more if unlabelled else ())], labels, 16, ("sun", "sea"), None)


def test_texts_without_labels_say_which_words_occur_together(monkeypatch):
    monkeypatch.setattr(tf_idf, "AXES", 2)  # one a topic
    found = topics()
    _, dev = found.rows()
    probe = tf_idf.probe(found, "wordpunct")
    np.testing.assert_array_equal(probe.outputs[dev].argmax(axis=1), found.labels[dev])
    assert probe.outputs[dev, found.labels[dev]].min() > 0.8
    tokens = found.tokens("wordpunct")
    logits = pretrained.means(tokens.ids, probe.table) + probe.bias  # its table knows them, too
    np.testing.assert_array_equal(logits[dev].argmax(axis=1), found.labels[dev])
    alone = tf_idf.probe(topics(unlabelled=False), "wordpunct")
    np.testing.assert_allclose(alone.outputs[dev], 0.5, atol=0.05)  # words that no label is with


def test_axes_are_those_of_the_texts_but_dev(monkeypatch):
    monkeypatch.setattr(tf_idf, "AXES", 4)
    features = scipy.sparse.csr_matrix(RANDOM.normal(size=(60, 20)) * np.arange(1, 21))
    found = tf_idf._axes(features, np.arange(7), 0)
    wanted = np.linalg.svd(features.toarray()[7:])[2][:4]
    np.testing.assert_allclose(np.abs(np.sum(found * wanted, axis=1)), 1, atol=1e-2)
    both = tf_idf._with_axes(features, features, found).toarray()
    np.testing.assert_allclose(both[:, 20:], 3 * both[:, :20] @ found.T, rtol=1e-4)


def test_a_class_without_a_text_has_no_share_of_tf_idf(tmp_path, monkeypatch):
    monkeypatch.setattr(tf_idf, "PENALTIES", (10.0,))
    found = tf_idf.probe(corpus(tmp_path, ("good", "bad", "odd", "rare")), "wordpunct")
    assert found.outputs.shape[1] == 4 and not found.outputs[:, 3].any()
    np.testing.assert_allclose(found.outputs.sum(axis=1), 1, atol=1e-6)
    assert found.bias[3] == pretrained.NEVER and not found.table[:, 3].any()


def test_a_class_of_few_texts_is_among_those_compared(tmp_path, monkeypatch):
    """Of two classes one had no text among the first of many, so that no search ended."""
    monkeypatch.setattr(pretrained, "MOST_COMPARED", 9)
    monkeypatch.setattr(tf_idf, "MOST_COMPARED", 9)
    monkeypatch.setattr(tf_idf, "MOST_FITTED", 20)
    labels = np.zeros(150, np.int64)
    labels[[40, 41, 120]] = 1
    found = corpus(tmp_path, ("good", "bad"), labels)
    pretrained.write(tmp_path, found, [VECTORS])
    for seed in range(4):
        rows = found.rows()[0]
        chosen = pretrained.of_all_classes(np.random.default_rng(seed).permutation(rows), labels, 9)
        assert set(labels[chosen]) == {0, 1} and len(set(chosen)) == len(chosen) <= 11
        tables = pretrained.tables_of(tmp_path)
        for probe in (tf_idf.probe(found, "wordpunct", 0, seed), pretrained.probe(found, tables)):
            assert 0 < probe.outputs[:, 1].mean() < 0.5


@pytest.mark.parametrize("better", ["vectors", "tf-idf pairs", "pairs", None])
def test_teachers_no_better_than_labels_alone_judge_no_trial(guides, better):
    """Agreement counts where the mixture has more of dev right."""
    trusted = better not in ("pairs", None)  # which labels alone have trained
    found = guides.corpus
    _, dev = found.rows()
    right = np.eye(3, dtype=np.float16)[np.append(found.labels, [0, 0, 0])]
    wrong = np.roll(right, 1, axis=1)
    weak, strong = right.copy(), right.copy()
    weak[dev[::2]] = wrong[dev[::2]]  # half of them
    strong[dev[1:2]] = wrong[dev[1:2]]
    outputs = dict.fromkeys(guides.teachers, weak) | ({better: strong} if better else {})
    for name, one in outputs.items():
        guides._found[name, 0] = Guide(Start(np.zeros((0, 0))), 0.5, one, 1.0)
    assert "tf-idf words" in guides.teachers and guides.trusted is trusted
    found.texts = [*found.texts, *["more"] * 20]  # of 23, a tenth is held out
    for name, one in guides._found.items():
        more = np.concatenate([one.outputs, right[:1].repeat(20, axis=0)])
        guides._found[name] = one._replace(outputs=more)
    held = guides.held()
    assert held is None if not trusted else held.tolist() == [0, 0]


def test_dev_and_what_teachers_say_count_alike_where_an_epoch_is_picked():
    dev, more = (np.array([[1, 2], [3, 4]]), np.array([0, 1])), np.array([[5, 6]] * 7)
    ids, labels = training._with_held(dev, more, np.full(7, 2))
    assert ids.shape == (15, 2) and np.bincount(labels).tolist() == [4, 4, 7]
    np.testing.assert_array_equal(ids[labels == 1], [[3, 4]] * 4)


@pytest.mark.parametrize("ends", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_held_out_texts_are_not_trained_on(guides, monkeypatch, ends):
    monkeypatch.setattr(training, "LEAST", 100)
    found = guides.corpus
    vocabulary = found.tokens("wordpunct").vocabulary
    seen = []
    made = training.LengthBatches

    def keep(ids, labels, *args, **options):
        seen.append(ids)
        return made(ids, labels, *args, **options)

    monkeypatch.setattr(training, "LengthBatches", keep)
    soft = guides.soft(("vectors",))
    setting = Setting(0, 4, soft=0.5, epochs=1)
    held = np.argmax(soft.probabilities[soft.rows :][:1], axis=1)
    if ends:
        result = train(setting, found, vocabulary, soft=soft, held=held)
        assert result.agreement in (0.0, 1.0)
    else:  # the batches are made before the training begins

        def begins(*_, **__):
            raise RuntimeError("the training begins")

        monkeypatch.setattr(training, "fit", begins)
        with pytest.raises(RuntimeError, match="the training begins"):
            train(setting, found, vocabulary, soft=soft, held=held)
    ids = found.encode(vocabulary, unlabelled=True)
    rows = {tuple(row) for row in seen[0].tolist()}
    assert tuple(ids[-3].tolist()) not in rows and tuple(ids[-2].tolist()) in rows


class Epochs(keras.callbacks.Callback):
    """Counts the epochs of a training."""

    def on_train_begin(self, logs=None):
        self.seen = 0

    def on_epoch_end(self, epoch, logs=None):
        self.seen += 1


@pytest.mark.slow
def test_a_training_ends_at_the_epochs_that_were_picked(guides):
    """Else dev, which the final training has among its texts, picks the epoch that fits it best."""
    found = guides.corpus
    vocabulary = found.tokens("wordpunct").vocabulary
    setting = Setting(0, 4, recipe="int4", epochs=4, tuning_epochs=2, tuning_rate=1e-3)
    first = train(setting, found, vocabulary)
    assert len(first.picked) == 2 and 1 <= first.picked[0] <= 4
    tables = {}
    for picked in (first.picked, (1, 1), (3, 1)):
        count = Epochs()
        again = train(setting, found, vocabulary, picked=picked, callbacks=[count])
        assert count.seen == picked[0]
        tables[picked] = again.model.get_weights()[0]
    np.testing.assert_allclose(tables[first.picked], first.model.get_weights()[0], atol=1e-5)
    assert np.abs(tables[1, 1] - tables[3, 1]).max() > 1e-3


def test_a_training_on_other_words_than_the_files_is_refused():
    texts = [f"w{number} , w{number + 1}" for number in range(40)]
    found = Corpus(texts, np.arange(40) % 2, 20, ("a", "b"), None)
    words = SlotVocabulary.from_ranked(found.tokens("wordpunct").vocabulary.words, 50)
    shifted = types.SimpleNamespace(
        rows=found.rows, texts=texts, encode=lambda vocabulary: found.encode(vocabulary) + 1
    )
    worker = types.SimpleNamespace(corpus=shifted)
    with pytest.raises(ValueError, match="read words in different ways"):
        finishing._verify(worker, types.SimpleNamespace(vocabulary=words), b"")


def test_the_final_training_ends_where_its_trial_did():
    given = {}
    worker = types.SimpleNamespace(
        fitting=types.SimpleNamespace(words=lambda setting, budget, fold: (setting, "words")),
        train=lambda *args, picked: given.update({args[2]: picked}),
    )
    run = Run(9, 0, Setting(5, 2), 9, 0.9, 0, 0, 0, 1.0, 0.9, (3, 1))
    for refit in (True, False):
        finishing._again(worker, run, refit)
    assert given == {ALL: (3, 1), WHOLE: ()}  # there dev is new


@pytest.mark.slow
def test_models_of_all_words_end_there_too(guides, monkeypatch):
    guides._found["words", 0] = Guide(Start(np.zeros((0, 0))), 0.5, np.zeros((0, 0)), 1.0, (1,))
    given = []
    monkeypatch.setattr(
        "kerascompact.search.guides.train",
        lambda *args, **options: given.append(options["picked"]) or train(*args, **options),
    )
    last = guides.get("words", ALL)
    assert given == [(1,)] == [last.picked]


@pytest.mark.parametrize("trained", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_teachers_of_the_final_training_have_not_seen_dev(guides, trained):
    names = ("vectors", "words")
    if not trained:  # which takes 2 s
        outputs = RANDOM.dirichlet([1] * 3, len(guides.corpus.texts)).astype(np.float16)
        guides._found["words", 0] = Guide(Start(np.zeros((0, 0))), 0.5, outputs, 1.0, (1,))
    before, final = guides.soft(names), guides.soft(names, ALL)
    np.testing.assert_array_equal(before.probabilities, final.probabilities)
    _, dev = guides.corpus.rows()
    right = [guides.get(n).outputs[dev, guides.corpus.labels[dev]].astype(float) for n in names]
    weights = weights_of(np.stack(right, axis=1))
    assert len(guides.get("words").picked) == 1 and guides.get("vectors").picked == ()
    mixed = sum(w * guides.get(n).outputs for w, n in zip(weights, names, strict=True))
    np.testing.assert_allclose(before.probabilities, mixed, atol=1e-2)
