"""Files for MediaPipe Tasks: its metadata, the vocabulary and the labels are inside."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.runtime.mediapipe_vocabulary import words_of
from kerascompact.text import mediapipe_rules
from kerascompact.text.rules import RULES, named
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary
from kerascompact.tflite.associated_files import with_files
from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import TYPE, new_tensor
from kerascompact.tflite.mediapipe_metadata import (
    BERT_INPUTS,
    LABELS,
    NAME,
    UNUSED,
    VOCABULARY,
    mediapipe_metadata,
)

AROUND = 2  # tokens that MediaPipe puts around a text for BERT; here they are padding
SAME = 1e-4  # largest difference of outputs that is rounding


def check(vocabulary: Any, text: Any, batch_size: Any, models: Any, labels: Any) -> Vocabulary:
    """Checks the arguments of `convert` that decide whether MediaPipe can run the file.

    Raises: ValueError, naming the argument.
    """
    rules = [name for name in token_rules() if name]
    if not isinstance(vocabulary, Vocabulary) or vocabulary.rules not in rules:
        found = vocabulary.rules if isinstance(vocabulary, Vocabulary) else vocabulary
        checks.fail("vocabulary", f"a text.Vocabulary with the rules {' or '.join(rules)}", found)
    if text is not None:
        checks.fail("text", "None, for MediaPipe cuts the text and looks up its words", text)
    if batch_size != 1:
        checks.fail("batch_size", "1, as MediaPipe runs one text at a time", batch_size)
    if isinstance(models, dict):
        checks.fail("model", "one model for a file that MediaPipe runs", models)
    names = labels if np.iterable(labels) else ()  # else refused later, as in any file
    broken = [one for one in names if isinstance(one, str) and {"\n", "\r"} & {*one}]
    if broken:  # a line of a file names a class
        checks.fail("labels", "names without line breaks, for MediaPipe", broken[0])
    if vocabulary.rules == "mediapipe_bert":
        longest = mediapipe_rules.LONGEST
        long = [word for word in vocabulary.words if len(word.encode()) > longest]
        if long:
            checks.fail("vocabulary", f"words of at most {longest} bytes, for BERT", long[0])
    return vocabulary


def token_rules() -> list[str]:
    """Names of the token rules that MediaPipe can follow.

    >>> token_rules()
    ['mediapipe', 'mediapipe_bert']
    """
    return [name for name, rules in RULES.items() if rules.mediapipe]


def length_of_file(vocabulary: Vocabulary, sequence_length: int | None) -> int | None:
    """Ids that the file takes, for words of which the model takes `sequence_length`."""
    around = AROUND if named(vocabulary.rules).mediapipe == "bert" else 0
    return None if sequence_length is None else sequence_length + around


def facts(vocabulary: Vocabulary, specs: dict[str, tf.TensorSpec], shapes: Any) -> dict[str, Any]:
    """Entry for kerascompact's metadata: which tokenizer, and how many words it leaves.

    Raises: ValueError, if the model's inputs or outputs are not what MediaPipe gives and takes.
    """
    shape = [spec.shape.as_list() for spec in specs.values()]
    kinds = [spec.dtype for spec in specs.values()]
    if len(shape) != 1 or len(shape[0]) != 2 or kinds != [tf.int32]:
        found = {name: (spec.dtype.name, spec.shape.as_list()) for name, spec in specs.items()}
        checks.fail("model", "one with one input of int32 ids, (batch, length)", found)
    if shape[0][1] is None:
        checks.fail("sequence_length", "a number of words, since the model leaves it open", None)
    if len(shapes) != 1 or shapes[0].rank != 2:
        checks.fail("model", "one with one output, (batch, numbers)", [*shapes])
    kind = named(vocabulary.rules).mediapipe
    return {"tokenizer": kind, "words": shape[0][1] - (AROUND if kind == "bert" else 0)}


def add_metadata(model: Any, vocabulary: Vocabulary, labels: bool) -> None:
    """Adds MediaPipe's metadata to a parsed model, and for BERT the inputs that nothing reads.

    Args:
        model: `ModelT` of the schema, changed in place.
        vocabulary: Vocabulary of the model.
        labels: Whether the file names its classes.
    """
    graph, bert = model.subgraphs[0], named(vocabulary.rules).mediapipe == "bert"
    (ids,) = (int(index) for index in graph.inputs)
    if bert:
        (signature,) = model.signatureDefs
        for name in UNUSED:
            index = new_tensor(graph, TYPE.INT32, graph.tensors[ids].shape, 0)
            graph.tensors[index].name = name.encode()
            graph.inputs = np.append(graph.inputs, index).astype(np.int32)
            port = schema.TensorMapT()
            port.name, port.tensorIndex = name.encode(), index
            signature.inputs.append(port)
    own = (graph.tensors[ids].name or b"ids").decode()
    output = (graph.tensors[int(graph.outputs[0])].name or b"output").decode()
    pattern = None if bert else mediapipe_rules.SEPARATORS
    content = mediapipe_metadata(BERT_INPUTS if bert else [own], output, pattern, labels)
    entry, buffer = schema.MetadataT(), schema.BufferT()
    buffer.data = np.frombuffer(content, np.uint8)
    entry.name, entry.buffer = NAME, len(model.buffers)
    model.buffers.append(buffer)
    model.metadata = [*(model.metadata or []), entry]


def finish(data: bytes, vocabulary: Vocabulary, labels: Sequence[str] | None) -> bytes:
    """Puts the vocabulary and the labels behind a file, and checks that it may be shifted.

    Raises: ValueError, if outputs change when BERT's tokenizer puts a padding id before the first
        word.
    """
    files = {VOCABULARY: words_of(vocabulary)}
    if labels is not None:
        files[LABELS] = "\n".join(labels).encode()
    data = with_files(data, files)
    if named(vocabulary.rules).mediapipe == "bert":
        _check_shift(data, len(vocabulary))
    return data


def _check_shift(data: bytes, size: int) -> None:
    """Runs texts of some lengths, and again with a padding id before the first word."""
    file, random = Interpreter(data), np.random.default_rng(0)
    ((name, port),) = file.inputs.items()
    length = int(port["shape"][1])
    (output,) = file.outputs
    for count in range(1, length - 1, max(1, length // 8)):
        row = np.zeros((1, length), np.int32)
        row[0, :count] = random.integers(NUM_RESERVED - 1, size, count)
        first, second = (file.run({name: ids})[output] for ids in (row, np.roll(row, 1)))
        apart = float(np.abs(first - second).max())
        if not apart <= SAME * max(1.0, float(np.abs(first).max())):
            raise ValueError(
                "`model` must skip padding before the first word, which MediaPipe's BERT tokenizer "
                f"puts there. Received: a model whose output then changes by {apart:.3g}. Use the "
                'token rules "mediapipe", or a model that masks padding, such as a mean.'
            )
