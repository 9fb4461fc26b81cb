"""Converter from Keras models to the bytes of a `.tflite` file."""

import contextlib
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import kerascompact
from kerascompact.core import checks
from kerascompact.export import lstm_fusion, mediapipe_tasks, metadata, preconditions
from kerascompact.export.file_order import in_file_order
from kerascompact.export.freezing import Frozen
from kerascompact.export.inputs import input_specs
from kerascompact.export.recipe import RECIPES, Recipe, resolve
from kerascompact.export.rewriting import rewrite
from kerascompact.export.signature import (
    SINGLE,
    Signature,
    Sizes,
    TextOptions,
    for_each,
    signature,
)
from kerascompact.export.trace import to_tflite
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text.vocabulary import Vocabulary
from kerascompact.text.wordpiece import WordPiece, is_tokenizer
from kerascompact.tflite import flatbuffer, tensor_names
from kerascompact.tflite.metadata import add_metadata
from kerascompact.tflite.validate import TooLargeError


def convert(
    model: keras.Model | Frozen | dict[str, keras.Model | Frozen],
    recipe: str | Recipe | None = None,
    *,
    labels: Sequence[str] | dict[str, Sequence[str]] | None = None,
    vocabulary: Vocabulary | None = None,
    sequence_length: int | None = None,
    text: Any = None,
    batch_size: int | None = 1,
    max_bytes: int | None = None,
    max_words: int | None = None,
    fingerprint_bits: int = 32,
    inputs: dict[str, Any] | None = None,
    representative: Any = None,
    fused_lstm: bool = False,
    names: bool | None = None,
    mediapipe: bool = False,
) -> bytes:
    """Converts a trained model into the bytes of a TFLite file with built-in operators only.

    `file(x) = frozen(x)`: compact embeddings become their forms, tables and the kernels of other
    layers are stored as the recipe says, and no table is unpacked in memory. The batch size is 1
    unless `batch_size` changes it; a length that the model leaves open stays open. Inputs that
    embeddings alone read are int32, also of a Sequential model without a `keras.Input`.

    With `text`, the file takes the text itself: its input is `text`, int32 `(1, max_bytes)`, the
    UTF-8 bytes filled up with zeros, and operators find the words and their ids (see `TextToIds`).
    No bytes make it fail. The vocabulary takes 4 bytes per word for fingerprints and about 1.5 for
    ids (none in the order of `training.choose_words`), `text.Buckets` take nothing, and no
    vocabulary file is needed. BERT's 30,522 pieces take 160,000 bytes where the table can be stored
    in the order of the file, 58,000 more where it cannot: in compact layers, subclassed models and
    models that score words. A model with an output for each word gets one more output, `spans`
    `(1, words, 2)`: the first byte of each word, and the byte after its last.

    Several models by name give one file with several signatures, which stores tables, kernels and
    other arrays that they share only once. An app picks a model by its name. Then `labels`,
    `inputs` and `representative` are dictionaries by these names.

    Args:
        model: Trained Keras model: functional, Sequential or subclassed (and built), with any
            inputs and outputs, and compact layers anywhere in it; or a `Frozen`; or a dictionary of
            these by name.
        recipe: Name of one of `RECIPES`, or a `Recipe`: "int8" stores tables and kernels as 8-bit
            integers, "int4" tables as 4-bit and kernels as 8-bit integers, "codes4", "codes3" and
            "codes2" tables as product codes. Default: the recipe of a `Frozen`, or "int8".
        labels: Names of the classes, which the metadata of the file contain. Whether a text may
            have several of them is told by the model: its outputs are then sigmoids, no softmax.
        vocabulary: Vocabulary of the model. The metadata contain its size, token rules and SHA-256;
            `save` writes the words into the folder of the file.
        sequence_length: Length of the ids where the model leaves it open.
        batch_size: Examples per run: 1, as on a phone; another number; or `None` for a file whose
            inputs can be resized to any batch (`resize_tensor_input`) and are 1 until then. An open
            batch takes 100 to 1,300 bytes more; with more than one example, each code in a sum of
            codes takes 600. Keras' LSTM and GRU, and any layer that returns sequences from a loop,
            need a number or `unroll=True`, since TFLite must know the size of their list of states.
            A file that takes text takes one text at a time.
        text: Vocabulary of the model, for a file that takes text; or its `text.Buckets`, which
            store no words; or the name of token rules, if the embedding is a `ProjectionEmbedding`,
            which has no vocabulary; or its WordPiece tokenizer: a `text.WordPiece`, or what that
            takes. A model of pieces may have a mask and segments beside the ids.
        max_bytes: Longest text in bytes, for a file that takes text. Default: any length.
        max_words: Most words in a text, where the number of ids is open.
        fingerprint_bits: Bits of a word's fingerprint: 32, 40 or 64. With 3,000 known words, a file
            mistakes one unknown word in 1.4 million (32), 370 million (40) or 2^64 / 3,000 (64) for
            a known one. Unknown pairs of words are many: `verify` tells whether 32 are enough.
        inputs: Inputs of a subclassed model: a `keras.Input(...)` or an array for each name. A
            `call` with several arguments takes their names, a `call` with a list their order.
            Default, for one input: ids of any length if the model has an embedding, else numbers of
            the shape that it was built for.
        representative: Calibration data for recipes with integers between the layers, such as
            "full_int8": an array of training examples, a dictionary of arrays for several inputs,
            or texts.
        fused_lstm: Whether each `keras.layers.LSTM` becomes one operator instead of a loop, where
            TFLite has it, see `lstm_fusion.fused`. This takes fewer bytes and allows integers, but
            is slower on x86, and LiteRT's `CompiledModel` cannot run it.
        names: Names of inner tensors, for tools that show or quantize files. `True` keeps the
            converter's names, which contain the layer. `False` drops them and deflates the
            metadata: the smallest file, which litert-quantizer cannot read. Default: `True`
            from 64 KiB on; numbers in smaller files, the shortest names that litert-quantizer
            reads, 11 to 22 bytes per tensor.
        mediapipe: Whether MediaPipe Tasks can run the file, as a `TextClassifier` if there are
            labels, else as a `TextEmbedder`, on Android, iOS, the web and in Python. The vocabulary
            and the labels are in the file, in MediaPipe's metadata. The model takes ids of a fixed
            length, and `vocabulary` has the token rules "mediapipe" or "mediapipe_bert". With the
            latter the file takes two ids more than the model: MediaPipe puts one token before the
            text and one behind, which are padding here.

    Returns: The bytes of the file. Converting twice gives the same bytes.

    Raises: ValueError, if the model is not built, labels do not fit its output, it needs an
        operator that plain TFLite does not have (with the layer that it is in) or a tensor of 2 GiB
        or more, it cannot take text, or the recipe does not fit the model.

    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> convert(model)[4:8]
    b'TFL3'
    >>> len(Interpreter(convert({"vectors": model}), signature="vectors").inputs)
    1
    """
    models = model if isinstance(model, dict) else {SINGLE: model}
    if not models or not all(isinstance(name, str) and name for name in models):
        checks.fail("model", "a keras.Model, or a dictionary of them by their names", model)
    if is_tokenizer(text) and not isinstance(text, WordPiece):
        text = WordPiece(text)
    recipe = _recipe_of(models, recipe)
    preconditions.check_fused(fused_lstm, recipe)
    tensor_names.check(names)
    preconditions.check_batch(batch_size, text is not None, fused_lstm)
    if checks.boolean("mediapipe", mediapipe):
        vocabulary = mediapipe_tasks.check(vocabulary, text, batch_size, model, labels)
        sequence_length = mediapipe_tasks.length_of_file(vocabulary, sequence_length)
    several = isinstance(model, dict)
    for one in models.values():
        if isinstance(one, Frozen):
            one.check_current(copied=isinstance(text, WordPiece))  # its table is ordered anew
    trained = [one.trained if isinstance(one, Frozen) else one for one in models.values()]
    for one in trained:
        preconditions.check_model(one)
    words = preconditions.same_vocabulary(text, vocabulary)
    if words is not None:
        preconditions.check_vocabulary(trained, words)
    options = TextOptions(text, max_bytes, max_words, fingerprint_bits)
    sizes = Sizes(batch_size, sequence_length)
    arguments = {"labels": labels, "inputs": inputs, "representative": representative}
    own = {key: for_each(key, value, models, several) for key, value in arguments.items()}
    signatures: dict[str, Signature] = {}
    known: list[np.ndarray] = []
    with contextlib.ExitStack() as stack:
        for name, made in models.items():
            made, ordered = _in_order(made, recipe, text, sizes, own["inputs"][name])
            one = Frozen.of(made, recipe)
            frozen, forms = stack.enter_context(one.shipped())
            known += one.kernels
            if fused_lstm:
                lstms = stack.enter_context(lstm_fusion.fused(frozen))
                preconditions.check_order(name, lstms, bool(signatures), recipe)
            rest = {key: values[name] for key, values in own.items()}
            function = f"serve_{len(signatures):03}"
            options = options._replace(in_order=ordered)
            signatures[name] = signature(frozen, forms, recipe, sizes, options, function, **rest)
        parsed = _converted(signatures, recipe)
        every = [form for one in signatures.values() for form in one.forms]
        rewrite(parsed, recipe, every, known, fused_lstm)
        entries = {
            "kerascompact": kerascompact.__version__,
            "recipe": recipe.facts(),
            "vocabulary": metadata.of_vocabulary(words),
            "batch_size": metadata.of_batch(batch_size),
            **({} if several else signatures[SINGLE].metadata),
        }
        if mediapipe and vocabulary is not None:
            only = signatures[SINGLE]
            shapes = only.module.output_shapes
            entries["mediapipe"] = mediapipe_tasks.facts(vocabulary, only.specs, shapes)
        if several:
            entries["embeddings"] = metadata.of_embeddings(every)
            entries["signatures"] = {
                name: {k: v for k, v in one.metadata.items() if v}
                for name, one in signatures.items()
            }
    flatbuffer.slim(parsed)
    kept = {key: value for key, value in entries.items() if value}
    add_metadata(parsed, kept, deflate=names is False)
    if mediapipe and vocabulary is not None:
        mediapipe_tasks.add_metadata(parsed, vocabulary, labels is not None)
    data = tensor_names.pack(parsed, names)
    if mediapipe and vocabulary is not None:
        data = mediapipe_tasks.finish(data, vocabulary, entries["labels"])
    for name, one in signatures.items():
        _check_runs(data, one.specs, name)
    return data


