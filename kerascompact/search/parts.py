"""Parts of a trained model that can be stored smaller: its tables and large kernels."""

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact.compress import (
    KSVD,
    KDCodes,
    KMeansClusters,
    ProductCodes,
    ProductQuantization,
    Pruning,
    ScalarQuantization,
    SparseCode,
    TruncatedSVD,
)
from kerascompact.compress.tables import values_of
from kerascompact.core.keras_graph import is_stock_embedding, own_variables, reached_layers
from kerascompact.core.storage import total_bits
from kerascompact.export.code_tables import in_codes
from kerascompact.export.embedding_forms import is_embedding
from kerascompact.forms import Form, LogitsForm
from kerascompact.forms.reversible import ReversibleForm

FEW = 8192  # rows that a search for codes or anchors learns from
SMALLEST_KERNEL = 4096  # numbers; below, a form's operators cost more than it saves
SMALLEST_TABLE = 256  # the same of a table, which is looked up in either case
KEPT = "float32"
WEIGHTED = ("SVD", "PQ", "KD")


class Candidate(NamedTuple):
    """A way to store a part: its name, its form (`None`: as trained), bytes, and loss alone."""

    name: str
    form: Form | None
    bytes: int
    loss: float


class Part(NamedTuple):
    """A layer whose table, or whose kernel with a row for each output, can become a form."""

    layer: Any

    @property
    def variable(self) -> keras.Variable:
        if not is_table(self.layer):
            return self.layer.kernel
        # under LoRA, `layer.embeddings` is no variable, but the sum with its factors
        return next(one for one in own_variables(self.layer) if one.name == "embeddings")

    @property
    def table(self) -> np.ndarray:
        if is_table(self.layer):
            return values_of(self.layer)
        kernel = keras.ops.convert_to_numpy(self.variable).astype(np.float32)
        return np.ascontiguousarray(kernel.T)

    def assign(self, rows: np.ndarray) -> None:
        """Gives the layer other rows; those of a table have what its LoRA adds."""
        if is_table(self.layer) and self.layer.lora_enabled:
            added = self.layer.lora_embeddings_b
            added.assign(np.zeros(added.shape))
        self.variable.assign(rows if is_table(self.layer) else rows.T)

    def replaced(self, form: Form) -> Form:
        """The layer that stands in the model for this one, over a form of `table`."""
        layer = self.layer
        if is_table(layer):
            cap = getattr(layer, "logit_soft_cap", None)
            return form if cap is None else ReversibleForm.over(form, soft_cap=cap, **self.config)
        bias = keras.ops.convert_to_numpy(layer.bias) if layer.use_bias else None
        return LogitsForm.over(
            form, bias, layer.activation, name=layer.name, dtype=layer.dtype_policy
        )

    @property
    def config(self) -> dict[str, Any]:
        if not is_table(self.layer):
            return {}
        layer = self.layer
        return dict(name=layer.name, mask_zero=layer.mask_zero, dtype=layer.dtype_policy)


def is_table(layer: Any) -> bool:
    """Whether a layer is a Keras embedding of one table."""
    return is_stock_embedding(layer) and not has_head(layer)


def has_head(layer: Any) -> bool:
    """Whether a Keras embedding scores words with a second table, so that it is no part."""
    return is_stock_embedding(layer) and not getattr(layer, "tie_weights", True)


def parts_of(model: keras.Model) -> list[Part]:
    """Embeddings and large dense kernels, each once; tables of a few numbers stay as they are.

    Dense layers of one name, as two sub-models may have, are none: a recipe goes by names.

    >>> ids = keras.Input((4,), dtype="int32")
    >>> model = keras.Model(ids, keras.layers.Embedding(90, 20, name="words")(ids))
    >>> [part.layer.name for part in parts_of(model)]
    ['words']
    """
    layers = {id(layer): layer for layer in reached_layers(model)}.values()
    names = Counter(layer.name for layer in layers if not is_embedding(layer))
    return [Part(one) for one in layers if _is_part(one) and names[one.name] < 2]


def _is_part(layer: Any) -> bool:
    if is_table(layer):
        return int(np.prod(layer.embeddings.shape)) >= SMALLEST_TABLE
    plain = type(layer) is keras.layers.Dense and not layer.quantization_mode
    return plain and not layer.lora_enabled and int(np.prod(layer.kernel.shape)) >= SMALLEST_KERNEL


