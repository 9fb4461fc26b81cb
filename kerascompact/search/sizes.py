"""Bytes of a setting's file, before anything is trained."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kerascompact import export
from kerascompact.core import files
from kerascompact.export.recipe import RECIPES
from kerascompact.search.building import build, with_form_head
from kerascompact.search.corpus import ids_of_a_text
from kerascompact.search.kernels import kernels_of
from kerascompact.search.setting import Setting
from kerascompact.search.table_sizes import (
    bytes_of,
    odd_columns,
    padded,
    plain_bytes,
    stored_arrays,
)
from kerascompact.search.word_search import Search, others_of, search_of, usual_search
from kerascompact.search.word_sizes import order_bits, sample_words, some_words, word_bytes
from kerascompact.text.vocabulary import NUM_RESERVED
from kerascompact.text.word_hashes import VERSION
from kerascompact.tflite.packed_json import packed
from kerascompact.tflite.passes.kernels import axis_of_scales

MARGIN = 64  # bytes of a budget that are kept: numbers in the metadata have digits
SAMPLE = 1000  # words of the file that is measured
IN_SLOTS = (120, 1500)  # words of the same where no word is searched
KEPT = f"graphs_{VERSION}.json"  # files of another hash have other operators


class Graph(NamedTuple):
    """What a file has beside its arrays: `fixed` bytes and the search for words.

    `numbers`: integers that other operators read, and a search need not bring.
    """

    fixed: int
    numbers: tuple[int, ...] = ()


class Sizes:
    """Predicts the bytes of files of one data set.

    `bytes = graph + sum(arrays)`. The arrays follow from the setting. The graph, with the labels
    and the metadata, is measured once for each kind of setting, on two small untrained models.

    Args:
        label_names: Names of the classes, which the file has.
        sequence_length: Words of a text.
        folder: Where measured graphs are kept for other processes; `None`: nowhere.
        multi_label: Whether a text may have several classes or none.

    Example:
    >>> sizes = Sizes(("no", "yes"), 16)
    >>> sizes.predict(Setting(1000, 8)) - sizes.predict(Setting(500, 8)) > 500 * (8 + 4)
    True
    """

    def __init__(
        self,
        label_names: Sequence[str],
        sequence_length: int,
        folder: Path | None = None,
        multi_label: bool = False,
    ) -> None:
        self.label_names, self.sequence_length = tuple(label_names), sequence_length
        self.multi_label = multi_label
        self.path = None if folder is None else folder / KEPT
        self.graphs: dict[str, Graph] = {}
        self._tables: dict[Setting, tuple[int, tuple[int, ...]]] = {}

    def predict(self, setting: Setting, words: Sequence[str] | None = None) -> int:
        """Bytes of the file of a setting.

        Args:
            setting: The setting, its options as counts.
            words: Its words, if they are known: their search takes one step more or less than
                that of most other words, 200 bytes.
        """
        graph, search = self._graph(setting), Search(0, ())
        if setting.stored == "fingerprints":
            few = setting.words - NUM_RESERVED
            search = usual_search(few) if words is None else search_of(words)
        return graph.fixed + search.bytes_beside(graph.numbers) + self.arrays(setting)

    def parts(self, setting: Setting) -> dict[str, int]:
        """What the file of a setting consists of, in bytes."""
        labels = len(packed({"labels": self.label_names}, deflate=True)) - len(packed({}))
        table, kernels_ = self._table(setting), self._kernels(setting)
        words = self.arrays(setting) - table - kernels_
        rest = self.predict(setting) - labels - self.arrays(setting)
        return {
            "operators and metadata": rest,
            "labels": labels,
            "kernels": kernels_,
            "words": words,
            "vectors": table,
        }

    def arrays(self, setting: Setting) -> int:
        """Bytes of a file's arrays, each up to the next multiple of 4."""
        rest = self._table(setting) + self._kernels(setting)
        return sum(map(padded, word_bytes(setting))) + rest

    def _kernels(self, setting: Setting) -> int:
        """Bytes of all kernels and biases behind the embedding."""
        rounds = RECIPES[setting.recipe].kernels != "float32"
        total, counts = 0, set()
        *inner, head = kernels_of(setting, len(self.label_names))
        for kernel in inner if setting.head == "int4" else (*inner, head):
            shape = kernel.shape
            axis = axis_of_scales(shape, -1, kernel.last) if rounds else None
            total += padded(math.prod(shape) * (4 if axis is None else 1))
            total += padded(4 * shape[-1]) if kernel.bias else 0
            if axis is not None:
                total += 4 * shape[axis]  # scales
                counts.add(shape[axis])
        if setting.head == "int4":  # a form: a row for each class
            width, classes = head.shape
            total += padded(classes * math.ceil(width / 2)) + padded(4 * width)
            total += padded(4 * classes)
        return total + 8 * sum(counts)  # zero points, which kernels share

    def _table(self, setting: Setting) -> int:
        """Bytes of the embedding's arrays."""
        return self._arrays_of_table(setting)[0]

    def _arrays_of_table(self, setting: Setting) -> tuple[int, tuple[int, ...]]:
        """Bytes of the embedding's arrays, and see `odd_columns`."""
        key = setting._replace(rules="", chosen="", start="", epochs=0, batch_size=0, dropout=0.0)
        if key not in self._tables:
            if setting.method == "standard":
                self._tables[key] = plain_bytes(setting), ()
            else:
                stored = stored_arrays(setting)
                self._tables[key] = bytes_of(stored), odd_columns(stored)
        return self._tables[key]

    def _graph(self, setting: Setting) -> Graph:
        length = ids_of_a_text(self.sequence_length, setting.rules)
        key = kind(setting, len(self.label_names), length, self._arrays_of_table(setting)[1])
        if key not in self.graphs:
            self.graphs |= self._kept()
        if key not in self.graphs:
            self.graphs[key] = self._measured(setting)
            if self.path is not None:
                text = json.dumps(self._kept() | self.graphs)
                files.write_bytes(self.path, text.encode())
        return self.graphs[key]

    def _kept(self) -> dict[str, Graph]:
        if self.path is None or not self.path.exists():
            return {}
        kept = json.loads(self.path.read_bytes()).items()
        return {key: Graph(fixed, tuple(numbers)) for key, (fixed, numbers) in kept}

    def _measured(self, setting: Setting) -> Graph:
        """Converts a small model of a kind, or one whose order of words takes as many bits."""
        if setting.stored != "fingerprints":
            return max(self._of_one(self._alike(setting, size)) for size in IN_SLOTS)
        bits = order_bits(setting)
        size = 3 * 2**bits // 4 if bits else SAMPLE
        try:
            return self._of_one(self._alike(setting, size))
        except ValueError:  # so few words are too few for the method's sizes
            return self._of_one(setting)

    def _alike(self, setting: Setting, size: int) -> Setting:
        """The setting with about so many words, whose arrays need the same operators."""
        bits, odd = order_bits(setting), self._arrays_of_table(setting)[1]
        for percent in (100, *range(95, 65, -5), *range(105, 135, 5), *range(140, 400, 10)):
            small = scaled(setting, size * percent // 100 + NUM_RESERVED)
            if order_bits(small) == bits and self._arrays_of_table(small)[1] == odd:
                return small
        return setting  # such as a factorization, whose rank grows with the words

    def _of_one(self, setting: Setting) -> Graph:
        words = sample_words(setting.words - NUM_RESERVED)
        file = self.convert(setting, words)
        rest = len(file) - self.arrays(setting)
        if setting.stored != "fingerprints":
            return Graph(rest)
        search = search_of(words)
        others = others_of(file, search)
        return Graph(rest - search.bytes_beside(others), others)

    def convert(self, setting: Setting, words: Sequence[str]) -> bytes:
        """The file of an untrained model with random weights."""
        classes = len(self.label_names)
        model = build(setting, setting.words, classes, multi_label=self.multi_label)
        if setting.head == "int4":
            model = with_form_head(model)
        random = np.random.default_rng(0)
        for weight in model.weights:  # equal constants, such as zeros, are stored once
            if str(weight.dtype).startswith("float"):
                weight.assign(np.abs(random.normal(size=weight.shape)))  # some are variances
        text = some_words(setting, words)
        return export.convert(model, setting.recipe, text=text, **self.options(setting))

    def options(self, setting: Setting) -> dict[str, Any]:
        """Arguments of `export.convert` for a file of a setting, but for the vocabulary."""
        return {
            "labels": self.label_names,
            "names": False,  # no byte of the budget for tools
            "fingerprint_bits": setting.fingerprint_bits,
            "sequence_length": ids_of_a_text(self.sequence_length, setting.rules),
        }


def kind(setting: Setting, classes: int, length: int, odd: Sequence[int] = ()) -> str:
    """Everything in a setting that the operators of its file depend on, as text.

    Args:
        setting: The setting.
        classes: Number of classes.
        length: Ids of a text.
        odd: Whether each int4 array has an odd number of columns, 1 or 0.

    >>> kind(Setting(100, 32), 9, 20) == kind(Setting(9000, 64, dropout=0.1), 9, 20)
    True
    """
    free = ("unique", "buckets", "ratio")  # which change no operator
    options = [name if name in free else (name, v) for name, v in setting.options]
    width = 0 if setting.method == "standard" else setting.width
    facts = (*setting.filter_sizes, setting.model, setting.rules, setting.skip_unknown)
    head = (bool(setting.head_rank), setting.head)
    bits = setting.tag_bits if setting.stored == "slots" else setting.fingerprint_bits
    storage = (setting.recipe, setting.stored, bits, order_bits(setting))
    kernels_ = kernels_of(setting, classes)
    rounded = [axis_of_scales(kernel.shape, -1, kernel.last) for kernel in kernels_]
    sizes = [length, setting.width, *(size for kernel in kernels_ for size in kernel.shape)]
    equal = [sizes.index(size) for size in sizes]  # equal shapes are stored once
    return json.dumps(
        [setting.method, width, options, facts, head, storage, rounded, equal, list(odd)]
    )


def scaled(setting: Setting, words: int) -> Setting:
    """The setting with so many words, and its counts of words in proportion."""
    share = min(1.0, words / max(setting.words, 1))
    most = max(2, words - NUM_RESERVED - dict(setting.options).get("clusters", 0))
    options = tuple(
        (name, min(max(2, round(value * share)), most) if name in ("unique", "buckets") else value)
        for name, value in setting.options
    )
    return setting._replace(words=words, options=options)
