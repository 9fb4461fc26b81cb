"""Training of one setting: choice of words, training, fine-tuning, dev score of what ships."""

import contextlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact import export
from kerascompact.search.building import build, with_form_head
from kerascompact.search.corpus import Corpus
from kerascompact.search.setting import Setting
from kerascompact.search.starts import Start
from kerascompact.tasks.classification import best_epoch, fit, outputs_of
from kerascompact.tasks.methods import optimizer_of
from kerascompact.text.buckets import Buckets
from kerascompact.text.length_batches import LengthBatches
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.training.scores import is_multi_label, score
from kerascompact.training.vocabulary_choice import choose_words

Words = Vocabulary | Buckets
LEAST = 3_200  # texts of an epoch, which sees each of fewer several times
MOST_READ = 2  # times as many texts as without those that have no label; epochs are fewer then
STEPS = 8  # of TensorFlow between two of Python: half of the time goes there


class Trained(NamedTuple):
    """A trained setting.

    Args:
        setting: The setting.
        model: The model.
        vocabulary: Its vocabulary.
        score: Dev score of the frozen model.
        agreement: Share of the held-out texts without a label for which it gives the teachers'
            answer; `None`, if there are none.
        picked: Epoch that was best on dev, of the training and, if there is one, the fine-tuning.
    """

    setting: Setting
    model: keras.Model
    vocabulary: Words
    score: float
    agreement: float | None = None
    picked: tuple[int, ...] = ()


class Soft(NamedTuple):
    """A teacher's probabilities for every text, `(rows, classes)`; texts without a label last."""

    probabilities: np.ndarray
    rows: int  # with a label

    def mixed(self, labels: np.ndarray, setting: Setting) -> np.ndarray:
        """Targets: `(1 - w) y + w softmax(log(p) / T)` by the setting's weight and temperature.

        Args:
            labels: Labels of the rows that have one.
            setting: Its `soft` is the weight `w`, its `temperature` is `T`.

        Returns: float32 `(rows, classes)`; of texts without a label the teacher's alone.

        Reference: [Hinton et al., 2015](https://arxiv.org/abs/1503.02531), sec. 2.
        """
        softer = self.probabilities.astype(np.float32) ** (1 / setting.temperature)
        softer /= softer.sum(axis=1, keepdims=True)
        hard = np.eye(softer.shape[1], dtype=np.float32)[labels] if labels.ndim == 1 else labels
        softer[: self.rows] *= setting.soft
        softer[: self.rows] += (1 - setting.soft) * hard
        return softer


def words_of(corpus: Corpus, setting: Setting, table: np.ndarray | None) -> Words:
    """The words of a setting.

    Args:
        corpus: The texts.
        setting: Says how many words, and how they are chosen.
        table: Vectors of all words, trained from a start near zero; only for a choice by norm.
    """
    if setting.stored == "buckets":
        return Buckets(setting.words - 1, setting.rules)
    tokens = corpus.tokens(setting.rules)
    size = min(setting.words, most_words(setting, len(tokens.vocabulary)))
    if setting.chosen == "frequency":
        table = np.ones((len(tokens.vocabulary), 1))
    counts = None if setting.chosen == "norm" else tokens.counts
    slots = setting.stored == "slots"
    in_order = setting.method == "standard" and not slots
    order: dict[str, Any] = {"file_order": in_order, "slots": slots}
    if slots and setting.tag_bits > 8:
        order |= {"tag_bits": setting.tag_bits, "seed": None}
    return choose_words(tokens.vocabulary, table, size, counts=counts, **order)


def most_words(setting: Setting, known: int) -> int:
    """Most ids of a setting, of words that are known: some slots stay empty."""
    return round(known * 10 / 9) if setting.stored == "slots" else known


