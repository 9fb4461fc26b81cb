import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export
from kerascompact.layers import BitCache, ProjectionEmbedding
from kerascompact.models import lstm_classifier, projection_lstm, sgnn, with_bit_input
from kerascompact.text.bit_pipeline import bits_step, words_step

TEXTS = ["Turn it up!", "", "turn the lights off now please, thank you", "caf\u00e9"]


def embedding(**options):
    options = {**ProjectionEmbedding.EXAMPLE, **options}
    return ProjectionEmbedding(mask_zero=not options.get("together"), **options)


def test_a_text_is_the_same_as_bits_words_and_ids():
    projected = embedding()
    bits = bits_step(projected.projection, sequence_length=6)(tf.constant(TEXTS))
    words = words_step(sequence_length=6)(tf.constant(TEXTS))
    known = ["", *sorted({word for row in words.numpy().tolist() for word in row if word})]
    ids = np.array([[known.index(word or "") for word in row] for row in words.numpy().tolist()])
    cache = BitCache.from_words(known, projected.projection)
    keras.utils.set_random_seed(0)
    first = projection_lstm(projected, 3, units=5)
    reference = first(bits)
    for inputs, given in (("words", words), (cache, ids)):
        model = projection_lstm(projected, 3, units=5, inputs=inputs)
        model.set_weights([*cache.get_weights()] * (inputs is cache) + first.get_weights())
        np.testing.assert_allclose(model(given), reference, atol=1e-6)
    # any other model of ids takes the two as one embedding
    other = lstm_classifier(lambda some: projected(cache(some)), 3, units=5)
    other.set_weights([*cache.get_weights(), *first.get_weights()])
    np.testing.assert_allclose(other(ids), reference, atol=1e-6)
    reads_bits = with_bit_input(other)
    assert [layer for layer in reads_bits.layers if layer in other.layers][0] is projected
    np.testing.assert_allclose(reads_bits(bits), reference, atol=1e-6)
    # padding is skipped
    longer = np.pad(bits, ((0, 0), (0, 3), (0, 0)))
    np.testing.assert_allclose(first(longer), reference, atol=1e-6)


@pytest.mark.parametrize(
    ("whole", "epochs"),
    [
        (True, 0),
        pytest.param(True, 15, marks=pytest.mark.slow),
        pytest.param(False, 15, marks=pytest.mark.slow),
    ],
)
def test_trains_and_ships(whole, epochs, tmp_path):
    data = [f"{stem} number {n}" for stem in ("turn it up", "what is the time") for n in range(12)]
    labels = np.repeat([0, 1], 12)
    projected = embedding(together=whole, hidden_units=(12,))
    bits = bits_step(projected.projection, sequence_length=7, together=whole)(
        tf.constant(data)
    ).numpy()
    if whole:
        model = sgnn(projected, 2, dropout=0.1)
    else:
        model = projection_lstm(projected, 2, 6, dropout=0.1, sequence_length=7)
    if epochs:
        loss = "sparse_categorical_crossentropy"
        model.compile(keras.optimizers.Adam(0.02), loss, jit_compile=False)
        model.optimizer.build(model.trainable_variables)  # or the step is traced twice
        model.fit(bits, labels, batch_size=8, epochs=epochs, verbose=0)
        assert np.mean(np.argmax(model(bits), axis=-1) == labels) > 0.9
    frozen = export.freeze(model, "float32" if whole else "int8_tables")
    report = frozen.verify(bits, labels, tolerance=1e-5)
    assert report.agreement == 1.0 and (report.file_accuracy > 0.9 or not epochs)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(bits), model(bits))


def test_texts_as_words_equal_texts_as_bits():
    projected = embedding(together=True)
    by_bits, by_words = sgnn(projected, 2), sgnn(projected, 2, inputs="words")
    by_words.set_weights(by_bits.get_weights())
    bits = bits_step(projected.projection, together=True)(tf.constant(TEXTS))
    words = words_step()(tf.constant(TEXTS))
    np.testing.assert_array_equal(by_words(words), by_bits(bits))


def test_rejects():
    with pytest.raises(ValueError, match="`num_classes` must be an integer >= 2"):
        projection_lstm(embedding(), 1)
    with pytest.raises(ValueError, match="`embedding` must be a kerascompact.layers.Projection"):
        projection_lstm(keras.layers.Embedding(3, 2), 2)
    with pytest.raises(ValueError, match="`embedding` must be a projection of words"):
        projection_lstm(embedding(together=True), 2)
    with pytest.raises(ValueError, match="`embedding` must be a ProjectionEmbedding with together"):
        sgnn(embedding(), 2)
    with pytest.raises(ValueError, match="`inputs` must be one of 'bits', 'words'"):
        projection_lstm(embedding(), 2, inputs="ids")
    with pytest.raises(ValueError, match="`inputs` must be a BitCache of the embedding's own"):
        projection_lstm(embedding(), 2, inputs=BitCache.from_words(["a"]))
    with pytest.raises(
        ValueError, match="`inputs` must be 'bits' or 'words' for the bits of entire"
    ):
        sgnn(embedding(together=True), 2, inputs=BitCache(3, embedding().projection))
