"""Output layers of fewer bytes: their ranks, bits, predicted sizes and answers."""

import numpy as np
import pytest

from kerascompact import export
from kerascompact.runtime import TextClassifier
from kerascompact.search import sizes
from kerascompact.search.building import build, with_form_head
from kerascompact.search.corpus import Corpus
from kerascompact.search.setting import Setting
from kerascompact.search.sizes import MARGIN, Sizes
from kerascompact.search.training import train, words_of
from kerascompact.search.word_sizes import sample_words

CLASSES = tuple(f"class {number}" for number in range(40))
SETTING = Setting(200, 16, recipe="int4", stored="slots", tuning_epochs=1, epochs=2)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "change",
    [
        {"head": "int4"},
        {"head": "int4", "head_rank": 8, "model": "mean_and_max"},
        {"head_rank": 8, "model": "cnn", "units": 16, "filter_sizes": (1, 2)},
    ],
)
def test_bytes_are_known_before(change, monkeypatch):
    monkeypatch.setattr(sizes, "IN_SLOTS", (1500,))  # one small model is measured, not two
    known, setting = Sizes(CLASSES, 16), SETTING._replace(**change)
    file = known.convert(setting, sample_words(300))
    assert abs(len(file) - known.predict(setting)) <= MARGIN


def test_a_low_rank_is_a_product_of_two_kernels():
    model = build(SETTING._replace(head_rank=3, dropout=0.0), 200, 40)
    ids = np.array([[5, 7, 0]])
    mean = model.get_layer("embedding").embeddings.numpy()[[5, 7]].mean(0)
    kernel = model.get_layer("low_rank").kernel.numpy() @ model.layers[-1].kernel.numpy()
    assert np.linalg.matrix_rank(kernel) == 3
    logits = mean @ kernel
    wanted = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(model(ids)[0], wanted, atol=1e-6)


@pytest.mark.parametrize("several", [False, True])
def test_the_form_of_a_head_gives_its_outputs(several):
    model = build(SETTING, 200, 40, multi_label=several)
    ids = np.random.default_rng(0).integers(0, 200, (5, 7))
    np.testing.assert_allclose(with_form_head(model)(ids), model(ids), atol=1e-6)


@pytest.mark.slow
def test_trains_and_converts_four_bits():
    random = np.random.default_rng(0)
    labels = random.permutation(np.repeat(np.arange(40), 6))
    texts = [f"say w{label} now" for label in labels]
    corpus = Corpus(texts, labels, 200, CLASSES)
    setting = SETTING._replace(words=47, head="int4", epochs=8, dropout=0.0)
    setting = setting._replace(batch_size=32, learning_rate=0.03)
    words = words_of(corpus, setting._replace(chosen="frequency"), None)
    found = train(setting, corpus, words)
    file = export.convert(found.model, "int4", text=words, labels=CLASSES)
    answers = [TextClassifier(file).predict(text).label for text in texts[200:]]
    assert found.agreement is None  # there are no texts without a label
    right = np.mean([CLASSES[n] == a for n, a in zip(labels[200:], answers, strict=True)])
    assert right == pytest.approx(found.score, abs=0.03) and right > 0.5