def train(
    setting: Setting,
    corpus: Corpus,
    vocabulary: Words,
    *,
    seed: int = 0,
    fold: int = 0,
    metric: str = "accuracy",
    soft: Soft | None = None,
    start: Start | None = None,
    held: np.ndarray | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    options: dict[str, Any] | None = None,
    picked: Sequence[int] = (),
) -> Trained:
    """Trains a setting and scores on dev the numbers that its file will have.

    Args:
        setting: The setting.
        corpus: The texts.
        vocabulary: Its words, see `words_of`.
        seed: Seed of the weights, the batches and the dropout.
        fold: Which rows are dev, see `Corpus.rows`.
        metric: One of `training.scores.METRICS`.
        soft: A teacher's probabilities; only a setting with `soft` above 0 reads them.
        start: Where the table and the output layer start. Default: drawn.
        held: The teachers' answers for the first texts without a label, which are held out; the
            epoch is then picked by these and by dev.
        callbacks: Callbacks of the training, not of the fine-tuning.
        options: Further options of the embedding.
        picked: Epochs to end at, where dev is trained on and cannot pick them.

    Returns: The model, fine-tuned if the setting says so, and its score.
    """
    known_only = setting.skip_unknown and setting.model != "cnn"
    soft = soft if setting.soft else None
    several, first = is_multi_label(corpus.labels), len(corpus.labels)
    with_more = soft is not None or held is not None
    ids = corpus.encode(vocabulary, known_only, unlabelled=with_more)
    num_held = 0 if held is None else len(held)
    train_rows, dev_rows = corpus.rows(fold)
    dev = ids[dev_rows], corpus.labels[dev_rows]
    judged = dev if held is None else _with_held(dev, ids[first : first + len(held)], held)
    passes = math.ceil(LEAST / max(len(train_rows), 1))
    train_rows = np.tile(train_rows, passes)
    labels, share = corpus.labels, 1.0
    if soft is not None:
        labels = soft.mixed(labels, setting)
        labelled = len(train_rows)
        more = np.arange(first + num_held, len(ids))
        more = np.random.default_rng(seed).permutation(more)
        train_rows = np.concatenate([train_rows, more[: MOST_READ * setting.epochs * labelled]])
        share = min(1.0, MOST_READ * labelled / len(train_rows))
    named = {**dict(setting.options), **(options or {})}
    if start is not None:
        named["weights"] = start.table
    setting_built = setting._replace(options=tuple(named.items()))
    model = build(setting_built, len(vocabulary), len(corpus.label_names), seed, several)
    if start is not None:
        start.set_head(model, setting)
    # Of few rows, those of one length are too few for batches of their own.
    shuffled: dict[str, Any] = {"seed": seed, "num_buckets": 6 if passes == 1 else 1}
    rows = ids[train_rows], labels[train_rows]
    with contextlib.closing(LengthBatches(*rows, setting.batch_size, **shuffled)) as batches:
        common: dict[str, Any] = {"metric": metric, "steps_per_execution": STEPS}
        history = fit(
            model,
            batches,
            judged,
            epochs=max(1, round(share * setting.epochs)),
            learning_rate=setting.learning_rate,
            optimizer=optimizer_of(setting.method),
            **_ending(picked[:1], callbacks),
            **common,
        )
        best = [best_epoch(history[f"val_{metric}"])]
        if setting.head == "int4":
            model = with_form_head(model)
        if setting.tuning_epochs:
            model = export.quantization_aware(model, setting.recipe)
            common |= {"learning_rate": setting.tuning_rate, **_ending(picked[1:2], ())}
            epochs = max(1, round(share * setting.tuning_epochs))
            history = fit(model, batches, judged, epochs=epochs, **common)
            best.append(best_epoch(history[f"val_{metric}"]))
    frozen = export.freeze(model, setting.recipe).model
    outputs = outputs_of(frozen, dev[0])
    scored = score(outputs, dev[1], metric)
    found = Trained(setting, model, vocabulary, scored, picked=tuple(best))
    if held is None:
        return found
    answers = np.argmax(outputs_of(frozen, ids[first : first + num_held]), axis=1)
    return found._replace(agreement=float(np.mean(answers == held)))


def _with_held(dev: Any, ids: np.ndarray, answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dev, beside texts without a label and the teachers' answers; both count about the same."""
    times = max(1, round(len(answers) / max(len(dev[1]), 1)))
    return np.concatenate([*[dev[0]] * times, ids]), np.concatenate([*[dev[1]] * times, answers])


def _ending(picked: Sequence[int], callbacks: Sequence[keras.callbacks.Callback]) -> dict[str, Any]:
    """Options of `fit`, by which it ends at an epoch and keeps its weights."""
    if not picked:
        return {"callbacks": callbacks}
    return {"callbacks": [*callbacks, StopAfter(picked[0])], "start_from_epoch": picked[0] - 1}


class StopAfter(keras.callbacks.Callback):
    """Ends a training after so many epochs."""

    def __init__(self, epochs: int) -> None:
        super().__init__()
        self.epochs = epochs

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch + 1 >= self.epochs:
            self.model.stop_training = True
