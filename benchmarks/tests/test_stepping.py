"""A step of a language model as a file: what it says along a text, and what it takes."""

import keras
import numpy as np
import pytest

from benchmarks.lib import stepping
from kerascompact import export, layers, models

V = 15
IDS = np.random.default_rng(0).integers(0, V, 23).astype(np.int32)


def model(seed=0):
    keras.utils.set_random_seed(seed)
    embedding = layers.PredefinedSparseEmbedding(V, 6, 0.5, bins=3, name="embedding")
    return models.language_model(embedding, V, 8, num_layers=1, scale=1.0, batch_size=1)


def numbers(made):
    """Of the model, and 3 for each of the embedding's bins."""
    return made.count_params() + 3 * 3


def test_reads_a_text_with_the_states_of_the_steps_before(monkeypatch):
    monkeypatch.setattr(stepping, "CHUNK", 10)  # Keras' states go on as well
    made = model()
    made(IDS[None])  # states that must be forgotten
    row = stepping.measure(made, IDS)
    assert row["step_recipe"] == "float32" and row["step_tokens"] == 23
    assert row["step_difference"] < 1e-5  # float32 sums of 8 in another order
    assert row["step_ties"] == 0 and row["step_microseconds"] > 0
    assert row["step_theory"] == 4 * numbers(made)
    assert row["step_theory"] < row["step_bytes"] < row["step_theory"] + 16_384  # and the graph


def test_theory_counts_tables_as_the_recipe_stores_them():
    made = model()
    frozen = export.freeze(export.with_states(made), "int8_tables").model
    entries = made.get_layer("embedding").num_entries
    # a byte for an entry, and a scale for each of 6 columns
    assert stepping.theory(frozen) == 4 * (numbers(made) - entries) + entries + 4 * 6


def test_a_file_of_another_model_is_noticed(monkeypatch):
    other = export.with_states(model(seed=1))
    monkeypatch.setattr(stepping.export, "with_states", lambda made: other)
    with pytest.raises(ValueError, match=r"The file disagrees with Keras on \d+ of 23 next words"):
        stepping.measure(model(), IDS)
