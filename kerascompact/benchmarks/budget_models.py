"""Our models that take text, of a few KiB each: an arm of `budgets`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras

from kerascompact import export
from kerascompact.benchmarks.measure import accuracy
from kerascompact.benchmarks.text_task import (
    MODELS,
    TextData,
    build_embedding,
    encode,
    logit_scale,
    train,
)
from kerascompact.datasets.base import Dataset

RECIPES, TUNED = ("small", "smallest"), "smallest, fine-tuned"
MAX_BYTES = 256  # of a text; the file is as large for any


class Config(NamedTuple):
    """Everything that decides a model, but for its seed.

    `filters`: sizes of a CNN's filters, and their number; none: the mean of the words' vectors.
    """

    size: int
    width: int
    filters: tuple[int, ...] = ()
    method: str = "standard"
    options: tuple[tuple[str, Any], ...] = ()
    epochs: int = 15
    batch_size: int = 128
    rate: float = 1e-2
    dropout: float = 0.4
    tuning_rate: float = 2e-3
    tuning_epochs: int = 4

    @property
    def label(self) -> str:
        """The setting in a few words."""
        *sizes, count = self.filters or (0,)
        model = f"CNN {count} x {', '.join(map(str, sizes))}" if sizes else "mean"
        known = dict(self.options)
        method = f"ME k={known['clusters']} u={known['unique']}" if known else "table"
        return f"{model}; {method}, d={self.width}, {self.size:,} words"


def mixture(size: int, width: int, clusters: int, unique: int, **rest: Any) -> Config:
    """Clusters for the rare words, vectors for the `unique` frequent ones.

    >>> mixture(3000, 16, 50, 500).label
    'mean; ME k=50 u=500, d=16, 3,000 words'
    """
    options = (("clusters", clusters), ("unique", unique), ("scale", logit_scale(1e-2)))
    return Config(size, width, method="mixture", options=options, **rest)


Made = dict[str, tuple[keras.Model, bytes]]  # by recipe


class Models:
    """Trains on a data set; each setting and seed once in a process.

    Args:
        dataset: The texts.
        settings: To choose from.
        length: Words of a text.
    """

    arm = "kerascompact"

    def __init__(self, dataset: Dataset, settings: Sequence[Config], length: int) -> None:
        self.dataset, self.settings, self.length = dataset, settings, length
        self.data: dict[int, TextData] = {}
        self.made: dict[tuple[Config, int], Made] = {}

    def on_dev(self, setting: Config) -> list[dict[str, Any]]:
        """Bytes and dev accuracy of a setting's files."""
        return [
            {
                "label": f"{setting.label}, {recipe}",
                "recipe": recipe,
                **self._sized(setting, recipe),
            }
            for recipe in self.files(setting)
        ]

    def on_test(self, setting: Config, recipe: str, seed: int) -> dict[str, Any]:
        """The same of one file with another seed, and its test accuracy.

        Raises: ValueError, if file and Keras disagree on a text that is no tie.
        """
        found = self._sized(setting, recipe, seed)
        model, file = self.files(setting, seed)[recipe]
        data, texts = self.data[setting.size], list(self.dataset.test.texts)
        report = export.verify(model, file, texts, data.test.labels, vocabulary=data.vocabulary)
        return found | {"file_accuracy": report.file_accuracy, "agreement": report.agreement}

    def _sized(self, setting: Config, recipe: str, seed: int = 0) -> dict[str, Any]:
        model, file = self.files(setting, seed)[recipe]
        frozen = export.freeze(model, RECIPES[-1] if recipe == TUNED else recipe)
        dev = accuracy(frozen, self.data[setting.size].dev)
        return {"bytes": len(file), "dev_accuracy": dev}

    def files(self, setting: Config, seed: int = 0) -> Made:
        """A model and its file by recipe, the last fine-tuned for four bits."""
        if setting.size not in self.data:
            self.data[setting.size] = encode(self.dataset, setting.size, self.length)
        if (setting, seed) not in self.made:
            self.made[setting, seed] = trained(setting, self.data[setting.size], seed)
        return self.made[setting, seed]


def trained(setting: Config, data: TextData, seed: int) -> Made:
    """One training, its files by recipe, and that of the same model fine-tuned for four bits."""
    keras.utils.set_random_seed(seed)
    options = dict(setting.options)
    embedding = build_embedding(setting.method, len(data.vocabulary), setting.width, **options)
    shape: dict[str, Any] = {}
    if setting.filters:
        shape = {"filter_sizes": setting.filters[:-1], "num_filters": setting.filters[-1]}
    build = MODELS["cnn" if setting.filters else "mean"]
    model = build(embedding, len(data.label_names), dropout=setting.dropout, **shape)
    batches = {"batch_size": setting.batch_size, "seed": seed}
    train(model, data, epochs=setting.epochs, learning_rate=setting.rate, **batches)
    made = {recipe: (model, _file(model, recipe, data)) for recipe in RECIPES}
    aware = export.quantization_aware(model, "int4")
    train(aware, data, epochs=setting.tuning_epochs, learning_rate=setting.tuning_rate, **batches)
    return made | {TUNED: (aware, _file(aware, RECIPES[-1], data))}


def _file(model: keras.Model, recipe: str, data: TextData) -> bytes:
    return export.convert(
        model,
        recipe,
        labels=data.label_names,
        text=data.vocabulary,
        max_bytes=MAX_BYTES,
        sequence_length=data.train.ids.shape[1],
    )
