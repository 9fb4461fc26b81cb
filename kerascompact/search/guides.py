"""Guides: models of all words, by which words are chosen, and which teach the small ones."""

import functools
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerascompact.core.arrays import load_npz, save_npz
from kerascompact.core.keras_graph import maker_of
from kerascompact.search import pretrained, tf_idf
from kerascompact.search.corpus import ALL, Corpus
from kerascompact.search.locks import exclusive
from kerascompact.search.setting import Setting
from kerascompact.search.starts import Start, start_at
from kerascompact.search.training import Soft, train
from kerascompact.tasks.classification import outputs_of
from kerascompact.training.scores import is_multi_label, score

START = 0.01  # words that say little about the class stay near it
MOST_NUMBERS = 50_000_000  # of a teacher's probabilities
TEACHES = 0.8  # weight of the teachers that a guide learns from
MOST_HELD = 1_000  # texts without a label that are held out of trials
ROUNDS = 200  # of the fit of the teachers' weights
HEARD = 0.02  # smallest weight of a teacher
GENTLE = 3e-3  # first learning rate from pre-trained vectors, which are good already
TEACHER = "teacher.npz"  # answers of the user's own teacher
TF_IDF = {False: "tf-idf words", True: "tf-idf pairs"}  # by whether they have pairs


class Guide(NamedTuple):
    """A model of all words: what it starts others at, and what it says of every text.

    Args:
        whole: Its table `(ids, width)` and output layer.
        score: Dev score.
        outputs: float16 probabilities `(rows, classes)`, or no rows, if they would be too many.
        seconds: What the training took.
        picked: Epochs that were best on dev, see `Trained`, if it is trained by steps.
    """

    whole: Start
    score: float
    outputs: np.ndarray
    seconds: float
    picked: tuple[int, ...] = ()


