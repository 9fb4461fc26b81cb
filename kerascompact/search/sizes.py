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
from kerascompact.search.word_sizes import (
    order_bits,
    sample_words,
    some_words,
    steps_of,
    usual_steps,
    word_bytes,
)
from kerascompact.text.vocabulary import NUM_RESERVED
from kerascompact.text.word_hashes import VERSION
from kerascompact.tflite.packed_json import packed
from kerascompact.tflite.passes.kernels import axis_of_scales

# Bytes of a budget that are kept: buffers begin at multiples of 4, and numbers in the metadata
# have digits; operators of methods other than a plain table have shapes, too.
MARGIN, MARGIN_OF_SLOTS, MARGIN_OF_METHODS = 192, 64, 352
SAMPLES = (20, 1500)  # words of the files that are measured: their searches take 3 and 6 steps
IN_SLOTS = (120, 1500)  # words of the same where no word is searched
KEPT = f"sizes_{VERSION}.json"  # files of another hash have other operators


class Graph(NamedTuple):
    """What a file has beside its arrays: `fixed + step * (steps of its search)` bytes."""

    fixed: float
    step: float


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
        graph = self._graph(setting)
        steps = 0
        if setting.stored == "fingerprints":
            few = setting.words - NUM_RESERVED
            steps = usual_steps(few) if words is None else steps_of(words)
        return round(graph.fixed + graph.step * steps) + self.arrays(setting)

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
        key = kind(setting, len(self.label_names), self._arrays_of_table(setting)[1])
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
        return {key: Graph(*values) for key, values in json.loads(self.path.read_bytes()).items()}

    def _measured(self, setting: Setting) -> Graph:
        """Converts two small models of a kind, or one whose order of words takes as many bits."""
        if bits := order_bits(setting):
            step = self._graph(setting._replace(method="standard", options=())).step
            try:
                return self._of_one(scaled(setting, 3 * 2**bits // 4 + NUM_RESERVED), step)
            except ValueError:  # so few words are too few for the method's sizes
                return self._of_one(setting, step)
        found = []
        for size in SAMPLES if setting.stored == "fingerprints" else IN_SLOTS:
            small = self._alike(setting, size)
            words = sample_words(small.words - NUM_RESERVED)
            rest = len(self.convert(small, words)) - self.arrays(small)
            found.append((rest, steps_of(words)))
        if setting.stored != "fingerprints":
            return Graph(max(rest for rest, _ in found), 0.0)
        (few, few_steps), (many, many_steps) = found
        step = (many - few) / (many_steps - few_steps)
        return Graph(few - step * few_steps, step)

    def _alike(self, setting: Setting, size: int) -> Setting:
        """The setting with about so many words, whose int4 arrays need the same operators."""
        first = scaled(setting, size + NUM_RESERVED)
        wanted = self._arrays_of_table(setting)[1]
        for tenths in range(10, 40):  # the rank of a factorization grows with the words
            small = scaled(setting, size * tenths // 10 + NUM_RESERVED)
            if self._arrays_of_table(small)[1] == wanted:
                return small
        return first

    def _of_one(self, setting: Setting, step: float) -> Graph:
        words = sample_words(setting.words - NUM_RESERVED)
        rest = len(self.convert(setting, words)) - self.arrays(setting)
        return Graph(rest - step * steps_of(words), step)

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


def kind(setting: Setting, classes: int, odd: Sequence[int] = ()) -> str:
    """Everything in a setting that the operators of its file depend on, as text.

    `odd`: see `odd_columns`.

    >>> kind(Setting(100, 32), 9) == kind(Setting(9000, 64, dropout=0.1), 9)
    True
    """
    free = ("unique", "buckets", "ratio")  # which change no operator
    options = [name if name in free else (name, v) for name, v in setting.options]
    width = 0 if setting.method == "standard" else setting.width
    facts = (*setting.filter_sizes, setting.model, setting.rules, setting.skip_unknown)
    head = (bool(setting.head_rank), setting.head)
    bits = setting.tag_bits if setting.stored == "slots" else setting.fingerprint_bits
    storage = (setting.recipe, setting.stored, bits, order_bits(setting))
    rounded = [
        axis_of_scales(kernel.shape, -1, kernel.last) for kernel in kernels_of(setting, classes)
    ]
    return json.dumps([setting.method, width, options, facts, head, storage, rounded, list(odd)])


def margin(setting: Setting) -> int:
    """Bytes that a file may be larger than predicted.

    Without a search for words, whose steps depend on the words, sizes differ by digits alone.

    >>> margin(Setting(90, 8)), margin(Setting(90, 8, method="hashed"))
    (192, 352)
    >>> margin(Setting(90, 8, stored="slots"))
    64
    """
    if setting.method != "standard":
        return MARGIN_OF_METHODS
    return MARGIN if setting.stored == "fingerprints" else MARGIN_OF_SLOTS


def scaled(setting: Setting, words: int) -> Setting:
    """The setting with so many words, and its counts of words in proportion."""
    share = min(1.0, words / max(setting.words, 1))
    most = max(2, words - NUM_RESERVED - dict(setting.options).get("clusters", 0))
    options = tuple(
        (name, min(max(2, round(value * share)), most) if name in ("unique", "buckets") else value)
        for name, value in setting.options
    )
    return setting._replace(words=words, options=options)
