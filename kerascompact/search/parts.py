"""Parts of a trained model that can be stored smaller: its tables and large kernels."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact.compress import ProductQuantization, ScalarQuantization, TruncatedSVD
from kerascompact.core.keras_graph import is_stock_embedding, reached_layers
from kerascompact.core.storage import total_bits
from kerascompact.forms import Form, LogitsForm

SMALLEST_KERNEL = 4096  # numbers; below, a form's operators cost more than it saves
KEPT = "float32"


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
        return self.layer.embeddings if is_stock_embedding(self.layer) else self.layer.kernel

    @property
    def table(self) -> np.ndarray:
        values = keras.ops.convert_to_numpy(self.variable).astype(np.float32)
        return values if is_stock_embedding(self.layer) else np.ascontiguousarray(values.T)

    def assign(self, rows: np.ndarray) -> None:
        self.variable.assign(rows if is_stock_embedding(self.layer) else rows.T)

    def replaced(self, form: Form) -> Form:
        """The layer that stands in the model for this one, over a form of `table`."""
        layer = self.layer
        if is_stock_embedding(layer):
            return form
        bias = keras.ops.convert_to_numpy(layer.bias) if layer.use_bias else None
        return LogitsForm.over(
            form, bias, layer.activation, name=layer.name, dtype=layer.dtype_policy
        )

    @property
    def config(self) -> dict[str, Any]:
        if not is_stock_embedding(self.layer):
            return {}
        layer = self.layer
        return dict(name=layer.name, mask_zero=layer.mask_zero, dtype=layer.dtype_policy)


def parts_of(model: keras.Model) -> list[Part]:
    """Embeddings and large dense kernels, each once.

    >>> ids = keras.Input((4,), dtype="int32")
    >>> model = keras.Model(ids, keras.layers.Embedding(9, 2, name="words")(ids))
    >>> [part.layer.name for part in parts_of(model)]
    ['words']
    """
    found = {id(layer): Part(layer) for layer in reached_layers(model) if _is_part(layer)}
    return list(found.values())


def _is_part(layer: Any) -> bool:
    if is_stock_embedding(layer):
        return True
    plain = type(layer) is keras.layers.Dense and not layer.quantization_mode
    return plain and not layer.lora_enabled and int(np.prod(layer.kernel.shape)) >= SMALLEST_KERNEL


def forms_of(part: Part, seed: int) -> Iterator[tuple[str, Form]]:
    """Every setting of every compressor that fits a part, with its name."""
    table = part.table
    for name, make in _settings(table.shape, seed):
        try:
            yield name, make(table, part.config)
        except ValueError:  # too small for the method's sizes
            continue


def _settings(shape: tuple[int, ...], seed: int) -> Iterator[tuple[str, Callable[..., Form]]]:
    for bits in (8, 6, 5, 4, 3, 2, 1):
        scale = "column" if bits == 8 else "row"
        yield f"{bits} bits", _fit(ScalarQuantization(bits, scale))
    yield "4 bits, columns", _fit(ScalarQuantization(4))
    smaller = min(shape)
    for rank in sorted({smaller * share // 16 for share in (1, 2, 4, 6, 8)} - {0}):
        for precision in ("int8", "int4"):
            yield f"SVD {rank}, {precision}", _fit(TruncatedSVD(rank), precision)
    for width in (2, 4, 8, 16):
        if shape[1] % width == 0:
            cardinality = min(256, max(2, shape[0] // 4))
            made = ProductQuantization(
                shape[1] // width, cardinality, seed=seed, max_points=8192, iterations=8
            )
            yield f"PQ {shape[1] // width} x {cardinality}", _fit(made, "int8")


def _fit(compressor: Any, precision: str | None = None) -> Callable[..., Form]:
    def make(table: np.ndarray, config: dict[str, Any]) -> Form:
        form = compressor.fit(table, **config)
        return form if precision is None else form.stored_as(precision)

    return make


def stored_bytes(form: Form) -> int:
    """Bytes of a form's arrays.

    >>> stored_bytes(ScalarQuantization().fit(np.eye(2)))  # four integers and two scales
    12
    """
    return -(-total_bits(form.storage()) // 8)
