"""fastText's quantized classifiers: files of a few KiB that take text, to compare with.

`fasttext supervised`, then `quantize` with `qnorm` and `retrain`: words and bigrams of the largest
norms are kept, and their vectors are product codes. It sees the tokens that our models see.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kerascompact.core.extras import require
from kerascompact.datasets.base import Dataset, Split
from kerascompact.text.rules import tokenize

RULES, PREFIX = "wordpunct", "__"  # of tokens; in front of a label, as short as can be
BUCKET = 100_000  # bigrams are hashed to


class Setting(NamedTuple):
    """What decides a file, but for its `seed`: `cutoff` words and bigrams are kept."""

    dim: int
    ngrams: int
    cutoff: int
    epochs: int = 40
    rate: float = 0.25

    @property
    def label(self) -> str:
        """The setting in a few words."""
        kind = "words" if self.ngrams == 1 else "n-grams"
        shape = f"d={self.dim}, {self.cutoff:,} {kind}"
        return f"{shape}, rate {self.rate:g}, {self.epochs} epochs"


class Files:
    """Trains on a data set and writes quantized files of it.

    Args:
        dataset: Every split of it is written as fastText reads it.
        settings: To choose from.
        folder: For the splits and the trained models.

    Raises: ImportError, without the package fasttext.
    """

    def __init__(self, dataset: Dataset, settings: Sequence[Setting], folder: Path) -> None:
        self.fasttext: Any = require("fasttext", "bench")
        self.settings = settings
        self.dataset, self.folder = dataset, folder
        self.rows: dict[str, int] = {}
        for name in ("train", "dev", "test"):
            split = getattr(dataset, name)
            self.rows[name] = len(split.texts)
            lines = "".join(_lines(split, dataset.label_names))
            (folder / f"{name}.txt").write_text(lines, "utf-8")

    def trained(self, setting: Setting, seed: int) -> Path:
        """The model before it is quantized; trained once for all cutoffs."""
        facts = (setting.dim, setting.ngrams, setting.epochs, setting.rate, seed)
        path = self.folder / f"{'_'.join(map(str, facts))}.bin"
        if not path.exists():
            model = self.fasttext.train_supervised(
                str(self.folder / "train.txt"),
                dim=setting.dim,
                wordNgrams=setting.ngrams,
                epoch=setting.epochs,
                lr=setting.rate,
                bucket=BUCKET,
                label=PREFIX,
                seed=seed,
                thread=12,  # its default; with fewer than 11, 0.9.3 leaves vectors as memory was
                verbose=0,
            )
            model.save_model(str(path))
        return path

    def quantized(self, setting: Setting, seed: int) -> Path:
        """The `.ftz` file of a setting."""
        model = self._load(self.trained(setting, seed))
        model.quantize(
            str(self.folder / "train.txt"),
            cutoff=setting.cutoff,
            retrain=True,
            qnorm=True,
            thread=1,
            verbose=0,
        )
        path = self.folder / f"{'_'.join(map(str, setting))}_{seed}.ftz"
        model.save_model(str(path))
        return path

    def on_dev(self, setting: Setting) -> list[dict[str, Any]]:
        """Bytes and dev accuracy of a setting's file; none, if its rate was too high."""
        try:
            return [{"label": setting.label, **self._sized(setting, 0)[1]}]
        except RuntimeError as error:
            if "NaN" not in str(error):
                raise
            return []

    def on_test(self, setting: Setting, seed: int) -> dict[str, Any]:
        """The same with another seed, and the test accuracy."""
        path, found = self._sized(setting, seed)
        return found | {"file_accuracy": self.accuracy(path, "test")}

    def _sized(self, setting: Setting, seed: int) -> tuple[Path, dict[str, Any]]:
        path = self.quantized(setting, seed)
        found = {"bytes": path.stat().st_size, "dev_accuracy": self.accuracy(path, "dev")}
        return path, found

    def accuracy(self, path: Path, split: str) -> float:
        """Share of a split's texts whose first label is right; a text of no token is wrong."""
        seen, precision, _ = self._load(path).test(str(self.folder / f"{split}.txt"))
        return float(precision * seen / self.rows[split])

    def _load(self, path: Path) -> Any:
        with contextlib.redirect_stderr(None):  # a warning of its own API
            return self.fasttext.load_model(str(path))


def _lines(split: Split, names: Sequence[str]) -> Iterator[str]:
    for text, label in zip(split.texts, split.labels, strict=True):
        words = " ".join(tokenize(text, RULES))
        yield f"{PREFIX}{names[int(label)].replace(' ', '_')} {words}\n"
