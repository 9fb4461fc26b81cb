"""Signature of a file: one traced model with its calibration data and metadata."""

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import (
    all_layers,
    batch_of_one,
    ends_in_sigmoids,
    for_extreme_numbers,
    for_inference,
    for_integer_files,
    fourier_by_matrices,
    is_graph,
    largest_by_value,
    readers_of_inputs,
    takers_of,
)
from kerascompact.core.masked_mean import averaging
from kerascompact.export import metadata, preconditions, traced_operators
from kerascompact.export.calibration import calibration_runs
from kerascompact.export.embedding_forms import is_embedding
from kerascompact.export.inputs import COMPARES, input_specs, input_structure
from kerascompact.export.recipe import Recipe
from kerascompact.export.text_in import TextIn, projection_of
from kerascompact.export.trace import Serve
from kerascompact.forms.base import Form
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.row_scaled_table import RowScaledForm
from kerascompact.layers.masked_mean import MaskedMean
from kerascompact.models.bit_input import with_bit_input
from kerascompact.text.buckets import Buckets
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.text.wordpiece import WordPiece

SINGLE = "serving_default"  # TensorFlow's name for the only signature of a file
OF_INTEGERS = ("full_int8", "int16x8")

# Operations of `keras.ops` that hand integers on as they are, or a part of them.
HAND_ON = {
    "BroadcastTo", "Cast", "Concatenate", "Copy", "ExpandDims", "Flip", "GetItem", "Moveaxis",
    "Pad", "Ravel", "Repeat", "Reshape", "Roll", "Slice", "Squeeze", "Stack", "Swapaxes", "Take",
    "Tile", "Transpose",
    "Cropping1D", "Flatten", "Identity", "Masking", "Permute", "RepeatVector", "ZeroPadding1D",
}  # fmt: skip
PARTS = ("GetItem", "Slice", "Take")


class Sizes(NamedTuple):
    """Sizes in the arguments of `convert`: examples per run (`None`: any) and ids per example."""

    batch_size: int | None = 1
    sequence_length: int | None = None


class TextOptions(NamedTuple):
    """Arguments of `convert` for text input."""

    text: Vocabulary | Buckets | WordPiece | str | None = None
    max_bytes: int | None = None
    max_words: int | None = None
    fingerprint_bits: int = 32
    in_order: bool = False


class Signature(NamedTuple):
    """One traced model for the converter.

    Args:
        module: The traced function.
        forms: The embeddings of the model.
        specs: Names, shapes and types of the inputs.
        runs: Function that gives an iterator of calibration runs, or `None`.
        metadata: Entries for the metadata of the file.
    """

    module: Serve
    forms: list[Form]
    specs: dict[str, tf.TensorSpec]
    runs: Callable[[], Any] | None
    metadata: dict[str, Any]


def signature(
    model: Any,
    forms: list[Form],
    recipe: Recipe,
    sizes: Sizes,
    options: TextOptions,
    name: str = "serve",
    labels: Any = None,
    inputs: Any = None,
    representative: Any = None,
) -> Signature:
    """Traces a frozen model.

    Args:
        model: Frozen model.
        forms: All embeddings of the model.
        recipe: How the file stores tables and kernels.
        sizes: Examples per run, and ids per example where the model leaves it open.
        options: Arguments of `convert` for text input.
        name: Name of the function, unique in the file.
        labels: Names of the classes.
        inputs: Inputs of a subclassed model.
        representative: Calibration examples, in any structure that the model takes.

    Raises: ValueError, if an argument does not fit, or the model cannot be converted.
    """
    text_in, form = None, None
    max_words = options.max_words
    if isinstance(options.text, str):
        form = projection_of(model)
        model = with_bit_input(model)
        if form.together and max_words is None:
            max_words = sizes.sequence_length
    specs = input_specs(model, sizes.sequence_length, inputs, sizes.batch_size)
    if options.text is not None:
        text_in = TextIn(
            specs,
            options.text,
            form,
            options.max_bytes,
            max_words,
            options.fingerprint_bits,
            options.in_order,
            integers=recipe.kernels in OF_INTEGERS,
        )
    elif options.max_bytes is not None or max_words is not None:
        checks.fail("text", "a vocabulary, with `max_bytes` or `max_words`", options.text)
    averaged = [form for form in forms if _is_averaged(model, form)]
    integers = for_integer_files() if recipe.kernels in OF_INTEGERS else contextlib.nullcontext()
    tracing = preconditions.traced(sizes.batch_size)
    functions = (
        batch_of_one(), fourier_by_matrices(), largest_by_value(), for_inference(),
        for_extreme_numbers(), integers, preconditions.known_steps(),
    )  # fmt: skip
    with tracing, contextlib.ExitStack() as stack, averaging(averaged):
        for one in functions:
            stack.enter_context(one)
        module = Serve(model, forms, specs, text_in, name)
    traced_operators.check_operators(module.function, recipe, forms)
    specs = specs if text_in is None else text_in.specs
    sigmoids = ends_in_sigmoids(model) or traced_operators.ends_in_sigmoids(module.function)
    found = {
        "labels": metadata.of_labels(labels, module.output_shapes),
        "multi_label": metadata.of_outputs(
            labels, module.output_shapes, sigmoids, of_text=text_in is not None
        ),
        "inputs": [*specs] if len(specs) > 1 else None,  # the file has them in another order
        "text": None if text_in is None else text_in.facts(),
        "embeddings": metadata.of_embeddings(forms),
        "num_ids": _num_ids(model, forms),
        "computed_ids": _computed_ids(model, forms, module.function, text_in) or None,
    }
    runs = None
    if recipe.kernels in OF_INTEGERS:
        runs = calibration_runs(
            representative,
            specs,
            text_in is not None,
            input_structure(model),
            preconditions.sizes_of_inputs(model),
        )
    elif representative is not None:
        checks.fail("representative", f"None for the recipe {recipe.name!r}", representative)
    return Signature(module, forms, specs, runs, found)


