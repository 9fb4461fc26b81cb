"""Files for MediaPipe Tasks: what is in them, that our own runtime reads them, what is refused.

MediaPipe itself runs them in `tests/export/test_in_mediapipe.py`.
"""

import functools
import io
import zipfile

import flatbuffers
import keras
import numpy as np
import pytest

from kerascompact import export, models, runtime, tflite, tools
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import Vocabulary
from kerascompact.tflite import flatbuffer

WORDS = ["good", "bad", "film", "don't", "!"]
LABELS = ["yes", "no"]
LENGTH = 8
TEXTS = ["good film", "A bad bad film!", "don't", "good " * 20]


def words(rules):
    return Vocabulary(WORDS[: 4 if rules == "mediapipe" else 5], rules)


def classifier(rules, length=None):
    keras.utils.set_random_seed(0)
    table = keras.layers.Embedding(len(words(rules)), 4, mask_zero=True)
    ids = keras.Input((length,), dtype="int32", name="ids")
    return keras.Model(ids, models.mean_classifier(table, 2)(ids))


def convert(rules, model=None, **options):
    options = {"labels": LABELS, "sequence_length": LENGTH, **options}
    model = classifier(rules) if model is None else model
    return export.convert(model, vocabulary=words(rules), mediapipe=True, **options)


@functools.cache
def file_of(rules):
    """The file of a classifier, converted once."""
    return convert(rules)


def fields(table, slot):
    """Position of a field of a flatbuffer's table, or 0."""
    return table.Offset(4 + 2 * slot)


def follow(table, slot):
    return flatbuffers.table.Table(table.Bytes, table.Indirect(table.Pos + fields(table, slot)))


def entry(table, slot, index):
    start = table.Vector(fields(table, slot))
    return flatbuffers.table.Table(table.Bytes, table.Indirect(start + 4 * index))


def text_of(table, slot):
    return table.String(table.Pos + fields(table, slot)).decode()


def metadata_of(data):
    """The root of MediaPipe's metadata, read field by field."""
    model = flatbuffer.parse(data)
    (found,) = [one for one in model.metadata if one.name == b"TFLITE_METADATA"]
    content = bytes(bytearray(model.buffers[found.buffer].data))
    assert content[4:8] == b"M001"
    return flatbuffers.table.Table(
        content, flatbuffers.encode.Get(flatbuffers.packer.uoffset, content, 0)
    )


@pytest.mark.parametrize("rules", ["mediapipe", "mediapipe_bert"])
def test_vocabulary_and_labels_are_in_the_file(rules):
    data = file_of(rules)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = {name: archive.read(name).decode() for name in archive.namelist()}
    assert content["labels.txt"] == "yes\nno"
    if rules == "mediapipe":
        wanted = "<PAD> 0\n<UNKNOWN> 1\ngood 2\nbad 3\nfilm 4\ndon't 5\n"
    else:
        wanted = "[PAD]\n[UNK]\ngood\nbad\nfilm\ndon't\n!\n"
    assert content["vocab.txt"] == wanted


def test_metadata_by_the_fields_of_the_schema():
    graph = entry(metadata_of(file_of("mediapipe")), 3, 0)
    given, answer = entry(graph, 2, 0), entry(graph, 3, 0)
    unit = entry(given, 4, 0)
    assert text_of(given, 0) == "ids"
    assert unit.Get(flatbuffers.number_types.Uint8Flags, unit.Pos + fields(unit, 0)) == 6
    options = follow(unit, 1)
    assert (
        text_of(options, 0).startswith("[\\x00-\\x26")
        and text_of(entry(options, 1, 0), 0) == "vocab.txt"
    )
    labels = entry(answer, 6, 0)
    assert text_of(labels, 0) == "labels.txt"
    assert labels.Get(flatbuffers.number_types.Uint8Flags, labels.Pos + fields(labels, 2)) == 2


def test_bert_has_three_inputs_of_which_one_is_read():
    data = file_of("mediapipe_bert")
    graph = entry(metadata_of(data), 3, 0)
    assert [text_of(entry(graph, 2, n), 0) for n in range(3)] == ["ids", "segment_ids", "mask"]
    unit = entry(graph, 5, 0)
    assert unit.Get(flatbuffers.number_types.Uint8Flags, unit.Pos + fields(unit, 0)) == 4
    assert [one.split()[1] for one in tools.inspect(data).inputs] == 3 * ["int32[1,"]
    assert [*Interpreter(data).inputs] == ["ids"]
    assert tflite.read_metadata(data)["mediapipe"] == {"tokenizer": "bert", "words": LENGTH}