def counts_of(model: keras.Model, part: Part, x: Any) -> np.ndarray | None:
    """How often the first call of a table looks up each row, plus 1; `None`, if not known.

    >>> ids = keras.Input((2,), dtype="int32")
    >>> model = keras.Model(ids, keras.layers.Embedding(4, 2)(ids))
    >>> counts_of(model, Part(model.layers[1]), np.array([[1, 1], [1, 3]])).tolist()
    [1.0, 4.0, 1.0, 2.0]
    """
    if not is_table(part.layer):
        return None
    try:
        ids = keras.Model(model.inputs, part.layer.input).predict(x, verbose=0)
    except (AttributeError, ValueError):  # not called in the graph itself
        return None
    rows = len(part.table)
    found = np.bincount(np.asarray(ids, np.int64).ravel() % rows, minlength=rows)
    return found + 1.0


def settings_of(part: Part, seed: int, counts: np.ndarray | None) -> dict[str, Callable[[], Form]]:
    """Every setting of every compressor for a part, by its name; some may not fit its sizes.

    Args:
        part: The part.
        seed: Seed of k-means.
        counts: Weights of the rows for low rank and codes, which are then made with and without.
    """
    table = part.table
    made: dict[str, Callable[[], Form]] = {}
    for name, make in _settings(table.shape, seed):
        made[name] = functools.partial(make, table, None, part.config)
        if counts is not None and name.startswith(WEIGHTED):
            made[f"{name}, by frequency"] = functools.partial(make, table, counts, part.config)
    return made


def _settings(shape: tuple[int, ...], seed: int) -> Iterator[tuple[str, Callable[..., Form]]]:
    rows, columns = shape
    num_anchors = min(256, max(2, rows // 4))
    for bits in (8, 6, 5, 4, 3, 2, 1):
        scale = "column" if bits == 8 else "row"
        yield f"{bits} bits", _fit(ScalarQuantization(bits, scale))
    yield "4 bits, columns", _fit(ScalarQuantization(4))
    for bits in (4, 3, 2):
        yield f"{bits} bits in codes", _fit(ProductCodes(bits, seed=seed, max_points=FEW))
    smaller = min(shape)
    for rank in sorted({smaller * share // 16 for share in (1, 2, 4, 6, 8)} - {0}):
        for precision in ("int8", "int4"):
            yield f"SVD {rank}, {precision}", _fit(TruncatedSVD(rank), precision)
        yield f"SVD {rank}, 4 bits in codes", _fit(TruncatedSVD(rank), codes=4)
    for width in (2, 4, 8, 16):
        if columns % width == 0:
            cardinality = min(256, max(2, rows // 4))
            made = ProductQuantization(
                columns // width, cardinality, seed=seed, max_points=FEW, iterations=8
            )
            yield f"PQ {columns // width} x {cardinality}", _fit(made, "int8")
    for clusters in (64, 256):
        yield f"{clusters} clusters", _fit(KMeansClusters(clusters, seed), "int8")
    for length in (4, 16):
        codes = KDCodes(32, length, start="residual", iterations=5, seed=seed, max_points=FEW)
        yield f"KD 32 x {length}", _fit(codes, "int8")
    for entries in (4, 8):
        most = min(4 * entries, num_anchors)  # words share them by what they gain
        anchors = KSVD(
            num_anchors, entries, iterations=3, seed=seed, max_points=FEW, max_neighbors=most
        )
        yield f"k-SVD of {entries}", _fit(anchors, "int8")
    yield "sparse code", _fit(SparseCode(num_anchors, iterations=50), "int8")
    for zeros in (0.8, 0.9):
        yield f"{zeros:.0%} zeros", _fit(Pruning(zeros), "int8")


def _fit(
    compressor: Any, precision: str | None = None, codes: int | None = None
) -> Callable[..., Form]:
    def make(table: np.ndarray, counts: np.ndarray | None, config: dict[str, Any]) -> Form:
        form = compressor.fit(table, counts, **config)
        if codes is not None:
            return in_codes(form, codes)
        return form if precision is None else form.stored_as(precision)

    return make


def stored_bytes(form: Form) -> int:
    """Bytes of a form's arrays.

    >>> stored_bytes(ScalarQuantization().fit(np.eye(2)))  # four integers and two scales
    12
    """
    return -(-total_bits(form.storage()) // 8)
