"""Vectors and teachers as arguments of a search, and a search with both."""

import keras
import numpy as np
import pytest

from kerascompact import export, models
from kerascompact.runtime import TextClassifier
from kerascompact.search import text_classifier, tf_idf
from kerascompact.search.beyond_labels import Beyond, answers_of, vectors_of
from kerascompact.search.preparing import dev_share, held_out, prepare
from kerascompact.search.worker import Worker
from kerascompact.text import Vocabulary, WordVectors
from tiny_task import dataset

NAMES = ("good", "bad", "odd")
TEXTS = ["good word1", "so bad", "", "odd"]
WORDS = [*NAMES, *(f"word{number}" for number in range(30))]
VECTORS = WordVectors(np.random.default_rng(1).normal(size=(33, 5)), WORDS)


def oracle(texts):
    """Mostly sure of the word that is the label."""
    right = np.array([[name in text.split() for name in NAMES] for text in texts], float)
    return (right + 0.1) / (right + 0.1).sum(axis=1, keepdims=True)


def test_answers_are_those_of_functions_arrays_and_models():
    wanted = oracle(TEXTS)
    np.testing.assert_allclose(answers_of(oracle, TEXTS, NAMES), wanted, atol=1e-6)
    np.testing.assert_allclose(answers_of(wanted, TEXTS, NAMES), wanted, atol=1e-6)
    split = keras.layers.TextVectorization(vocabulary=list(NAMES), output_mode="multi_hot")
    inputs = keras.Input((), dtype="string")
    outputs = keras.layers.Dense(3, "softmax")(split(inputs))
    model = keras.Model(inputs, outputs)
    found = answers_of(model, TEXTS, NAMES)
    wanted = model.predict(keras.ops.convert_to_tensor(TEXTS, "string"), verbose=0)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.fixture(scope="module")
def file():
    words = Vocabulary(list(NAMES), rules="kim")
    model = models.mean_classifier(keras.layers.Embedding(5, 4, mask_zero=True), 3)
    return export.convert(model, text=words, sequence_length=4, labels=["odd", "good", "bad"])


def test_answers_of_a_file_are_in_the_order_of_the_labels(file, tmp_path):
    path, names = tmp_path / "model.tflite", ["odd", "good", "bad"]
    export.save(file, path)
    found = answers_of(path, TEXTS, NAMES)
    one = TextClassifier(path).predict("so bad")
    assert found[1].tolist() == pytest.approx([one.probabilities[names.index(n)] for n in NAMES])
    np.testing.assert_allclose(found[2], 1 / 3, atol=1e-6)  # of no text, nothing is known
    with pytest.raises(ValueError, match="a file with the labels.*Received: .*odd"):
        answers_of(path, TEXTS, ("good", "bad"))
    words = Vocabulary(["good"])
    model = models.mean_classifier(keras.layers.Embedding(3, 2), 2, multi_label=True)
    with pytest.raises(ValueError, match="a file of one label a text"):
        answers_of(TextClassifier(export.convert(model, text=words)), TEXTS, ("0", "1"))


def test_a_file_says_nothing_of_a_text_without_a_token_for_it(file):
    teacher = TextClassifier(file)
    found = answers_of(teacher, ["good", "###", "\u6253\u5f00"], ("odd", "good", "bad"))
    np.testing.assert_allclose(found[1:], 1 / 3, rtol=1e-6)
    assert found[0].tolist() == pytest.approx(teacher.predict("good").probabilities.tolist())
    with pytest.raises(ValueError, match="`text` has no token under 'kim'"):
        teacher.predict("###")


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        (lambda texts: oracle(texts)[:2], r"of the shape \(4, 3\).*Received: teacher=\(2, 3\)"),
        (np.full((4, 2), 0.5), r"of the shape \(4, 3\).*Received: teacher=\(4, 2\)"),
        (np.full((4, 3), -1.0), "probabilities; of logits"),
        (np.full((4, 3), 0.0975), "whose sum is 1.*Received: teacher=0.29"),
        (np.full((4, 3), np.nan), "`teacher`"),
    ],
)
def test_refuses_what_is_no_answer(teacher, message):
    with pytest.raises(ValueError, match=message):
        answers_of(teacher, TEXTS, NAMES)


def test_vectors_are_files_names_or_several(tmp_path):
    path = VECTORS.save(tmp_path / "mine")
    several = vectors_of(f"{path},{path}")
    assert [one.width for one in several] == [5, 5] == [one.width for one in vectors_of([path] * 2)]
    assert vectors_of(None) == () and vectors_of(VECTORS) == (VECTORS,)
    for bad in ("nowhere", 3, [3], "", f"{path},"):  # "" is not the folder one is in
        with pytest.raises(ValueError, match="`vectors` must be .*Received: "):
            vectors_of(bad)


