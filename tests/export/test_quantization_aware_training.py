"""Fine-tuning with rounded tables: what training measures is what the file computes."""

import keras
import numpy as np
import pytest

from export_models import answers
from kerascompact import export, layers, models
from kerascompact.forms.trainable_form import TrainableForm

RANDOM = np.random.default_rng(0)
IDS = RANDOM.integers(1, 40, (64, 6)).astype(np.int32)
LABELS = (IDS.sum(axis=1) % 3).astype(np.int32)


def trained(embedding):
    keras.utils.set_random_seed(0)
    model = models.mean_classifier(embedding, 3)
    model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy")
    model.fit(IDS, LABELS, epochs=5, verbose=0)
    return model


EMBEDDINGS = {
    "plain": lambda: keras.layers.Embedding(40, 6, mask_zero=True, name="words"),
    "mixture": lambda: layers.MixtureEmbedding(40, 6, 5, 8, mask_zero=True, seed=0),
}


def plain_and_aware(name):
    model = models.mean_classifier(EMBEDDINGS[name](), 3)
    model.layers[-1].bias.assign([0.1, 0.2, 0.3])  # the converter leaves one of zeros out
    return model, export.quantization_aware(model, "int4_tables")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["plain", "mixture"])  # every form is trained on its own
def test_what_training_measured_is_what_the_file_computes(name):
    model, aware = plain_and_aware(name)
    before = answers(aware, IDS)
    np.testing.assert_allclose(
        before, answers(export.freeze(model, "int4_tables").model, IDS), atol=1e-6
    )
    loss = "sparse_categorical_crossentropy"
    aware.compile(keras.optimizers.Adam(0.05), loss, run_eagerly=True)
    for half in (slice(32), slice(32, 64)):
        aware.train_on_batch(IDS[half], LABELS[half])
    expected = answers(aware, IDS)
    assert np.abs(expected - before).max() > 1e-3
    file = export.convert(aware, "int4_tables", sequence_length=6)
    report = export.verify(aware, file, IDS, LABELS)
    assert report.agreement == 1
    np.testing.assert_allclose(report.outputs, expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "mixture"])
def test_training_changes_no_size(name):
    model, aware = plain_and_aware(name)
    aware.compile("adam", "sparse_categorical_crossentropy", run_eagerly=True)
    aware.fit(IDS, LABELS, verbose=0)
    trained, plain = (
        len(export.convert(one, "int4_tables", sequence_length=6)) for one in (aware, model)
    )
    assert trained == plain


@pytest.mark.slow
def test_it_wins_back_what_rounding_took():
    model = trained(EMBEDDINGS["plain"]())
    loss = keras.losses.SparseCategoricalCrossentropy()
    rounded = float(loss(LABELS, answers(export.freeze(model, "int4_tables").model, IDS)))
    aware = export.quantization_aware(model)
    aware.compile(keras.optimizers.Adam(0.005), "sparse_categorical_crossentropy")
    aware.fit(IDS, LABELS, epochs=20, verbose=0)
    assert float(loss(LABELS, answers(export.freeze(aware, "float32").model, IDS))) < rounded
    assert isinstance(aware.get_layer("words"), TrainableForm)
    assert isinstance(model.get_layer("words"), keras.layers.Embedding)  # as it was


def test_a_model_without_integers_is_refused():
    model = models.mean_classifier(EMBEDDINGS["plain"](), 3)
    with pytest.raises(ValueError, match="tables the recipe stores as integers"):
        export.quantization_aware(model, "float32")


def test_it_is_saved_as_any_model(tmp_path):
    aware = export.quantization_aware(models.mean_classifier(EMBEDDINGS["mixture"](), 3))
    aware.save(tmp_path / "aware.keras")
    again = keras.saving.load_model(tmp_path / "aware.keras")
    np.testing.assert_array_equal(answers(again, IDS), answers(aware, IDS))


def test_an_embedding_in_time_distributed_is_trained_with_its_rounded_table():
    inside, beside = (keras.layers.Embedding(40, 6, name=name) for name in ("inside", "beside"))
    ids = keras.Input((2, 3), dtype="int32")
    model = keras.Model(ids, [keras.layers.TimeDistributed(inside)(ids), beside(ids)])
    aware = export.quantization_aware(model)
    assert [weight.shape for weight in aware.trainable_weights] == [(40, 6)] * 2
    assert isinstance(aware.layers[1].layer, TrainableForm)
    aware.layers[1].layer.trainable_weights[0].assign_add(np.full((40, 6), 0.02))
    values = IDS.reshape(-1, 2, 3)
    np.testing.assert_allclose(
        aware(values)[0], export.freeze(aware, "int4_tables").model(values)[0], rtol=0, atol=1e-7
    )


def test_an_embedding_out_of_reach_is_refused():
    class Holder(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.embedding = keras.layers.Embedding(40, 6)
            self.embedding.build()
            self.look_up = lambda ids: self.embedding(ids)

        def call(self, ids):
            return self.look_up(ids)

    ids = keras.Input((6,), dtype="int32")
    beside = keras.layers.Embedding(40, 6)(ids)
    model = keras.Model(ids, keras.layers.Add()([Holder(name="holder")(ids), beside]))
    with pytest.raises(ValueError, match="must have its embeddings in layers that can be copied"):
        export.quantization_aware(model)


def test_frozen_tables_stay_and_tables_by_rows_are_refused():
    ids = keras.Input((4,), dtype="int32")
    fixed = keras.layers.Embedding(9, 4, trainable=False, name="fixed")
    both = [fixed(ids), keras.layers.Embedding(9, 4, name="own")(ids)]
    model = keras.Model(ids, keras.layers.Concatenate()(both))
    aware = export.quantization_aware(model, "int4")
    assert [weight.path for weight in aware.trainable_weights] == ["own/latent_table"]
    with pytest.raises(ValueError, match="stock_table='columns'.* Received: .*'dynamic_int4'"):
        export.quantization_aware(model, "dynamic_int4")
