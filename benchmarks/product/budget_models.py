"""Our models that take text, of a few KiB each: an arm of `budgets`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact import export
from kerascompact.datasets.base import Dataset
from kerascompact.tasks.classification import (
    MODELS,
    TextData,
    encode,
    encode_by,
    train,
)
from kerascompact.tasks.measure import accuracy
from kerascompact.tasks.methods import build_embedding, logit_scale
from kerascompact.text.rules import named
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.training import choose_words

RECIPES, TUNED = ("int8", "int4"), "int4, fine-tuned"
ALL_WORDS = 40_000  # at most, that words are chosen from
CHOSEN = {"": "", "norm": " by norm", "count": " by norm and count"}


class Config(NamedTuple):
    """Everything that decides a model, but for its seed.

    `filters`: sizes of a CNN's filters, and their number; none: the mean of the words' vectors.
    A mean with `skip` leaves unknown words out. `chosen`: by which score of
    `training.choose_words`; "": the most frequent words.
    """

    size: int
    width: int
    filters: tuple[int, ...] = ()
    chosen: str = ""
    skip: bool = False
    method: str = "standard"
    options: tuple[tuple[str, Any], ...] = ()
    epochs: int = 15
    batch_size: int = 128
    rate: float = 1e-2
    dropout: float = 0.4
    tuning_rate: float = 2e-3
    tuning_epochs: int = 4
    rules: str = "wordpunct"
    fingerprint_bits: int = 32

    @property
    def label(self) -> str:
        """The setting in a few words."""
        *sizes, count = self.filters or (0,)
        mean = "mean of known words" if self.skip else "mean"
        model = f"CNN {count} x {', '.join(map(str, sizes))}" if sizes else mean
        known = dict(self.options)
        method = f"ME k={known['clusters']} u={known['unique']}" if known else "table"
        pairs = " and pairs" if named(self.rules).pairs else ""
        return f"{model}; {method}, d={self.width}, {self.size:,} words{pairs}{CHOSEN[self.chosen]}"


def mixture(size: int, width: int, clusters: int, unique: int, **rest: Any) -> Config:
    """Clusters for the rare words, vectors for the `unique` frequent ones.

    >>> mixture(3000, 16, 50, 500).label
    'mean; ME k=50 u=500, d=16, 3,000 words'
    """
    options = (("clusters", clusters), ("unique", unique), ("logit_scale", logit_scale(1e-2)))
    return Config(size, width, method="mixture", options=options, **rest)


Made = dict[str, tuple[keras.Model, bytes]]  # by recipe


class Models:
    """Trains on a data set; each setting and seed once in a process.

    Args:
        dataset: The texts.
        settings: To choose from.
        length: Words of a text.
        max_bytes: Of a text; the file is as large for any.
    """

    arm = "kerascompact"

    def __init__(
        self, dataset: Dataset, settings: Sequence[Config], length: int, max_bytes: int
    ) -> None:
        self.dataset, self.settings = dataset, settings
        self.length, self.max_bytes = length, max_bytes
        self.data: dict[tuple[int, str, str], TextData] = {}
        self.teachers: dict[str, tuple[TextData, np.ndarray]] = {}
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
        data, texts = self.data_of(setting), list(self.dataset.test.texts)
        report = export.verify(model, file, texts, data.test.labels, vocabulary=data.vocabulary)
        return found | {"file_accuracy": report.file_accuracy, "agreement": report.agreement}

    def _sized(self, setting: Config, recipe: str, seed: int = 0) -> dict[str, Any]:
        model, file = self.files(setting, seed)[recipe]
        frozen = export.freeze(model, RECIPES[-1] if recipe == TUNED else recipe).model
        dev = accuracy(frozen, self.data_of(setting).dev)
        return {"bytes": len(file), "dev_accuracy": dev}

    def files(self, setting: Config, seed: int = 0) -> Made:
        """A model and its file by recipe, the last fine-tuned for four bits."""
        if (setting, seed) not in self.made:
            self.made[setting, seed] = trained(setting, self.data_of(setting), seed, self.max_bytes)
        return self.made[setting, seed]

    def data_of(self, setting: Config) -> TextData:
        """The texts as ids of the setting's words, which no seed changes."""
        key = setting.size, setting.chosen, setting.rules
        if key not in self.data:
            if setting.chosen:
                vocabulary = self.choose(setting)
                self.data[key] = encode_by(vocabulary, self.dataset, self.ids(setting))
            else:
                self.data[key] = self.encoded(setting, setting.size)
        return self.data[key]

    def ids(self, setting: Config) -> int:
        """Ids of a text: of its words, and of the pairs between them."""
        return 2 * self.length - 1 if named(setting.rules).pairs else self.length

    def encoded(self, setting: Config, size: int) -> TextData:
        """The texts as ids of the most frequent words."""
        return encode(self.dataset, size, self.ids(setting), setting.rules)

    def choose(self, setting: Config) -> Vocabulary:
        """The words that matter most to a mean of vectors of all words."""
        if setting.rules not in self.teachers:
            data = self.encoded(setting, ALL_WORDS)
            guide = Config(len(data.vocabulary), 16)
            model = built(guide, data, 0, start=0.01)
            table = model.get_layer("embedding").embeddings.numpy()
            self.teachers[setting.rules] = data, table
        data, table = self.teachers[setting.rules]
        counts = np.bincount(data.train.ids.ravel(), minlength=len(table))
        return choose_words(
            data.vocabulary,
            table,
            setting.size,
            counts=counts if setting.chosen == "count" else None,
            file_order=setting.method == "standard",
        )


def built(setting: Config, data: TextData, seed: int, **options: Any) -> keras.Model:
    """The trained model of a setting; `options` of its embedding."""
    keras.utils.set_random_seed(seed)
    options = {**dict(setting.options), **options}
    embedding = build_embedding(setting.method, len(data.vocabulary), setting.width, **options)
    shape: dict[str, Any] = {}
    if setting.filters:
        shape = {"filter_sizes": setting.filters[:-1], "num_filters": setting.filters[-1]}
    elif setting.skip:
        shape = {"skip_unknown": True}
    build = MODELS["cnn" if setting.filters else "mean"]
    model = build(embedding, len(data.label_names), dropout=setting.dropout, **shape)
    batches = {"batch_size": setting.batch_size, "seed": seed}
    train(model, data, epochs=setting.epochs, learning_rate=setting.rate, **batches)
    return model


def trained(setting: Config, data: TextData, seed: int, max_bytes: int) -> Made:
    """One training, its files by recipe, and that of the same model fine-tuned for four bits."""
    model = built(setting, data, seed)
    made = {recipe: (model, _file(model, recipe, data, setting, max_bytes)) for recipe in RECIPES}
    aware = export.quantization_aware(model, "int4_tables")
    batches = {"batch_size": setting.batch_size, "seed": seed}
    train(aware, data, epochs=setting.tuning_epochs, learning_rate=setting.tuning_rate, **batches)
    return made | {TUNED: (aware, _file(aware, RECIPES[-1], data, setting, max_bytes))}


def _file(
    model: keras.Model, recipe: str, data: TextData, setting: Config, max_bytes: int
) -> bytes:
    return export.convert(
        model,
        recipe,
        labels=data.label_names,
        text=data.vocabulary,
        max_bytes=max_bytes,
        names=False,  # no byte of the budget for tools
        fingerprint_bits=setting.fingerprint_bits,
        sequence_length=data.train.ids.shape[1],
    )
