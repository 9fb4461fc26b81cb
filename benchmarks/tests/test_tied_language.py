"""Which embedding, head and optimizer a spec names, and where its checkpoints are."""

from pathlib import Path

import keras
import numpy as np
import pytest

from benchmarks.anchors import tied_language
from benchmarks.anchors.tied_language import Spec
from benchmarks.data.ptb import Corpus
from kerascompact import layers
from kerascompact.models.language_model import ZarembaSize
from kerascompact.optimizers import LazySGD

V, d = 20, 8
IDS = np.random.default_rng(0).integers(0, V, 120).astype(np.int32)
CORPUS = Corpus("numbers", tuple(map(str, range(V))), IDS, IDS, IDS, "made up")
FULL = Spec("SE", {"kind": "standard"})
needs_reversible = pytest.mark.skipif(
    not hasattr(keras.layers, "ReversibleEmbedding"), reason="since Keras 3.13"
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    size = ZarembaSize(d, 0.0, 4, 0.3, 0.5, 2, 2, 0.5, batch_size=4)
    monkeypatch.setitem(tied_language.SIZES, "small", size)


def embedding(kind, **options):
    return tied_language.build_embedding(Spec(kind, {"kind": kind, **options}), CORPUS, None)


def test_checkpoints_lie_apart_unless_only_epochs_or_the_name_differ():
    folder = FULL.folder(Path("w"))
    assert FULL._replace(epochs=9, method="other").folder(Path("w")) == folder
    others = [
        FULL._replace(**change)
        for change in (
            {"options": {"kind": "standard", "ratio": 0.2}},
            {"train_tokens": None},
            {"size": "large"},
            {"hold": 9},
            {"decay": 0.9},
            {"seed": 1},
        )
    ]
    assert len({folder, *(spec.folder(Path("w")) for spec in others)}) == 7
    spec = Spec("k-SVD", {"kind": "k_svd", "num_anchors": 5}, seed=3)
    assert spec.teacher == FULL._replace(seed=3)


@needs_reversible
@pytest.mark.parametrize("kind", ["standard", "nearest", "k_svd"])
def test_what_is_compressed_afterwards_is_a_full_table(kind):
    made = embedding(kind)
    assert isinstance(made, keras.layers.ReversibleEmbedding) and made.name == "embedding"
    made.build((None, None))
    assert made.count_params() == V * d


@pytest.mark.parametrize("kind", ["low_rank", "tensor_train"])
def test_a_ratio_is_a_share_of_the_full_table(kind):
    made = embedding(kind, ratio=0.5)
    made.build(None)
    assert 0.2 * V * d < made.count_params() <= 0.5 * V * d


def test_anchors_are_as_long_as_makes_a_step_that_of_a_full_table():
    made = embedding("anchors", num_anchors=16, l1_weight=1e-3)
    assert isinstance(made, layers.AnchorTransformEmbedding)
    assert made.negative_pairs is None and made.positive_pairs is None
    assert made.embeddings_initializer.stddev == 2 * 16**-0.5
    assert embedding("anchors", num_anchors=4).embeddings_initializer.stddev == 2 * d**-0.5


def test_anchors_can_be_a_frozen_tight_frame_without_a_penalty_at_first():
    options = {"kind": "anchors", "num_anchors": 12, "nonnegative": False, "l1_weight": 10.0}
    options |= {"free_epochs": 1.5, "frozen_epochs": 1, "transform_rate": 0.01}
    spec = Spec("ANT", options)
    steps = tied_language.steps_of(spec, CORPUS)
    keras.utils.set_random_seed(0)
    made = tied_language.build_embedding(spec, CORPUS, None)
    model = tied_language.build(spec, made, 4)
    first = made.anchors[0].numpy()
    np.testing.assert_allclose(first.T @ first, 4 * np.eye(d), atol=1e-5)
    weights = [float(made.l1_weight(step)) for step in (0, int(1.5 * steps), 2 * steps)]
    np.testing.assert_allclose(weights, [0, 0, 10], rtol=1e-6)
    optimizer = tied_language.optimizer_of(spec, steps)
    tied_language.streams.compiled(model, optimizer, tied_language.SIZES["small"])
    data = tied_language.stateful_batches(CORPUS.train, 4, 4)
    before = made.transform.numpy()
    model.fit(data, epochs=1, verbose=0)
    np.testing.assert_array_equal(made.anchors[0], first)
    moved = np.abs(made.transform.numpy() - before)
    assert moved.max() > 0.02 and made.sparse_transform().nnz == V * 12
    model.fit(data, epochs=1, verbose=0)
    assert np.abs(made.anchors[0].numpy() - first).max() > 1e-3
    assert made.sparse_transform().nnz < V * 12


@needs_reversible
def test_a_rate_of_the_table_is_the_tables_alone(monkeypatch):
    free = tied_language.SIZES["small"]._replace(clip=1e9)  # a clipped step does not show its rate
    monkeypatch.setitem(tied_language.SIZES, "small", free)
    moves = []
    for options in ({}, {"table_rate": 4.0}):
        spec = Spec("SE", {"kind": "standard", **options})
        keras.utils.set_random_seed(0)
        model = tied_language.build(spec, tied_language.build_embedding(spec, CORPUS, None), 4)
        tied_language.streams.compiled(model, tied_language.optimizer_of(spec, 9), free)
        before = model.get_weights()
        model.train_on_batch(*next(iter(tied_language.stateful_batches(CORPUS.train, 4, 4))))
        moves.append([after - old for after, old in zip(model.get_weights(), before, strict=True)])
    table, *network = zip(*moves, strict=True)
    np.testing.assert_allclose(table[1], 4 * table[0], rtol=1e-3, atol=1e-6)
    for one, other in network:
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-7)


def test_refuses_other_kinds():
    with pytest.raises(ValueError, match="`kind` must be one of 'standard', 'nearest', 'k_svd'"):
        embedding("codes")


def test_the_softmax_is_under_the_vectors_of_the_embedding():
    keras.utils.set_random_seed(0)
    spec = Spec("low rank", {"kind": "low_rank", "ratio": 0.5})
    made = tied_language.build_embedding(spec, CORPUS, None)
    model = tied_language.build(spec, made, 4)
    assert model.input_shape == (4, 4) and model.output_shape == (4, 4, V)
    free = tied_language.build(spec, made, None)
    ids = IDS[None, :5]
    hidden = keras.Model(free.input, free.get_layer("lstm_1").output)(ids)
    table = made(np.arange(V))
    np.testing.assert_allclose(free(ids), np.asarray(hidden) @ np.asarray(table).T, atol=1e-5)
    # table, two LSTMs of d over d, a bias for each word: no second table
    assert free.count_params() == made.count_params() + 2 * 4 * d * (2 * d + 1) + V


def test_optimizers_are_those_of_the_papers():
    full = tied_language.optimizer_of(FULL, 10)
    assert isinstance(full, LazySGD) and full.global_clipnorm == 0.5
    anchors = tied_language.optimizer_of(Spec("ANT", {"kind": "anchors"}), 10)
    assert type(anchors).__name__ == "ProximalSGD"
    both = tied_language.optimizer_of(Spec("VD", {"kind": "sparse_vd"}), 10)
    assert isinstance(both, keras.optimizers.MultiOptimizer)