class Guides:
    """Guides of a corpus, each trained once by whichever process first needs it.

    - "words", "pairs" and "wide" are means of vectors that are trained from near zero, or from
      pre-trained vectors.
    - "taught words" and "taught pairs" are the same, but learn from what the teachers say of texts
      without a label.
    - "vectors" is a linear classifier over pre-trained vectors, see `pretrained.probe`.
    - "tf-idf words" and "tf-idf pairs" are one over weighted words, see `tf_idf.probe`, where
      labels are few or others teach, too. Texts without a label tell them which words belong
      together.
    - "teacher" is the user's own, of which there are answers only.

    Args:
        corpus: The texts.
        folder: Folder of the search, where guides are kept for other processes.
        epochs: Epochs of a guide's training.
        metric: Metric of the dev score.
        seed: Seed of all trainings.
        teaches: Whether there are teachers.
    """

    def __init__(
        self,
        corpus: Corpus,
        folder: Path,
        epochs: int,
        metric: str,
        seed: int,
        teaches: bool = False,
    ) -> None:
        self.teaches = teaches
        self.corpus, self.folder, self.metric, self.seed = corpus, folder, metric, seed
        self.given = ["vectors"] if pretrained.exist(folder) else []
        self.given += ["teacher"] if (folder / TEACHER).exists() else []
        base = Setting(0, 16, rules=corpus.rules, epochs=epochs, batch_size=128, learning_rate=1e-2)
        if "vectors" in self.given:
            base = base._replace(skip_unknown=True, learning_rate=GENTLE)
        pairs = f"{corpus.rules}_pairs"
        self.settings = {
            "words": base,
            "pairs": base._replace(rules=pairs),
            "wide": base._replace(rules=pairs, width=64, dropout=0.6),
            "taught words": base._replace(soft=TEACHES),
            "taught pairs": base._replace(rules=pairs, soft=TEACHES),
        }
        self.unlabelled = len(corpus.texts) > len(corpus.labels)
        self._found: dict[tuple[str, int], Guide] = {}

    def get(self, name: str, fold: int = 0) -> Guide:
        """A guide by its name.

        It has not seen the dev rows of its fold, see `Corpus.rows`: a word that it found, or what
        it taught, would else make dev scores of that fold too good. The user's teacher is the same
        for all folds.
        """
        key = name, fold
        if key not in self._found:
            path = self.folder / "guides" / f"{name}-{fold}.npz"
            with exclusive(path.with_suffix(".lock")):
                if not path.exists():
                    start = time.monotonic()
                    own = {"vectors": self._probe, "teacher": self._teacher}
                    own |= dict.fromkeys(TF_IDF.values(), self._tf_idf)
                    found = own.get(name, self._train)(name, fold)
                    seconds = time.monotonic() - start
                    save_npz(path, **found, seconds=np.array(seconds))
            kept = load_npz(path)
            whole = Start(kept["table"], kept.get("kernel"), kept.get("bias"))
            numbers = float(kept["score"]), kept["outputs"], float(kept["seconds"])
            picked = tuple(int(one) for one in kept.get("picked", ()))
            self._found[key] = Guide(whole, *numbers, picked)
        return self._found[key]

    @property
    def seconds(self) -> float:
        """What the guides of fold 0 took that were used."""
        return sum(guide.seconds for (_, fold), guide in self._found.items() if fold == 0)

    @property
    def teachers(self) -> tuple[str, ...]:
        """Names of the guides that teach; the slowest only where none is given."""
        found = (*self.given, "words", "pairs") if self.given else ("words", "pairs", "wide")
        more = tf_idf.can_fit() and (bool(self.given) or self.unlabelled or self.few)
        return (*found, *TF_IDF.values()) if more else found

    @property
    def few(self) -> bool:
        """Whether there are so few labels, one a text, that trainings start at TF-IDF, too."""
        several = is_multi_label(self.corpus.labels)
        return self.corpus.num_train < tf_idf.FEW and tf_idf.can_fit() and not several

    def whole(self, rules: str, fold: int = 0, start: str = "full") -> Start:
        """The model of all words of some rules, by which words are chosen and trainings start.

        Args:
            rules: Token rules.
            fold: Fold.
            start: "full"; "vectors" for the classifier over pre-trained vectors, in which pairs
                have zeros; or "tf-idf".
        """
        paired = rules.endswith("_pairs")
        if start == "full":
            taught = "taught " if self.teaches and self.unlabelled else ""
            return self.get(taught + ("pairs" if paired else "words"), fold).whole
        if start == "tf-idf":
            return self.get(TF_IDF[paired], fold).whole
        found = self.get("vectors", fold).whole
        return self._with_pairs(found) if paired else found

    def soft(self, names: tuple[str, ...], fold: int = 0) -> Soft | None:
        """What some guides say, each by its weight, see `weights_of`; `None`, if it is too much.

        The final training hears those of fold 0: guides that have seen dev would seem right there.
        """
        fold = max(fold, 0)
        found = [self.get(name, fold).outputs for name in names]
        if not len(found[0]):
            return None
        _, dev = self.corpus.rows(fold)
        right = [one[dev, self.corpus.labels[dev]].astype(np.float64) for one in found]
        weights = weights_of(np.stack(right, axis=1)).astype(np.float32)
        mixed = sum(weight * one for weight, one in zip(weights, found, strict=True) if weight)
        return Soft(mixed, len(self.corpus.labels))

    def held(self, fold: int = 0) -> np.ndarray | None:
        """What the teachers say of the first texts without a label, which are held out of trials:
        one in ten, at most 1,000; `None`, if there are none, or if they are not `trusted`."""
        soft = self.soft(self.teachers, fold)
        if soft is None or not self.trusted:
            return None
        count = min(MOST_HELD, (len(self.corpus.texts) - soft.rows) // 10)
        return np.argmax(soft.probabilities[soft.rows :][:count], axis=1) if count else None

    @functools.cached_property
    def trusted(self) -> bool:
        """Whether the teachers together know dev better than the best table that labels trained.

        If dev is small this may be luck, but a score of so few rows is, too. A teacher that is no
        better would mislead a comparison.
        """
        soft, (_, dev) = self.soft(self.teachers), self.corpus.rows()
        if soft is None:
            return False
        labels = self.corpus.labels[dev]
        right = np.argmax(soft.probabilities[dev], axis=1) == labels
        own = [name for name in self.teachers if name in self.settings]
        alone = [np.argmax(self.get(name).outputs[dev], axis=1) == labels for name in own]
        best = max(alone, key=np.mean)
        more = np.count_nonzero(right & ~best) - np.count_nonzero(best & ~right)
        return bool(more > 0)

    def _train(self, name: str, fold: int) -> dict[str, np.ndarray]:
        setting = self.settings[name]
        tokens = self.corpus.tokens(setting.rules)
        start = None
        if "vectors" in self.given:
            whole = self.whole(setting.rules, fold, "vectors")
            start = start_at(setting, tokens.vocabulary, tokens, whole, self.seed)
        trained = train(
            setting,
            self.corpus,
            tokens.vocabulary,
            seed=self.seed,
            fold=fold,
            metric=self.metric,
            soft=self.soft(self.teachers, fold) if setting.soft else None,
            start=start,
            options={} if start else {"start": START},
            picked=self.get(name, 0).picked if fold == ALL else (),  # dev is trained on there
        )
        outputs = np.zeros((0, 0), np.float16)
        ids = self.corpus.encode(tokens.vocabulary, setting.skip_unknown, unlabelled=True)
        if len(ids) * len(self.corpus.label_names) <= MOST_NUMBERS:
            outputs = outputs_of(trained.model, ids).astype(np.float16)
        head = maker_of(trained.model.outputs[0])
        return {
            "table": trained.model.get_layer("embedding").embeddings.numpy(),
            "kernel": head.kernel.numpy(),
            "bias": head.bias.numpy(),
            "outputs": outputs,
            "score": np.array(trained.score),
            "picked": np.array(trained.picked),
        }

    def _probe(self, name: str, fold: int) -> dict[str, np.ndarray]:
        tables = pretrained.tables_of(self.folder)
        if is_multi_label(self.corpus.labels):
            nothing = {"outputs": np.zeros((0, 0), np.float16), "score": np.array(0.0)}
            return {"table": tables[0], **nothing}
        return self._linear(pretrained.probe(self.corpus, tables, fold, self.seed), fold)

    def _tf_idf(self, name: str, fold: int) -> dict[str, np.ndarray]:
        if is_multi_label(self.corpus.labels):
            nothing = np.zeros((0, 0), np.float32)
            return {"table": nothing, **self._answers(nothing, fold)}
        rules = self.corpus.rules + ("_pairs" if name == TF_IDF[True] else "")
        return self._linear(tf_idf.probe(self.corpus, rules, fold, self.seed), fold)

    def _linear(self, found: pretrained.Probe, fold: int) -> dict[str, np.ndarray]:
        scale = max(float(found.table.std()), 1e-12)
        return {
            "table": found.table / scale,
            "kernel": np.eye(found.table.shape[1], dtype=np.float32) * scale,
            "bias": found.bias,
            **self._answers(found.outputs, fold),
        }

    def _teacher(self, name: str, fold: int) -> dict[str, np.ndarray]:
        outputs = load_npz(self.folder / TEACHER)["outputs"]
        return {"table": np.zeros((0, 0), np.float32), **self._answers(outputs, fold)}

    def _answers(self, outputs: np.ndarray, fold: int) -> dict[str, np.ndarray]:
        _, dev = self.corpus.rows(fold)
        found = score(outputs[dev], self.corpus.labels[dev], self.metric)
        kept = outputs if outputs.size <= MOST_NUMBERS else outputs[:0]
        return {"outputs": kept.astype(np.float16), "score": np.array(found)}

    def _with_pairs(self, words: Start) -> Start:
        """The same classifier over words and pairs, of which a mean has nearly twice as many."""
        plain = self.corpus.tokens(self.corpus.rules).vocabulary
        both = self.corpus.tokens(f"{self.corpus.rules}_pairs").vocabulary
        places = [plain.id_of(word) for word in both.words]  # unknown: zeros
        table = words.table[[0, 0, *places]] * (np.array([0, 0, *places]) > 1)[:, None]
        kernel = None if words.kernel is None else 2 * words.kernel
        return Start(table.astype(np.float32), kernel, words.bias)


def weights_of(probabilities: np.ndarray) -> np.ndarray:
    """Weights of models in the mixture under which dev is most likely, by EM.

    `w_k <- mean_i (w_k p_ik / sum_j w_j p_ij)`, from equal ones; small ones become 0.

    Args:
        probabilities: What each model gives the right class of each text, `(texts, models)`.

    Returns: float64 `(models,)`, with the sum 1.

    >>> weights_of(np.array([[0.9, 0.5], [0.8, 0.5], [0.7, 0.5]])).tolist()
    [1.0, 0.0]
    """
    weights = np.full(probabilities.shape[1], 1 / probabilities.shape[1])
    for _ in range(ROUNDS):
        shares = weights * np.maximum(probabilities, 1e-4)
        weights = np.mean(shares / shares.sum(axis=1, keepdims=True), axis=0)
    weights[weights < HEARD] = 0.0
    return weights / weights.sum()
