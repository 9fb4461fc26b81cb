"""Freezing: turns a trained model into the model that a file stores."""

import contextlib
import functools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from kerascompact import size
from kerascompact.core import checks
from kerascompact.core.keras_graph import (
    CannotCopyError,
    compile_like,
    computing_in_float32,
    is_graph,
)
from kerascompact.export.copying import frozen_copy
from kerascompact.export.embedding_forms import as_form, outermost, unreached
from kerascompact.export.kernel_rounding import round_kernels
from kerascompact.export.lending import lent
from kerascompact.export.recipe import Recipe, resolve
from kerascompact.forms.base import Form


def freeze(model: keras.Model, recipe: str | Recipe = "int8") -> "Frozen":
    """Freezes a trained model once, to convert, verify, evaluate and summarize it.

    Args:
        model: Trained and built Keras model of any kind; it does not change.
        recipe: Name of a recipe, such as "int8", or a `Recipe`.

    Returns: A `Frozen`, which has these methods.

    Raises: ValueError, if `model` is not a Keras model or the recipe is unknown.

    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> frozen = freeze(model, "int8")
    >>> type(frozen.model.layers[0]).__name__, frozen.convert()[4:8]
    ('CodebookForm', b'TFL3')
    """
    return Frozen(model, recipe)


class Frozen:
    """Holds a trained model and its frozen copy, which has the numbers that a file stores.

    Freezing replaces every compact layer by its form: assignments are hard, tables and kernels have
    the numbers that the recipe stores, a sparse LSTM or GRU is one loop, and mixed precision
    becomes float32. Forms stay as they are; a `keras.layers.Embedding` becomes a `DenseForm` or a
    `RowScaledForm`.

    For a functional or Sequential model, the frozen copy is `model`, which can be evaluated, saved
    and loaded like any Keras model; one of a class of its own, such as keras-hub's, keeps its class
    and methods, but cannot be saved, nor can one with embeddings inside other layers. There is no
    copy of a subclassed model, or of one with an embedding inside a function that a layer holds or
    with a layer that reads another's table: `convert`, `verify` and `evaluate` then replace the
    embeddings of the trained model for as long as they run.

    It is a snapshot: freeze again after more training. `verify` refuses one that is out of date.

    Args:
        trained: Trained and built Keras model of any kind; it does not change.
        recipe: Name of a recipe, such as "int8", or a `Recipe`.

    Attributes:
        trained: The trained model.
        recipe: The `Recipe`.
        kernels: Int8 numbers of each rounded kernel, in the shape that Keras gives it; for a model
            without a copy, only inside `shipped`.
        file: The bytes that `convert` returned last; `None` before that.

    Shapes: those of the trained model.
    Raises: ValueError, if `trained` is not a Keras model or the recipe is unknown.

    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> Frozen(model, "int8_tables").verify([[1, 2, 3, 4], [8, 0, 0, 0]]).agreement
    1.0
    """

    def __init__(self, trained: keras.Model, recipe: str | Recipe = "int8"):
        if not isinstance(trained, keras.Model):
            checks.fail("model", "a keras.Model", trained)
        self.trained = trained
        self.recipe = resolve(recipe)
        self.file: bytes | None = None
        self.kernels: list[np.ndarray] = []
        self._bits: dict[int, int] = {}  # of rounded kernels
        self._model = None
        if not trained.built:
            self._no_model = "it is not built: call it on data, or train it"
        elif not is_graph(trained):
            self._no_model = "a subclassed model has no graph to copy"
        else:
            try:
                copy, rounded = frozen_copy(trained, self.recipe)
                if (name := unreached(copy)) is None:
                    self._model, self.kernels = copy, [one.codes for one in rounded]
                    self._bits = {id(one.variable): one.stored_bits for one in rounded}
                else:
                    self._no_model = f"its embedding {name!r} is inside a layer's own function"
            except (CannotCopyError, NotImplementedError, TypeError) as error:
                self._no_model = f"a layer cannot be copied: {error}"
        self._checksum = _checksum(trained)

    @classmethod
    def of(cls, model: "keras.Model | Frozen", recipe: str | Recipe) -> "Frozen":
        """Freezes a model, unless it is frozen for this recipe already.

        Args:
            model: Trained model, or a `Frozen`.
            recipe: Name of a recipe, such as "int8", or a `Recipe`.
        """
        if not isinstance(model, cls):
            return cls(model, recipe)
        return model if model.recipe == resolve(recipe) else cls(model.trained, recipe)

    @property
    def model(self) -> keras.Model:
        """The frozen copy, an ordinary Keras model.

        Raises: ValueError, for a model that cannot be copied, with the cause.
        """
        if self._model is None:
            raise ValueError(
                "`model` must be functional or Sequential, with its embeddings in its own graph, "
                "to have a frozen copy; `convert`, `verify` and `evaluate` take any model. "
                f"Received: {self.trained.name!r}; {self._no_model}."
            )
        return self._model

    @functools.cached_property
    def unrounded(self) -> "Frozen":
        """The same model frozen without rounding; itself, if the recipe rounds nothing."""
        return Frozen(self.trained, "float32") if self.recipe.rounds else self

    @functools.cached_property
    def _lent(self) -> list[tuple[Any, Form]]:
        """The embeddings of a model that cannot be copied, with their forms."""
        return [(layer, as_form(layer, self.recipe)) for layer in outermost(self.trained)]

    def check_current(self, copied: bool = True) -> None:
        """Raises `ValueError` if the trained model was changed since it was frozen.

        Args:
            copied: Whether a copy must be current, too: to be compared with the trained model.
        """
        if (copied or self._model is None) and _checksum(self.trained) != self._checksum:
            raise ValueError(
                "`model` must be frozen again after its weights changed: `export.freeze(model)`. "
                f"Received: {self.trained.name!r}, which was trained or assigned to since."
            )

    @contextlib.contextmanager
    def shipped(self) -> Iterator[tuple[Any, list[Form]]]:
        """Context that yields a model with the numbers of the file, and its forms.

        If the model cannot be copied, it is the trained model itself: until the block ends, its
        forms replace its embeddings, its kernels are rounded, and it computes in float32, see
        `lending`. Do not save it there.
        """
        if self._model is not None:
            yield self._model, list(outermost(self._model))
            return
        trained, recipe, forms = self.trained, self.recipe, self._lent
        with lent(trained, forms), computing_in_float32(trained):
            rounded = []
            if recipe.kernels != "float32":
                rounded = round_kernels(trained, recipe.kernels != "dynamic", recipe.float_layers)
                self.kernels = [one.codes for one in rounded]
            try:
                yield trained, [form for _, form in forms]
            finally:
                for one in rounded:
                    one.variable.assign(one.before)
                self.kernels = []

    def convert(self, **options: Any) -> bytes:
        """Converts the model to the bytes of a `.tflite` file and keeps them in `file`.

        Args:
            **options: Further arguments of `kerascompact.export.convert`, such as `labels`.
        """
        from kerascompact.export.converter import convert

        self.file = convert(self, **options)
        return self.file

    def verify(
        self,
        data: Any,
        labels: Any = None,
        *,
        file: bytes | str | Path | None = None,
        **options: Any,
    ) -> Any:
        """Compares the file, the frozen and the trained model on each example.

        Args:
            data: Inputs `(examples, length)`, or texts, if the file takes text.
            labels: Class of each example, to report accuracies.
            file: Bytes or path of the file. Default: the bytes that `convert` returned last, or
                returns now.
            **options: Further arguments of `kerascompact.export.verify`, such as `max_loss`.

        Returns: A `Report`.

        Raises: ValueError, if a limit is exceeded, naming the pair and its worst example.
        """
        from kerascompact.export.verification.verifier import verify

        if file is None:
            file = self.convert() if self.file is None else self.file
        return verify(self, file, data, labels, **options)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Evaluates the frozen model with the loss and metrics of the trained one.

        Args:
            *args: Inputs and labels, as for `keras.Model.evaluate`.
            **kwargs: Further arguments of `keras.Model.evaluate`, such as `batch_size`.

        Returns: The loss and the metrics by name.

        Raises: ValueError, if the trained model was not compiled.
        """
        if not self.trained.compiled:
            raise ValueError(
                "`model` must be compiled with the loss and metrics to evaluate. "
                f"Received: {self.trained.name!r}, which is not."
            )
        self.check_current(copied=False)
        with self.shipped() as (model, _):
            if model is not self.trained and not model.compiled:
                compile_like(self.trained, model)  # never trained
            return model.evaluate(*args, **kwargs, return_dict=True)

    def summary(self, model: keras.Model | None = None) -> "size.Summary":
        """Counts the stored bits of each layer, see `kerascompact.size.summary`.

        A rounded kernel has 8 bits a number, and 96 for each scale with its zero point.

        Args:
            model: Another model around the same layers. Default: the frozen one.
        """
        return size.summary(self.model if model is None else model, self._bits)


def _checksum(model: keras.Model) -> int:
    """CRC-32 of a model's weights; a gigabyte takes about a second."""
    found = 0
    for variable in model.weights:
        numbers = np.ascontiguousarray(keras.ops.convert_to_numpy(variable))
        found = zlib.crc32(numbers.view(np.uint8).data, found)
    return found