def test_few_texts_have_a_larger_dev():
    texts, labels = ["up", "down"] * 300, [0, 1] * 300
    assert len(held_out((texts, labels), 0).dev.texts) == 180
    assert dev_share(1000) == 0.2 and dev_share(100_000) == 0.1
    with pytest.raises(ValueError, match="`data` must be"):
        held_out(texts, 0)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search") / "search"
    options = {
        "vectors": VECTORS,
        "teacher": oracle,
        "unlabelled": [f"{name} word{number}" for name in NAMES for number in range(20)],
        "workers": 1,
        "trials": 3,
        "verbose": False,
        "folder": folder,
    }
    with pytest.MonkeyPatch.context() as patch:  # TF-IDF knows this dev as well as the teachers
        patch.setattr(tf_idf, "can_fit", lambda: False)
        yield text_classifier(dataset(60), "20KB", minutes=9, **options), options


@pytest.mark.slow
def test_a_search_with_both_learns_from_them(found):
    result, _ = found
    assert result.best.test_score > 0.7  # chance is 1/3
    assert {run.setting.start for run in result.trials} <= {"vectors", "full"}
    assert {run.setting.soft for run in result.trials} == {0.0, 0.8}  # one is not taught
    assert (
        result.facts["vectors"]
        == "<WordVectors of 33 words, 5 numbers each>, for 100.0% of the words"
    )
    for run in result.trials:  # six texts are held out
        assert (6 * (2 * run.score - run.dev)) == pytest.approx(
            round(6 * (2 * run.score - run.dev))
        )
    assert result.best.dev_scores[0] in [run.dev for run in result.trials]


@pytest.mark.slow
def test_it_is_resumed_with_the_same_vectors_only(found):
    _, options = found
    again = {**options, "resume": True, "trials": 4}
    calls = []
    again["teacher"] = lambda texts: calls.append(len(texts)) or oracle(texts)
    more = text_classifier(dataset(60), "20KB", minutes=9, **again)
    assert len(more.trials) > 3 and calls == [20]  # the answers are in the folder
    other = WordVectors(np.eye(33), WORDS)
    with pytest.raises(ValueError, match="not of this data, these vectors"):
        text_classifier(dataset(60), "20KB", minutes=9, **{**again, "vectors": other})


def test_several_labels_refuse_a_teacher():
    data = (["up", "down", "both"] * 40, [["a"], ["b"], ["a", "b"]] * 40)
    with pytest.raises(ValueError, match="`teacher` must be None if a text may have several"):
        text_classifier(data, "20KB", teacher=oracle, verbose=False)
    with pytest.raises(ValueError, match="`teacher` must be None.*distil=False"):
        text_classifier(dataset(60), "20KB", teacher=oracle, distil=False, verbose=False)


def test_answers_need_to_know_which_texts_are_dev():
    texts = [f"{name} {number}" for number in range(20) for name in NAMES]
    with pytest.raises(ValueError, match="`teacher` must be a model or a function, or `data` a Da"):
        text_classifier((texts, list(NAMES) * 20), "20KB", teacher=np.eye(len(texts)))


@pytest.mark.parametrize(
    ("distil", "few", "beyond", "expected"),
    [
        (None, False, Beyond(), False),
        (None, True, Beyond(), True),
        (None, False, Beyond(vectors=(VECTORS,)), True),
        (None, False, Beyond(teacher=oracle), True),
        (None, False, Beyond(unlabelled=("good word1",)), True),
        (True, False, Beyond(), True),
        (False, True, Beyond(unlabelled=("good word1",)), False),
    ],
)
def test_soft_labels_are_for_what_labels_alone_do_not_tell(
    distil, few, beyond, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(tf_idf, "FEW", 61 if few else 60)
    options = {"budgets": (20_000,), "metric": "accuracy", "seed": 0, "storage": ""}
    prepare(dataset(60), beyond, tmp_path, False, distil=distil, **options)
    assert Worker(tmp_path).facts.soft == expected
    # A search that goes on keeps what it began with, unless it is told otherwise.
    monkeypatch.setattr(tf_idf, "FEW", 60 if few else 61)
    assert prepare(dataset(60), beyond, tmp_path, True, distil=None, **options).distil == expected
    if beyond.unlabelled:  # scores are means of dev and agreement, or of dev alone
        with pytest.raises(ValueError, match=f"`distil` must be {expected}, as begun"):
            prepare(dataset(60), beyond, tmp_path, True, distil=not expected, **options)
        return
    told = prepare(dataset(60), beyond, tmp_path, True, distil=not expected, **options)
    assert told.distil != expected