def _in_order(
    made: keras.Model | Frozen, recipe: Recipe, text: Any, sizes: Sizes, inputs: Any
) -> tuple[keras.Model | Frozen, bool]:
    """A model of pieces with its table in the order of the file, and whether that was possible."""
    if not isinstance(text, WordPiece):
        return made, False
    trained = made.trained if isinstance(made, Frozen) else made
    specs = input_specs(trained, sizes.sequence_length, inputs, 1)
    copy = in_file_order(trained, text, specs)
    return (made, False) if copy is None else (Frozen.of(copy, recipe), True)


def _converted(signatures: dict[str, Signature], recipe: Recipe) -> Any:
    try:
        return flatbuffer.parse(to_tflite(signatures, recipe.kernels))
    except TooLargeError as error:
        raise ValueError(
            "`model` must need no tensor of 2 GiB or more. Received: one for which the converter "
            f"made {error.__cause__}. A smaller `sequence_length` or `batch_size` may help."
        ) from error


def _recipe_of(models: dict[str, Any], recipe: str | Recipe | None) -> Recipe:
    """The recipe that `convert` was given, or that its models were frozen with."""
    found = {one.recipe for one in models.values() if isinstance(one, Frozen)}
    if recipe is not None:
        found.add(resolve(recipe))
    if len(found) > 1:
        names = sorted(one.name for one in found)
        checks.fail("recipe", "the one that each model was frozen with, or None", names)
    return found.pop() if found else RECIPES["int8"]


def _check_runs(data: bytes, specs: dict[str, tf.TensorSpec], name: str) -> None:
    """Runs the file once, so that `convert` never returns one that the runtime cannot run.

    On zeros, or, where a model reads a row of no table then, as `Embedding(ids - 1)`, on larger
    numbers. One that reads none with any of these cannot be told from one that is right.
    """
    file = Interpreter(data, signature=name)
    shapes = {key: spec.shape.as_list() for key, spec in specs.items()}
    any_batch = any(shape[:1] == [None] for shape in shapes.values())
    for batch in (1, 2) if any_batch else (1,):
        for number in (0, *(2**power for power in range(15))):
            given = {}
            for key, shape in shapes.items():
                sizes = [(4 if axis else batch) if n is None else n for axis, n in enumerate(shape)]
                dtype = specs[key].dtype
                fits = dtype.is_integer and number <= dtype.max
                given[key] = np.full(sizes, number if fits else 0, dtype.as_numpy_dtype)
            try:
                file.run(given)
                break
            except ValueError as error:
                if "out of bounds" not in str(error):
                    raise
