"""Freezing: a trained model becomes the one that ships, made once."""

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from kerascompact import size
from kerascompact.core import checks
from kerascompact.core.keras_graph import copy_with, is_graph, lambda_options
from kerascompact.export.embedding_forms import (
    as_form,
    check_reachable,
    float32_config,
    hidden,
    is_embedding,
    outermost,
)
from kerascompact.export.kernel_rounding import round_kernels
from kerascompact.export.lending import lent
from kerascompact.export.recipe import Recipe, resolve
from kerascompact.forms.base import Form
from kerascompact.layers.recurrent.base import SparseRecurrent


def freeze(model: keras.Model, recipe: str | Recipe = "int8") -> "Frozen":
    """Makes the model that ships from a trained one, for as many uses as there are.

    Args:
        model: Trained Keras model of any kind, built; it is not changed.
        recipe: Name of a recipe, such as "int8", or a `Recipe`.

    Returns: A `Frozen`, which converts, verifies, evaluates and summarizes.

    Raises: ValueError, if `model` is no Keras model or the recipe is unknown.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> frozen = freeze(model, "int8")
    >>> type(frozen.model.layers[0]).__name__, frozen.convert()[4:8]
    ('CodebookForm', b'TFL3')
    """
    return Frozen(model, recipe)


class Frozen:
    """A trained model and the one that ships, which is made once.

    Freezing turns every compact layer into the form that ships: assignments are hard, tables and
    kernels hold the numbers that the recipe stores, a sparse LSTM or GRU is one loop, and mixed
    precision becomes float32. What is frozen already stays; a `keras.layers.Embedding` becomes a
    `DenseForm` or a `RowScaledForm`.

    A functional or Sequential model gets a copy, `model`, which evaluates, saves and loads like any
    Keras model. A subclassed model has none, nor has one with an embedding inside a layer that
    Keras cannot copy: `convert`, `verify` and `evaluate` then lend the trained model its forms.

    Args:
        trained: Trained Keras model of any kind, built; it is not changed.
        recipe: Name of a recipe, or a `Recipe`.

    Attributes:
        trained: The model that was given.
        recipe: The `Recipe`.
        kernels: The int8 numbers of each rounded kernel, in the shape that Keras gives it; of a
            model that cannot be copied, inside `shipped` only.
        file: The bytes that `convert` returned last; `None` before.

    Raises: ValueError, if `trained` is no Keras model or the recipe is unknown.

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
        self._model = None
        if not trained.built:
            self._no_model = "it is not built: call it on data, or train it"
        elif not is_graph(trained):
            self._no_model = "a subclassed model has no graph to copy"
        elif (name := hidden(trained)) is not None:
            self._no_model = f"its layer {name!r} holds an embedding inside"
        else:
            try:
                self._model, self.kernels = frozen_copy(trained, self.recipe)
            except (NotImplementedError, TypeError) as error:  # of a layer's configuration
                self._no_model = f"a layer cannot be copied: {error}"

    @classmethod
    def of(cls, model: "keras.Model | Frozen", recipe: str | Recipe) -> "Frozen":
        """`model` itself if it is frozen for this recipe, or else frozen now.

        Args:
            model: Trained model, or a `Frozen`.
            recipe: Name of a recipe, or a `Recipe`.
        """
        if not isinstance(model, cls):
            return cls(model, recipe)
        return model if model.recipe == resolve(recipe) else cls(model.trained, recipe)

    @property
    def model(self) -> keras.Model:
        """The copy that ships, a Keras model like any other.

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
        """The same model frozen as float32: itself, if the recipe rounds nothing."""
        return Frozen(self.trained, "float32") if self.recipe.rounds else self

    @functools.cached_property
    def _lent(self) -> list[tuple[Any, Form]]:
        """Embeddings of a model that cannot be copied, and their forms."""
        return [(layer, as_form(layer, self.recipe)) for layer in outermost(self.trained)]

    @contextlib.contextmanager
    def shipped(self) -> Iterator[tuple[Any, list[Form]]]:
        """The model that ships and its forms, whatever the kind of model, for a `with` block.

        A model that cannot be copied is lent itself: until the block ends, its embeddings look up
        in their forms and its kernels are rounded, see `lending`. Do not save it in the block.
        """
        if self._model is not None:
            yield self._model, list(outermost(self._model))
            return
        trained, recipe = self.trained, self.recipe
        rounded = []
        if recipe.kernels != "float32":
            rounded = round_kernels(trained, recipe.kernels != "dynamic")
            self.kernels = [one.codes for one in rounded]
        try:
            with lent(trained, self._lent):
                yield trained, [form for _, form in self._lent]
        finally:
            for one in rounded:
                one.variable.assign(one.before)
            self.kernels = []

    def convert(self, **options: Any) -> bytes:
        """Converts to the bytes of a `.tflite` file, which `file` keeps.

        Args:
            **options: Those of `kerascompact.export.convert`, such as `labels`.
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
        """Compares the file, this model and the trained one on every row; see `export.verify`.

        Args:
            data: Inputs `(rows, length)`, or texts, if the file takes text.
            labels: Class of each row, to report accuracies.
            file: Bytes or path of the file; `None`: what `convert` returned last, or returns now.
            **options: Those of `kerascompact.export.verify`, such as `max_loss`.

        Returns: A `Report`.

        Raises: ValueError, past a limit, naming the pair and its worst row.
        """
        from kerascompact.export.verification.verifier import verify

        if file is None:
            file = self.convert() if self.file is None else self.file
        return verify(self, file, data, labels, **options)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Loss and metrics of the model that ships, those that the trained one was compiled with.

        Args:
            *args: As for `keras.Model.evaluate`: inputs and labels.
            **kwargs: As for `keras.Model.evaluate`, such as `batch_size`.

        Raises: ValueError, if the trained model was not compiled.
        """
        if not self.trained.compiled:
            raise ValueError(
                "`model` must be compiled with the loss and metrics to evaluate. "
                f"Received: {self.trained.name!r}, which is not."
            )
        with self.shipped() as (model, _):
            if model is not self.trained and not model.compiled:
                settings = self.trained.get_compile_config()
                model.compile_from_config({**settings, "optimizer": "sgd"})  # it is not used
            return model.evaluate(*args, **kwargs, return_dict=True)

    def summary(self) -> "size.Summary":
        """Bits of every stored array beside the paper's count, see `kerascompact.size.summary`."""
        return size.summary(self.model)


