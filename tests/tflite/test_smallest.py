"""Files that leave out what a runtime fills in: fewer bytes, the same answers."""

import keras
import numpy as np
import pytest

from kerascompact import export, models
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import SlotVocabulary
from kerascompact.tflite import flatbuffer, smallest
from kerascompact.tflite.layout import schema

WORDS = SlotVocabulary.from_ranked([f"word{number}" for number in range(300)], 302)
LABELS = [f"{verb}_{noun}_{n}" for verb in ("set", "tell") for noun in ("alarm", "bill", "trip")
          for n in range(25)]  # fmt: skip


def model():
    keras.utils.set_random_seed(0)
    embedding = keras.layers.Embedding(len(WORDS), 12, "normal", mask_zero=True)
    return models.mean_classifier(embedding, len(LABELS), skip_unknown=True)


@pytest.fixture(scope="module")
def data():
    options = {"labels": LABELS, "text": WORDS, "sequence_length": 20, "names": False}
    return export.convert(model(), "int4", **options)


def test_operators_and_labels_of_a_mean_take_7_kb(data):
    """The table is 302 x 6 bytes, the kernel 150 x 12, its biases 600, the tags 300."""
    assert len(data) - (302 * 6 + 150 * 12 + 600 + 300) < 7000
    assert len(flatbuffer.operator_names(flatbuffer.parse(data))) <= 45


def test_options_of_zeros_are_left_out_and_change_no_answer(data):
    parsed = flatbuffer.parse(data)
    kinds = {type(one.builtinOptions).__name__ for one in parsed.subgraphs[0].operators}
    assert kinds == {"NoneType", "CumsumOptionsT", "ReducerOptionsT", "SoftmaxOptionsT"}
    for operator in parsed.subgraphs[0].operators:  # as other exporters write them
        code = parsed.operatorCodes[operator.opcodeIndex].deprecatedBuiltinCode
        if code == schema.BuiltinOperator.MUL:
            operator.builtinOptionsType = schema.BuiltinOptions.MulOptions
            operator.builtinOptions = schema.MulOptionsT()
    whole = flatbuffer.pack(parsed)
    assert len(whole) > len(data)
    for text in ("word1 word2", "word250 word3 word3", "", "what"):
        found, wanted = (Interpreter(one).run_text(text)["probabilities"] for one in (data, whole))
        np.testing.assert_array_equal(found, wanted)
    parsed = flatbuffer.parse(whole)
    smallest.leave_out(parsed)
    assert len(flatbuffer.pack(parsed)) < len(whole)
