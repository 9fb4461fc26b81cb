"""Files of BERT's kind that take text: what they predict, hold and refuse."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tokenizer import tokenizer
from hostile_texts import HOSTILE
from kerascompact import export, tflite
from kerascompact.export.file_order import _examples, in_file_order
from kerascompact.layers import ClusterEmbedding
from kerascompact.runtime import TextClassifier
from kerascompact.text import WordPiece

PIECES = WordPiece(tokenizer())
V, LENGTH = len(PIECES), 12
TEXTS = [*(text for text in HOSTILE if len(text) < 2500), "unaffable turns it!", b"turn \xc3"]


@keras.saving.register_keras_serializable("tests")
class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.table, self.head = keras.layers.Embedding(V, 4), keras.layers.Dense(3)

    def call(self, ids):
        return keras.ops.softmax(self.head(keras.ops.mean(self.table(ids), axis=1)))


def classifier(embedding=None, length=LENGTH):
    keras.utils.set_random_seed(0)
    ids = keras.Input((length,), dtype="int32", name="ids")
    table = embedding or keras.layers.Embedding(V, 4, "normal", mask_zero=True)
    mean = keras.layers.GlobalAveragePooling1D()(table(ids))
    return keras.Model(ids, keras.layers.Dense(3, "softmax", kernel_initializer="normal")(mean))


def three_inputs():
    """Ids, a mask of another type, and segments, as models of keras-hub have them."""
    keras.utils.set_random_seed(0)
    names = {"token_ids": "int32", "padding_mask": "bool", "segment_ids": "int32"}
    ids = {name: keras.Input((LENGTH,), dtype=kind, name=name) for name, kind in names.items()}
    vectors = keras.layers.Embedding(V, 4, "normal")(ids["token_ids"])
    vectors += keras.layers.Embedding(2, 4, "normal")(ids["segment_ids"])
    mask = keras.ops.cast(ids["padding_mask"], "float32")[..., None]
    mean = keras.ops.sum(vectors * mask, axis=1) / keras.ops.sum(mask, axis=1)
    return keras.Model(ids, keras.layers.Dense(3, "softmax", kernel_initializer="normal")(mean))


MODELS = {
    "plain": (classifier, {}),
    "open length": (lambda: classifier(length=None), {}),
    "open length, at most 5": (lambda: classifier(length=None), {"max_words": 5}),
    "bytes cut": (classifier, {"max_bytes": 16}),
    "clusters": (lambda: classifier(ClusterEmbedding(V, 4, 5)), {}),
    "three inputs": (three_inputs, {}),
}
STORED = {"clusters"}  # a compact table is not renumbered


@pytest.fixture(scope="module")
def fixed():
    """A model of a fixed length and its file."""
    model = classifier()
    return model, export.convert(model, "float32", text=PIECES, labels=["a", "b", "c"])


def text_bytes(ids):
    """Bytes of the pieces in a file, with as many of ids."""
    characters = sum(array.nbytes for array in PIECES.characters[:5])
    count = len(PIECES.pieces.ids)
    return characters + 4 * count + 2 * -(-count // 5) + ids


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["float32", "int8", "int4"])
@pytest.mark.parametrize("kind", MODELS)
def test_file_predicts_what_keras_does_on_the_ids(kind, recipe):
    make, options = MODELS[kind]
    model = make()
    frozen = export.freeze(model, recipe)
    data = frozen.convert(text=tokenizer(), labels=["a", "b", "c"], **options)
    report = export.verify(model, data, TEXTS, vocabulary=PIECES)
    assert report.agreement == 1 and report.largest_difference < 0.1
    assert frozen.verify(TEXTS[-2:], vocabulary=tokenizer()).agreement == 1
    facts = tflite.read_metadata(data)
    longer = TextClassifier(data).interpreter
    assert longer.text["rules"] == "wordpiece" and facts["vocabulary"]["sha256"] == PIECES.sha256
    ids = 2 * len(PIECES.pieces.ids) if kind in STORED else 0
    assert facts["text"]["bytes"] == text_bytes(ids)


def test_one_text_by_hand(fixed):
    model, data = fixed
    file = TextClassifier(data)
    ids = [[2, *(PIECES.tokens.index(one) for one in ("un", "##aff", "##able", "!")), 3]]
    wanted = model(np.pad(ids, ((0, 0), (0, LENGTH - 6))))[0]
    found = file.predict("Un\u00e4ffable!")
    np.testing.assert_allclose(found.probabilities, wanted, atol=1e-6)
    assert found.tokens == 2 and not found.notes
    assert "cut to its first 12" in file.predict("a b " * 9).notes[0]
    assert file.interpreter.text["rules"] == "wordpiece"
    facts = tflite.read_metadata(data)
    assert facts["vocabulary"]["sha256"] == PIECES.sha256
    assert facts["text"]["bytes"] == text_bytes(0)


def test_texts_that_no_rule_foresees(fixed):
    texts = [text for text in TEXTS if len(text) < 100]
    assert export.verify(*fixed, texts, vocabulary=PIECES).agreement == 1


@pytest.mark.slow  # the fixed length is short
def test_clusters_of_an_open_length_and_of_at_most_five_tokens():
    """The table is rounded and not renumbered: ids are in the file."""
    model = classifier(ClusterEmbedding(V, 4, 5), length=None)
    data = export.convert(model, "int8", text=PIECES, max_words=5)
    texts = ["unaffable turns it!", "turn"]  # one is cut
    assert export.verify(model, data, texts, vocabulary=tokenizer()).agreement == 1
    stored = tflite.read_metadata(data)["text"]["bytes"]
    assert stored == text_bytes(2 * len(PIECES.pieces.ids))


def not_renumbered():
    """Models whose outputs would change with the order of the ids."""
    keras.utils.set_random_seed(0)
    ids = keras.Input((LENGTH,), dtype="int32")
    table = keras.layers.Embedding(V, 4, "normal")
    first = keras.ops.cast(ids[:, 1:2], "float32")  # a number that is an id
    scored = keras.layers.Dense(3, "softmax")(keras.ops.mean(table(ids), axis=1) + first)
    words = keras.layers.Dense(V)(keras.ops.mean(table(ids), axis=1))
    subclassed = Subclassed()
    subclassed(np.zeros((1, LENGTH), np.int32))
    return keras.Model(ids, scored), keras.Model(ids, words), subclassed


def test_models_that_are_not_renumbered(fixed):
    specs = {"ids": tf.TensorSpec((1, LENGTH), tf.int32)}
    assert in_file_order(fixed[0], PIECES, specs) is not None
    for model in (*not_renumbered(), classifier(ClusterEmbedding(V, 4, 5))):
        assert in_file_order(model, PIECES, specs) is None


@pytest.mark.slow
def test_ids_are_stored_for_models_that_are_not_renumbered():
    for model in not_renumbered():
        subclassed = isinstance(model, Subclassed)
        inputs = {"ids": np.zeros((1, LENGTH), np.int32)} if subclassed else None
        data = export.convert(model, "float32", text=PIECES, inputs=inputs)
        stored = tflite.read_metadata(data)["text"]["bytes"]
        assert stored == text_bytes(2 * len(PIECES.pieces.ids))
        if not subclassed:
            assert export.verify(model, data, TEXTS, vocabulary=PIECES).agreement == 1


def test_every_token_is_tried_where_one_may_be_apart():
    plain = classifier(keras.layers.Embedding(V, 4))
    assert len([*_examples(plain, PIECES, LENGTH)]) == 1
    ids = keras.Input((LENGTH,), dtype="int32")
    apart = keras.ops.cast(keras.ops.equal(ids, 5), "float32")[..., None]
    model = keras.Model(ids, keras.layers.Embedding(V, 4)(ids) * apart)
    tried = np.concatenate(list(_examples(model, PIECES, LENGTH))[1:])
    assert tried.shape[1] == LENGTH and {*range(V)} == {*tried.flatten().tolist()}


def test_refuses(fixed):
    model, data = fixed
    with pytest.raises(ValueError, match="`vocabulary` must be a kerascompact.text.Vocabulary; bu"):
        export.convert(model, vocabulary=PIECES)
    other = WordPiece(tokenizer(ends=False))
    with pytest.raises(ValueError, match="`vocabulary` must be that of the model"):
        export.verify(model, data, TEXTS, vocabulary=other)
    with pytest.raises(ValueError, match="must have as many ids as the embedding"):
        export.convert(classifier(keras.layers.Embedding(V + 1, 4)), text=PIECES)
    two = [keras.Input((4,), dtype="int32", name=name) for name in ("one", "two")]
    both = keras.layers.Add()([keras.layers.Embedding(V, 2)(one) for one in two])
    with pytest.raises(ValueError, match="one input of ids, and at most a mask and segments"):
        export.convert(keras.Model(two, both), text=PIECES)
    wide = keras.Input((4, 4), dtype="int32", name="ids")
    with pytest.raises(ValueError, match="one with inputs of ids .batch, length., to take text"):
        export.convert(keras.Model(wide, keras.layers.Embedding(V, 2)(wide)), text=PIECES)
    with pytest.raises(ValueError, match="`batch_size` must be 1"):
        export.convert(model, text=PIECES, batch_size=2)


@pytest.mark.slow
def test_model_and_tokenizer_of_keras_hub():
    hub = pytest.importorskip("keras_hub", reason="pip install 'kerascompact[hub]'").models
    words = hub.BertTokenizer(vocabulary=[*PIECES.tokens], lowercase=True)
    keras.utils.set_random_seed(0)
    backbone = hub.BertBackbone(
        V, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=8, max_sequence_length=LENGTH
    )
    pre = hub.BertTextClassifierPreprocessor(words, sequence_length=LENGTH)
    model = hub.BertTextClassifier(backbone, 3, preprocessor=pre, activation="softmax")
    frozen = export.freeze(model, "int8")
    file = TextClassifier(frozen.convert(text=words, sequence_length=LENGTH))
    assert frozen.verify(TEXTS, vocabulary=words).agreement == 1
    for text in ("unaffable turns it!", "\u00dcn TURN [SEP]"):
        wanted = model.predict([text], verbose=0)[0]
        np.testing.assert_allclose(file.predict(text).probabilities, wanted, atol=5e-3)
