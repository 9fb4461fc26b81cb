"""Several labels a text in a search: the model, the bytes and the answers of the file."""

import numpy as np
import pytest

from kerascompact import datasets, export
from kerascompact.core.keras_graph import has_independent_outputs
from kerascompact.runtime import TextClassifier
from kerascompact.search.building import build
from kerascompact.search.setting import MODELS, Setting
from kerascompact.search.sizes import MARGIN, Sizes
from kerascompact.search.text_classifier import text_classifier
from kerascompact.search.word_sizes import sample_words

COLOURS = ("red", "green", "blue", "white")
SETTING = Setting(words=300, width=8, recipe="int8")


@pytest.mark.parametrize("model", MODELS)
def test_models_have_sigmoids(model):
    setting = Setting(words=50, width=4, model=model, units=4, filter_sizes=(2,))
    assert has_independent_outputs(build(setting, 50, 3, multi_label=True))
    assert not has_independent_outputs(build(setting, 50, 3))


def test_sizes_are_those_of_files_of_such_models(monkeypatch):
    monkeypatch.setattr(export, "convert", lambda model, *_, **__: model)
    words = sample_words(298)
    for several in (False, True):
        measured = Sizes(COLOURS, 16, multi_label=several).convert(SETTING, words)
        assert has_independent_outputs(measured) == several


@pytest.mark.slow
def test_bytes_are_known_before():
    sizes = Sizes(COLOURS, 16, multi_label=True)
    words = sample_words(298)
    real, predicted = len(sizes.convert(SETTING, words)), sizes.predict(SETTING, words)
    assert abs(real - predicted) <= MARGIN
    assert Sizes(COLOURS, 16).predict(SETTING, words) != predicted


@pytest.mark.slow
def test_a_search_of_labels_that_are_words():
    random = np.random.default_rng(0)
    sets = [list(random.permutation(COLOURS)[: random.integers(0, 4)]) for _ in range(600)]
    texts = [" ".join(["so", *one, f"word{random.integers(30)}"]) for one in sets]
    data = datasets.from_texts(texts, sets, dev=0.2, test=0.2)
    found = text_classifier(data, "16KiB", 0.4, workers=1, verbose=False)
    assert found.facts["metric"] == "micro_f1" and len(found.best.file) <= 16 * 1024
    assert found.best.test_score > 0.5  # one or two trials on a busy machine
    classifier = TextClassifier(found.best.file)
    assert classifier.multi_label and classifier.labels == tuple(sorted(COLOURS))