def frozen_copy(model: keras.Model, recipe: Recipe) -> tuple[keras.Model, list[np.ndarray]]:
    """Copy of a functional or Sequential model with its compact layers frozen.

    Args:
        model: Built; its own layers are not changed.
        recipe: How tables and kernels are stored.

    Returns: The copy, and the int8 numbers of its rounded kernels.

    Raises: ValueError, if an embedding is where no copy of the graph would reach it.
    """
    check_reachable(model, "frozen; `convert` and `verify` take them anywhere")

    def replace(layer: keras.layers.Layer) -> keras.layers.Layer | None:
        if is_embedding(layer):
            return as_form(layer, recipe)
        if type(layer) is keras.layers.Lambda:
            return _same_function(layer)
        return _one_loop(layer)

    frozen = copy_with(model, replace, float32_config)
    if recipe.kernels == "float32":
        return frozen, []
    return frozen, [one.codes for one in round_kernels(frozen, recipe.kernels != "dynamic")]


def _same_function(layer: Any) -> keras.layers.Layer:
    """A `Lambda` with the same function, which a configuration would hold as bytes."""
    options = lambda_options(layer)
    return keras.layers.Lambda(layer.function, name=layer.name, dtype="float32", **options)


def _one_loop(layer: Any) -> keras.layers.Layer | None:
    """A sparse recurrent layer, or two in a `Bidirectional`, as one loop; `None` for others."""
    if isinstance(layer, SparseRecurrent):
        return layer.to_form()
    if type(layer) is not keras.layers.Bidirectional:
        return None
    sides = (layer.forward_layer, layer.backward_layer)
    if not all(isinstance(side, SparseRecurrent) for side in sides):
        return None
    forward, backward = (side.to_form() for side in sides)
    both = keras.layers.Bidirectional(
        forward,
        merge_mode=layer.merge_mode,
        backward_layer=backward,
        name=layer.name,
        dtype="float32",
    )
    # It makes its forward layer anew, from the configuration.
    batch_size = forward.states[0].shape[0] if forward.stateful else None
    both.build((batch_size, None, forward.input_dim))
    both.forward_layer.set_weights(forward.get_weights())
    return both
