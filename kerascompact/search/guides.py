"""Guides: models of all words, by which words are chosen, and which teach the small ones."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerascompact.core.arrays import load_npz, save_npz
from kerascompact.core.keras_graph import maker_of
from kerascompact.search import pretrained
from kerascompact.search.corpus import Corpus
from kerascompact.search.locks import exclusive
from kerascompact.search.setting import Setting
from kerascompact.search.starts import Start, start_at
from kerascompact.search.training import Soft, train
from kerascompact.tasks.classification import outputs_of
from kerascompact.training.scores import is_multi_label, score

START = 0.01  # words that say little about the class stay near it
MOST_NUMBERS = 50_000_000  # of a teacher's probabilities
WORTH = 0.02  # a teacher this far below the best one on dev is not heard
GENTLE = 3e-3  # first learning rate from pre-trained vectors, which are good already
TEACHER = "teacher.npz"  # answers of the user's own teacher
TEACHES = 0.8  # weight of teachers that a guide learns from


class Guide(NamedTuple):
    """A model of all words: what it starts others at, and what it says of every text.

    Args:
        whole: Its table `(ids, width)` and output layer.
        score: Dev score.
        outputs: float16 probabilities `(rows, classes)`, or no rows, if they would be too many.
        seconds: What the training took.
    """

    whole: Start
    score: float
    outputs: np.ndarray
    seconds: float


class Guides:
    """Guides of a corpus, each trained once by whichever process first needs it.

    - "words", "pairs" and "wide" are means of vectors that are trained from near zero. With
      pre-trained vectors words start at those, and learn from "vectors" and "teacher" as well, if
      there are texts without a label.
    - "vectors" is a linear classifier over pre-trained vectors, see `pretrained.probe`.
    - "teacher" is the user's own, of which there are answers only.

    Args:
        corpus: The texts.
        folder: Folder of the search, where guides are kept for other processes.
        epochs: Epochs of a guide's training.
        metric: Metric of the dev score.
        seed: Seed of all trainings.
    """

    def __init__(self, corpus: Corpus, folder: Path, epochs: int, metric: str, seed: int) -> None:
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
        }
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
                    made = {"vectors": self._probe, "teacher": self._teacher}.get(name, self._train)
                    found = made(name, fold)
                    seconds = time.monotonic() - start
                    save_npz(path, **found, seconds=np.array(seconds))
            kept = load_npz(path)
            whole = Start(kept["table"], kept.get("kernel"), kept.get("bias"))
            numbers = float(kept["score"]), kept["outputs"], float(kept["seconds"])
            self._found[key] = Guide(whole, *numbers)
        return self._found[key]

    @property
    def seconds(self) -> float:
        """What the guides of fold 0 took that were used."""
        return sum(guide.seconds for (_, fold), guide in self._found.items() if fold == 0)

    @property
    def teachers(self) -> tuple[str, ...]:
        """Names of the guides that teach: those that know more than the labelled texts, if any."""
        return tuple(self.given) or ("words", "pairs", "wide")

    def whole(self, rules: str, fold: int = 0, start: str = "full") -> Start:
        """The model of all words of some rules, by which words are chosen and trainings start.

        Args:
            rules: Token rules.
            fold: Fold.
            start: "full", or "vectors" for the classifier over pre-trained vectors, in which pairs
                have zeros.
        """
        paired = rules.endswith("_pairs")
        if start == "full":
            return self.get("pairs" if paired else "words", fold).whole
        found = self.get("vectors", fold).whole
        return self._with_pairs(found) if paired else found

    def soft(self, names: tuple[str, ...], fold: int = 0) -> Soft | None:
        """What the good ones among some guides say on average; `None`, if there is too much."""
        found = [self.get(name, fold) for name in names]
        best = max(guide.score for guide in found)
        heard = [guide.outputs for guide in found if guide.score >= best - WORTH]
        if not len(heard[0]):
            return None
        mean = np.mean([one.astype(np.float32) for one in heard], axis=0)
        return Soft(mean, len(self.corpus.labels))

    def _train(self, name: str, fold: int) -> dict[str, np.ndarray]:
        setting = self.settings[name]
        tokens = self.corpus.tokens(setting.rules)
        start, soft = None, None
        if "vectors" in self.given:
            whole = self.whole(setting.rules, fold, "vectors")
            start = start_at(setting, tokens.vocabulary, tokens, whole, self.seed)
        if self.given and len(self.corpus.texts) > len(self.corpus.labels):
            soft = self.soft(tuple(self.given), fold)
            setting = setting._replace(soft=TEACHES)
        trained = train(
            setting,
            self.corpus,
            tokens.vocabulary,
            seed=self.seed,
            fold=fold,
            metric=self.metric,
            soft=soft,
            start=start,
            options={} if start else {"start": START},
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
        }

    def _probe(self, name: str, fold: int) -> dict[str, np.ndarray]:
        table = pretrained.table_of(self.folder)
        if is_multi_label(self.corpus.labels):
            nothing = {"outputs": np.zeros((0, 0), np.float16), "score": np.array(0.0)}
            return {"table": table / max(float(table.std()), 1e-12), **nothing}
        found = pretrained.probe(self.corpus, table, fold, self.seed)
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