def _is_averaged(model: Any, form: Form) -> bool:
    """Whether means are all that a model makes of a form's vectors."""
    takers = takers_of(model, form) if is_graph(model) else []
    return bool(takers) and all(isinstance(taker, MaskedMean) for taker in takers)


def _num_ids(model: Any, forms: list[Form]) -> int | None:
    """Entry for the ids that the inputs may have, where not every table has as many rows.

    Tables of positions or segments may be smaller or larger than the vocabulary. `None`, if tables
    have one size, or it is not known which read the inputs as they are.
    """
    if len({form.input_dim for form in forms if form.input_dim}) < 2:
        return None
    return max(preconditions.sizes_of_inputs(model).values(), default=None)


def _computed_ids(model: Any, forms: list[Form], function: Any, text_in: Any) -> bool:
    """Whether the ids of every table are computed from the inputs, whose numbers may be larger.

    As of `ids % 100`, `ids - 1`, a `Lambda` or a layer without a table (`Discretization`); or of
    one part of an input whose other parts may be other numbers. Of plain tables in layers of the
    user's own, the traced function tells.
    """
    if not any(form.input_dim for form in forms):
        return False
    told = text_in is None and all(type(form) in (DenseForm, RowScaledForm) for form in forms)
    if not is_graph(model):
        return told and not traced_operators.looks_up_inputs(function)
    found = [one for readers in readers_of_inputs(model).values() for one in readers]
    names = [type(one).__name__ for one in found]
    layers = [inner for one in found if isinstance(one, keras.Layer) for inner in all_layers(one)]
    if any(is_embedding(one) for one in found):
        return False
    if any(is_embedding(layer) for layer in layers):
        return told and not traced_operators.looks_up_inputs(function)
    changing = [name for name in names if name not in HAND_ON | COMPARES]
    handed_on = [name for name in names if name in HAND_ON]
    return bool(changing and not handed_on) or sum(name in PARTS for name in names) > 1


def for_each(argument: str, value: Any, models: dict[str, Any], several: bool) -> dict[str, Any]:
    """Splits an argument of `convert` by model.

    Args:
        argument: Name of the argument, for errors.
        value: Its value; with several models, a dictionary of values by the models' names.
        models: The models by name.
        several: Whether `convert` was given several models.

    Returns: A value for each model, `None` where there is none.

    Raises: ValueError, if the dictionary has other names than the models.

    >>> for_each("labels", {"one": ["a"]}, {"one": None, "two": None}, several=True)
    {'one': ['a'], 'two': None}
    """
    if not several:
        return dict.fromkeys(models, value)
    value = {} if value is None else value
    if not isinstance(value, dict) or not set(value) <= set(models):
        expected = f"a dictionary with some of the models' names, {[*models]}"
        checks.fail(argument, expected, value)
    return {name: value.get(name) for name in models}
