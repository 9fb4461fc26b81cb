"""Guides: models of all words, by which words are chosen, and which teach the small ones."""

import time
from pathlib import Path

import numpy as np

from kerascompact.core.arrays import load_npz, save_npz
from kerascompact.search.corpus import Corpus
from kerascompact.search.locks import exclusive
from kerascompact.search.setting import Setting
from kerascompact.search.training import Soft, train
from kerascompact.tasks.classification import outputs_of

START = 0.01  # words that say little about the class stay near it
MOST_NUMBERS = 50_000_000  # of a teacher's probabilities
WORTH = 0.02  # a teacher this far below the best one on dev is not heard


class Guide:
    """A model of all words: its table, its dev score, and what it says of every text.

    Args:
        setting: Its setting, whose rules decide the words.
        table: Vectors, `(ids, width)`.
        score: Dev score.
        outputs: float16 probabilities `(rows, classes)`, or no rows, if they would be too many.
        seconds: What the training took.
    """

    def __init__(
        self, setting: Setting, table: np.ndarray, score: float, outputs: np.ndarray, seconds: float
    ) -> None:
        self.setting, self.table, self.score = setting, table, score
        self.outputs, self.seconds = outputs, seconds


class Guides:
    """Guides of a corpus, each trained once by whichever process first needs it.

    Args:
        corpus: The texts.
        folder: Where they are kept for other processes.
        epochs: Epochs of a guide's training.
        metric: Metric of the dev score.
        seed: Seed of all trainings.
    """

    def __init__(self, corpus: Corpus, folder: Path, epochs: int, metric: str, seed: int) -> None:
        self.corpus, self.folder, self.metric, self.seed = corpus, folder, metric, seed
        base = Setting(0, 16, rules=corpus.rules, epochs=epochs, batch_size=128, learning_rate=1e-2)
        wider = base._replace(width=64, dropout=0.6)
        convolution = base._replace(
            model="cnn", width=48, units=128, filter_sizes=(1, 2, 3), learning_rate=2e-3
        )
        pairs = f"{corpus.rules}_pairs"
        self.settings = {
            "words": base,
            "pairs": base._replace(rules=pairs),
            "wide": wider._replace(rules=pairs),
            "cnn": convolution._replace(dropout=0.5),
        }
        self._found: dict[tuple[str, int], Guide] = {}

    def get(self, name: str, fold: int = 0) -> Guide:
        """A guide by its name: "words", "pairs", "wide" or "cnn".

        It has not seen the dev rows of its fold, see `Corpus.rows`: a word that it found, or what
        it taught, would else make dev scores of that fold too good.
        """
        key = name, fold
        if key not in self._found:
            path = self.folder / f"guide-{name}-{fold}.npz"
            with exclusive(path.with_suffix(".lock")):
                if not path.exists():
                    self._train(name, fold, path)
            found = load_npz(path)
            facts = found["facts"].tolist()
            setting = self.settings[name]
            self._found[key] = Guide(setting, found["table"], facts[0], found["outputs"], facts[1])
        return self._found[key]

    @property
    def seconds(self) -> float:
        """What the guides of fold 0 took that were used."""
        return sum(guide.seconds for (_, fold), guide in self._found.items() if fold == 0)

    def table(self, rules: str, fold: int = 0) -> np.ndarray:
        """Vectors of all tokens of some rules, to choose words by their norms."""
        return self.get("pairs" if rules.endswith("_pairs") else "words", fold).table

    def soft(self, names: tuple[str, ...], fold: int = 0) -> Soft | None:
        """What the good ones among some guides say on average; `None`, if there is too much."""
        found = [self.get(name, fold) for name in names]
        best = max(guide.score for guide in found)
        heard = [guide.outputs for guide in found if guide.score >= best - WORTH]
        if not len(heard[0]):
            return None
        mean = np.mean([one.astype(np.float32) for one in heard], axis=0)
        return Soft(mean, len(self.corpus.labels))

    def _train(self, name: str, fold: int, path: Path) -> None:
        start = time.monotonic()
        setting = self.settings[name]
        vocabulary = self.corpus.tokens(setting.rules).vocabulary
        trained = train(
            setting,
            self.corpus,
            vocabulary,
            seed=self.seed,
            fold=fold,
            metric=self.metric,
            options={"start": START},
        )
        outputs = np.zeros((0, 0), np.float16)
        classes = len(self.corpus.label_names)
        ids = self.corpus.encode(vocabulary, unlabelled=True)
        if len(ids) * classes <= MOST_NUMBERS:
            outputs = outputs_of(trained.model, ids).astype(np.float16)
        table = trained.model.get_layer("embedding").embeddings.numpy()
        facts = np.array([trained.score, time.monotonic() - start])
        save_npz(path, table=table, outputs=outputs, facts=facts)
