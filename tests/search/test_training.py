"""What a training of a setting leaves behind."""

import gc
import weakref

import numpy as np
import pytest

from kerascompact.search import training
from kerascompact.search.corpus import Corpus
from kerascompact.search.setting import Setting
from kerascompact.text.length_batches import LengthBatches
from tiny_task import dataset


@pytest.mark.few(1)
@pytest.mark.parametrize("fails", [False, True])
def test_texts_are_let_go_of_after_a_training(fails, monkeypatch):
    """TensorFlow keeps the generator behind each `fit` for good, a search has hundreds of them."""
    held = []

    class Watched(LengthBatches):
        def __init__(self, ids, *args, **options):
            super().__init__(ids, *args, **options)
            held.append(weakref.ref(self.ids))

    def stopped(*args, **options):
        fitted(*args, **options)
        raise ValueError("as some trainings do")

    fitted = training.fit
    monkeypatch.setattr(training, "LEAST", 100)
    monkeypatch.setattr(training, "LengthBatches", Watched)
    data = dataset(90)
    texts, labels = data.train.texts + data.dev.texts, [data.train.labels, data.dev.labels]
    corpus = Corpus(texts, np.concatenate(labels), 90, data.label_names)
    setting = Setting(20, 4, recipe="int4", tuning_epochs=1, epochs=2, batch_size=32)
    words = corpus.tokens(corpus.rules).vocabulary
    if fails:
        monkeypatch.setattr(training, "fit", stopped)
        with pytest.raises(ValueError, match="as some"):
            training.train(setting, corpus, words)
    else:
        assert training.train(setting, corpus, words).score > 0.2
    gc.collect()
    assert len(held) == 1 and held[0]() is None