@pytest.mark.parametrize(
    ("rules", "length"),
    [
        pytest.param("mediapipe", None, marks=pytest.mark.slow),
        pytest.param("mediapipe_bert", LENGTH, marks=pytest.mark.slow),
        pytest.param("mediapipe", LENGTH, marks=pytest.mark.slow),
        ("mediapipe_bert", None),
    ],
)
def test_our_runtime_answers_as_keras_from_the_file_alone(rules, length):
    model, vocabulary = classifier(rules, length), words(rules)
    data = file_of(rules) if length is None else convert(rules, model)
    read = LENGTH - 2 * (rules == "mediapipe_bert" and length is not None)
    ids = np.pad(vocabulary.encode_all(TEXTS, read), ((0, 0), (0, LENGTH - read)))
    wanted = export.freeze(model, "int8").model(ids)
    found = runtime.TextClassifier(data).predict_many(TEXTS)
    np.testing.assert_allclose([one.probabilities for one in found], wanted, atol=1e-6)
    assert found[0].labels == ("yes", "no")
    assert found[3].notes == (f"text cut to its first {read} of 20 tokens",)


@pytest.mark.slow
def test_the_price_is_the_vocabulary_and_at_most_950_bytes():
    plain = export.convert(classifier("mediapipe"), vocabulary=words("mediapipe"),
                           labels=LABELS, sequence_length=LENGTH)  # fmt: skip
    data = file_of("mediapipe")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        stored = sum(one.file_size for one in archive.infolist())
    assert len(data) - len(plain) - stored < 950  # metadata, and the archive's own entries


def test_save_writes_one_file(tmp_path):
    vocabulary = words("mediapipe")
    path = export.save(file_of("mediapipe"), tmp_path / "app.tflite", vocabulary=vocabulary)
    assert [one.name for one in tmp_path.iterdir()] == ["app.tflite"]
    assert runtime.TextClassifier(path).vocabulary.words == tuple(WORDS[:4])


def test_verify_takes_such_files_and_damage_is_found():
    data = file_of("mediapipe_bert")
    ids = words("mediapipe_bert").encode_all(TEXTS, LENGTH + 2)
    assert export.verify(classifier("mediapipe_bert"), data, ids).agreement == 1
    changed = bytearray(data)
    changed[-30] ^= 1
    with pytest.raises(ValueError, match="truncated or damaged"):
        runtime.TextClassifier(bytes(changed))


def test_refuses_what_mediapipe_cannot_run():
    model = classifier("mediapipe")
    with pytest.raises(ValueError, match="`vocabulary` must be a text.Vocabulary with the rules"):
        export.convert(model, vocabulary=Vocabulary(WORDS[:4]), mediapipe=True)
    with pytest.raises(ValueError, match="`sequence_length` must be a number of words"):
        convert("mediapipe", sequence_length=None)
    with pytest.raises(ValueError, match="`batch_size` must be 1"):
        convert("mediapipe", batch_size=4)
    with pytest.raises(ValueError, match="without line breaks"):
        convert("mediapipe", labels=np.array(["a\nb", "c"]), sequence_length=None)  # told first
    with pytest.raises(ValueError, match="one model for a file"):
        export.convert({"a": model}, vocabulary=words("mediapipe"), mediapipe=True)
    with pytest.raises(ValueError, match="`text` must be None"):
        convert("mediapipe", text=words("mediapipe"))
    with pytest.raises(ValueError, match="at most 100 bytes"):
        long = Vocabulary(["a" * 101, "b", "c"], "mediapipe_bert")
        export.convert(model, vocabulary=long, mediapipe=True)
    with pytest.raises(ValueError, match="that a file can apply to the bytes"):
        export.convert(model, text=words("mediapipe"))


def test_bert_is_refused_for_models_that_read_places():
    ids = keras.Input((LENGTH,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(7, 4)(ids)
    model = keras.Model(ids, keras.layers.Dense(2)(keras.layers.Flatten()(vectors)))
    with pytest.raises(ValueError, match="skip padding before the first word"):
        convert("mediapipe_bert", model)
