"""The registry of methods: every layer is in it once, and builds from its name and options."""

import keras
import numpy as np
import pytest

from kerascompact import layers
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.optimizers.pending import pending_of
from kerascompact.tasks.methods import METHODS, build_embedding, optimizer_of
from kerascompact.tasks.options import OPTIONS
from kerascompact.text.vocabulary import Vocabulary

WORDS = Vocabulary([f"word{i}" for i in range(58)])
LAYERS = [method.name for method in METHODS.values() if method.name != "projection"]


def small(name):
    """A layer of 60 words, its options at their defaults for so few."""
    method = METHODS[name]
    options = {option: OPTIONS[option].value(60, 500) for option in method.options}
    return build_embedding(name, 60, 16, **method.fixed, **options)


def test_every_embedding_layer_has_one_method():
    named = [name for name in layers.__all__ if name.endswith("Embedding")]
    assert sorted(method.layer for method in METHODS.values()) == sorted(named)
    assert list(METHODS) == [method.name for method in METHODS.values()]
    shown = [method.abbreviation for method in METHODS.values()]
    assert len(set(shown)) == len(shown) and "SparseVD" in shown and "SVD" not in shown
    assert {option for method in METHODS.values() for option in method.options} == set(OPTIONS)


@pytest.mark.parametrize("name", LAYERS)
def test_each_method_builds_its_layer(name):
    layer, method = small(name), METHODS[name]
    assert type(layer) is method.made and method.made.__name__ == method.layer
    assert layer.mask_zero and layer.name == "embedding"
    assert layer(np.array([[3, 59]])).shape == (1, 2, 16 + (name == "adjustment"))
    assert issubclass(method.made, CompactEmbedding) == (name != "standard")
    penalized = any(pending_of(weight) for weight in layer.trainable_weights)
    assert method.proximal == penalized
    assert type(optimizer_of(name)(0.01)).__name__.startswith("Proximal") == penalized


def test_a_projection_reads_the_bits_of_a_vocabulary():
    made = build_embedding("projection", 60, 8, vocabulary=WORDS, hidden=5)
    assert made(np.array([[3, 59]])).shape == (1, 2, 8)


def test_options_reach_the_layer():
    sizes = (1000, 8)
    assert build_embedding("low_rank", *sizes, ratio=0.5).rank == 3  # floor(0.5 * 8000 / 1008)
    assert build_embedding("quantized", *sizes, bits=4).bits == 4
    assert build_embedding("dpq", *sizes, cardinality=4, code_length=2).cardinality == 4
    mixture = build_embedding("mixture", *sizes, clusters=9, unique=20)
    config = mixture.get_config()
    assert (config["num_clusters"], config["num_unique"], config["num_reserved"]) == (9, 20, 2)
    assert build_embedding("cluster", *sizes, clusters=9).num_clusters == 9
    assert build_embedding("cluster", *sizes, temperature=0.5).temperature == 0.5
    assert build_embedding("adjustment", *sizes, adjustment=3).output_dim == 11
    assert build_embedding("anchors", *sizes, anchors=7).num_anchors == 7
    assert build_embedding("sparse_anchors", *sizes, anchors=7, entries=3).slots == [3]
    hashed = build_embedding("hashed", *sizes, buckets=50, unique=20)
    assert (hashed.num_buckets, hashed.num_frequent, hashed.num_reserved) == (50, 20, 2)
    assert build_embedding("selected", *sizes, unique=20).selected == 20


def test_kd_codes_start_at_the_common_code_if_a_margin_is_given():
    sizes = {"cardinality": 4, "code_length": 2}
    for options, common in ({}, False), ({"margin": 1.0}, True):
        layer = build_embedding("kd", 1000, 8, **sizes, **options)
        layer.build()
        assert layer.codes().any() != common


def test_the_standard_embedding_starts_as_the_compact_ones_do():
    layer = build_embedding("standard", 1000, 8)
    layer.build()
    table = layer.get_weights()[0]
    assert 0.09 < np.abs(table).max() <= 0.1 and abs(table.mean()) < 0.01
    assert isinstance(layer, keras.layers.Embedding)


def test_defaults_fit_the_data():
    found = {name: option.value(60, 500) for name, option in OPTIONS.items()}
    assert [found[name] for name in ("clusters", "unique", "buckets", "anchors")] == [6, 20, 6, 6]
    assert found["kl_weight"] == 1 / 500
    assert OPTIONS["clusters"].value(100_000, 1) == 100 and OPTIONS["clusters"].value(4, 1) == 2


def test_refuses_another_method():
    with pytest.raises(ValueError, match="`method` must be one of 'standard', 'cluster'"):
        build_embedding("hashing", 1000, 8)
