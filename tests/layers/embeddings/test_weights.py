"""`weights=`: each method starts at the best approximation of a trained table it can store."""

import json
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import nnls

from kerascompact import compress, layers
from kerascompact.ops.hashing import hash_ids

V, WIDTH = 20, 8
TABLE = np.random.default_rng(5).normal(size=(V, WIDTH)).astype(np.float32)
EVERY = np.arange(V)


def vectors(layer):
    return np.asarray(layer(EVERY, training=False))


def of(compressor, table=TABLE):
    return np.asarray(compressor.fit(table)(np.arange(len(table))))


def clusters(table, count, seed=0):
    return of(compress.KMeansClusters(count, seed), table)


def product(length, cardinality):
    return of(compress.ProductQuantization(length, cardinality))


def codes(table, seed=0):
    return of(compress.KDCodes(4, 3, seed=seed), table.astype(np.float32))


def basis(rank):
    """The first right singular vectors; their signs change no codes but the rounding."""
    return compress.TruncatedSVD(rank).fit(TABLE).kernel.numpy().T


FIXED = np.random.default_rng(6).integers(0, 4, (V, 3))
ONE_HOT = np.eye(4)[FIXED].reshape(V, 12)


def nearest_anchors():
    """The ten of twelve anchors that are nearest to a word, with the best weights >= 0."""
    anchors = compress.NearestAnchors(12).fit(TABLE).anchors.numpy()
    expected = np.zeros_like(TABLE)
    for row, vector in zip(TABLE, expected, strict=True):
        near = anchors[np.argsort(np.linalg.norm(anchors - row, axis=1))[:10]]
        vector[:] = nnls(near.T.astype(np.float64), row)[0] @ near
    return expected


def hashed():
    """Ids 1 to 5 have their own vectors; the others the best sums of two of seven buckets."""
    rest, expected = np.r_[0, 6:V], TABLE.copy()
    places = [hash_ids(tf.range(len(rest)), seed, 7).numpy() for seed in (3, 4)]
    matrix = np.eye(7)[places[0]] + np.eye(7)[places[1]]
    found = np.linalg.lstsq(matrix, TABLE[rest].astype(np.float64), rcond=None)[0]
    expected[rest] = matrix @ found
    return expected


def mixture():
    """Ids 2 to 7 have their own vectors, the others clusters."""
    expected, rest = TABLE.copy(), np.r_[0:2, 8:V]
    expected[rest] = clusters(TABLE[rest], 5)
    return expected


def selected():
    expected = TABLE.copy()
    expected[[1, *range(4, V)]] = TABLE[[1, *range(4, V)]].mean(axis=0)
    return expected


def ragged(order=EVERY):
    """Widths 8, 6, 4, 2 for the first, second, ... of the words in an order."""
    layer = layers.PredefinedSparseEmbedding(V, WIDTH, 0.5, bins=4)
    widths = np.repeat(layer.ragged.widths, layer.ragged.sizes)
    expected = TABLE.copy()
    for id, width in zip(order, widths, strict=True):
        expected[id, width:] = 0
    return expected


def tensor_train():
    """The first core: left singular vectors of (v_0 d_0) x (v_1 d_1 v_2 d_2); and so on."""
    whole = np.pad(TABLE, [(0, 27 - V), (0, 0)]).reshape(3, 3, 3, 2, 2, 2)
    tensor = whole.transpose(0, 3, 1, 4, 2, 5).astype(np.float64)
    first = np.linalg.svd(tensor.reshape(6, 36))[0][:, :3]
    tensor = (first @ (first.T @ tensor.reshape(6, 36))).reshape(6, 6, 6)
    inner = (first.T @ tensor.reshape(6, 36)).reshape(18, 6)
    second = np.linalg.svd(inner)[0][:, :3]
    inner = (second @ (second.T @ inner)).reshape(3, 36)
    found = (first @ inner).reshape(3, 2, 3, 2, 3, 2).transpose(0, 2, 4, 1, 3, 5)
    return found.reshape(27, WIDTH)[:V]


CASES = {
    "low rank": (layers.LowRankEmbedding, dict(rank=3), lambda: of(compress.TruncatedSVD(3))),
    "clusters": (layers.ClusterEmbedding, dict(num_clusters=5), lambda: clusters(TABLE, 5)),
    "clusters, seed": (
        layers.ClusterEmbedding,
        dict(num_clusters=5, seed=3, logit_scale=7.0, straight_through=False),
        lambda: clusters(TABLE, 5, seed=3),
    ),
    "adjustment": (
        layers.ClusterAdjustmentEmbedding,
        dict(num_clusters=5, adjustment_dim=2),
        lambda: np.hstack([clusters(TABLE[:, :6], 5), TABLE[:, 6:]]),
    ),
    "mixture": (
        layers.MixtureEmbedding,
        dict(num_clusters=5, num_unique=6, num_reserved=2),
        mixture,
    ),
    "selected": (layers.SelectedEmbedding, dict(selected=[0, 3, 2]), selected),
    "selected, zeros": (
        layers.SelectedEmbedding,
        dict(selected=6, others="zeros"),
        lambda: TABLE * (EVERY < 6)[:, None],
    ),
    "group lasso": (layers.GroupLassoEmbedding, dict(group_lasso_weight=0.1), lambda: TABLE),
    "vvd": (layers.VariationalVocabularyEmbedding, dict(kl_weight=0.1), lambda: TABLE),
    # log sigma^2 = -10 is signal where log(sigma^2 / T^2) < 3
    "sparse vd": (
        layers.SparseVariationalEmbedding,
        dict(kl_weight=0.1),
        lambda: TABLE * (np.abs(TABLE) > np.exp(-6.5)),
    ),
    "sparse vd voc": (
        layers.SparseVariationalVocabularyEmbedding,
        dict(kl_weight=0.1),
        lambda: TABLE * (np.abs(TABLE) > np.exp(-6.5)),
    ),
    "quantized": (
        layers.QuantizedEmbedding,
        dict(bits=3),
        lambda: of(compress.ScalarQuantization(3, scale="row")),
    ),
    "quantized, table": (
        layers.QuantizedEmbedding,
        dict(bits=8, scale="table"),
        lambda: of(compress.ScalarQuantization(8, scale="table")),
    ),
    "ragged": (layers.PredefinedSparseEmbedding, dict(density=0.5, bins=4), ragged),
    "ragged, order": (
        layers.PredefinedSparseEmbedding,
        dict(density=0.5, bins=4, order=None, seed=7),
        lambda: ragged(np.argsort(np.random.default_rng(7).permutation(V))),
    ),
    "kd": (layers.KDCodeEmbedding, dict(cardinality=4, code_length=3), lambda: codes(TABLE)),
    "kd, mean, normalized": (
        layers.KDCodeEmbedding,
        dict(
            cardinality=4,
            code_length=3,
            composition="mean",
            batch_norm=True,
            logits_batch_norm=True,
            seed=2,
            temperature=3.0,
        ),
        lambda: codes(TABLE, seed=2),
    ),
    "kd, hidden": (
        layers.KDCodeEmbedding,
        dict(cardinality=4, code_length=3, hidden_dim=4, batch_norm=True),
        lambda: codes(TABLE @ basis(4)) @ basis(4).T,
    ),
    "kd, wide": (
        layers.KDCodeEmbedding,
        dict(cardinality=4, code_length=3, hidden_dim=9),
        lambda: codes(TABLE @ basis(8)) @ basis(8).T,
    ),
    "kd, fixed": (
        layers.KDCodeEmbedding,
        dict(cardinality=4, code_length=3, codes=FIXED),
        lambda: ONE_HOT @ np.linalg.lstsq(ONE_HOT, TABLE.astype(np.float64), rcond=None)[0],
    ),
    "dpq": (layers.DPQEmbedding, dict(cardinality=4, code_length=2), lambda: product(2, 4)),
    "dpq, pieces of 2": (
        layers.DPQEmbedding,
        dict(cardinality=16, code_length=4, batch_norm=False),
        lambda: product(4, 16),
    ),
    "dpq, pieces of 1": (
        layers.DPQEmbedding,
        dict(cardinality=5, code_length=8),  # a dot product has two choices on a line
        lambda: product(8, 2),
    ),
    "dpq, vq": (
        layers.DPQEmbedding,
        dict(cardinality=7, code_length=8, method="vq", batch_norm=True),
        lambda: product(8, 7),
    ),
    "dpq, shared": (
        layers.DPQEmbedding,
        dict(cardinality=9, code_length=4, method="vq", shared_codebook=True),
        lambda: clusters(TABLE.reshape(-1, 2), 9).reshape(V, WIDTH),
    ),
    "dpq, shared keys": (
        layers.DPQEmbedding,
        dict(cardinality=9, code_length=2, shared_codebook=True),
        lambda: clusters(TABLE.reshape(-1, 4), 9).reshape(V, WIDTH),
    ),
    "anchors": (layers.AnchorTransformEmbedding, dict(num_anchors=12), nearest_anchors),
    "anchors, any sign": (
        layers.AnchorTransformEmbedding,
        dict(num_anchors=12, nonnegative=False, seed=4, l1_weight=0.0),
        lambda: of(compress.KSVD(12, 10, seed=4)),
    ),
    "anchors, sets": (
        layers.AnchorTransformEmbedding,
        dict(num_anchors=[8, 4], nonnegative=False, l1_weight=0.0),
        lambda: of(compress.KSVD(12, 10)),
    ),
    "sparse anchors": (
        layers.SparseAnchorEmbedding,
        dict(num_anchors=12, entries=10),
        nearest_anchors,
    ),
    "sparse anchors, any sign": (
        layers.SparseAnchorEmbedding,
        dict(num_anchors=12, entries=10, nonnegative=False, seed=4, l1_weight=0.0),
        lambda: of(compress.KSVD(12, 10, seed=4)),
    ),
    "hashed, no weights": (
        layers.HashEmbedding,
        dict(num_buckets=7, importance=False, num_frequent=5, num_reserved=1, seed=3),
        hashed,
    ),
    "compositional": (
        layers.CompositionalCodeEmbedding,
        dict(cardinality=4, code_length=3, seed=1),
        lambda: of(compress.CompositionalCodes(4, 3, seed=1)),
    ),
    "tensor train": (layers.TensorTrainEmbedding, dict(rank=3), tensor_train),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_starts_where_its_compressor_ends(case):
    cls, arguments, expected = CASES[case]
    layer = cls(V, WIDTH, weights=TABLE, **arguments)
    # 1e-6: products of float32 factors are summed in another order. Codebooks for given codes come
    # from conjugate gradients, which stop at 1e-5 of the error that is left.
    tolerance = 1e-5 if case in ("kd, fixed", "hashed, no weights") else 1e-6
    np.testing.assert_allclose(vectors(layer), expected(), atol=tolerance)
    np.testing.assert_allclose(layer.to_form()(EVERY), vectors(layer), atol=1e-6)
    assert layer.start_table is None  # the table is the user's, not the layer's
    assert "weights" not in layer.get_config()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "case",
    ["compositional", "kd, hidden", "hashed, no weights", "tensor train", "quantized, table"],
)
def test_a_model_that_its_first_batch_builds_starts_there(case, tmp_path):
    """Keras builds it symbolically; it trains, and a file holds the weights, not the table."""
    cls, arguments, expected = CASES[case]
    layer = cls(V, WIDTH, weights=[TABLE], mask_zero=True, dtype="mixed_float16", **arguments)
    model = keras.Sequential([layer, keras.layers.GlobalAveragePooling1D()])
    model.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=case == "compositional")
    ids = np.arange(V).reshape(5, 4)
    model.fit(ids, np.zeros((5, WIDTH)), verbose=0)
    assert layer.compute_mask(ids)[0, 0] == False and layer(ids).dtype == "float16"  # noqa: E712
    np.testing.assert_allclose(vectors(layer), expected(), atol=2e-3)  # float16
    model.save(tmp_path / "model.keras")
    assert "weights" not in json.dumps(model.get_config()["layers"][-2]["config"])
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(ids), model(ids))


@pytest.mark.few(2)
@pytest.mark.parametrize("case", ["clusters", "kd", "dpq", "anchors", "tensor train"])
def test_words_are_scored_by_the_same_vectors(case):
    cls, arguments, expected = CASES[case]
    layer, hidden = cls(V, WIDTH, weights=TABLE, **arguments), TABLE[:3]
    layer(EVERY)
    # sums of eight products of numbers near 1
    np.testing.assert_allclose(layer(hidden, reverse=True), hidden @ expected().T, atol=1e-5)


class NotInstalled:
    """Finds no scikit-learn, as where it is not installed."""

    def find_spec(self, name, *_):
        if name.split(".")[0] == "sklearn":
            raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")


@pytest.mark.parametrize("case", ["clusters", "kd", "dpq", "anchors"])
def test_a_missing_extra_is_named(case, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NotInstalled(), *sys.meta_path])
    cls, arguments, _ = CASES[case]
    with pytest.raises(ImportError, match=r"pip install 'kerascompact\[compress\]'"):
        cls(V, WIDTH, weights=TABLE, **arguments).build()


def test_every_embedding_has_a_case():
    kinds = [getattr(layers, name) for name in layers.__all__ if name.endswith("Embedding")]
    kinds.remove(layers.ProjectionEmbedding)  # which has no table, and says so
    kinds.remove(layers.Embedding)  # whose weights are Keras', see test_plain
    assert {cls for cls, *_ in CASES.values()} == set(kinds)


def test_copies_start_from_the_initializer_as_those_of_keras():
    layer = layers.LowRankEmbedding(V, WIDTH, 3, weights=TABLE)
    again = keras.models.clone_model(keras.Sequential([keras.Input((4,)), layer]))
    assert np.abs(vectors(again.layers[0])).max() < 0.5  # U(-0.1, 0.1), and a kernel near 1


@pytest.mark.parametrize("case", ["clusters", "mixture"])
def test_starts_are_the_same_in_every_run(case):
    cls, arguments, _ = CASES[case]
    one, other = (vectors(cls(V, WIDTH, weights=TABLE, **arguments)) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def exact(rows=V, rank=2):
    """Five different rows of rank 2."""
    random = np.random.default_rng(1)
    return (random.normal(size=(5, rank)) @ random.normal(size=(rank, WIDTH)))[np.arange(rows) % 5]


@pytest.mark.parametrize(
    ("cls", "arguments", "table"),
    [
        (layers.LowRankEmbedding, dict(rank=2), exact()),
        (layers.ClusterEmbedding, dict(num_clusters=5), exact()),
        (layers.ClusterAdjustmentEmbedding, dict(num_clusters=5), exact()),
        (layers.MixtureEmbedding, dict(num_clusters=5, num_unique=3), exact()),
        (layers.SelectedEmbedding, dict(selected=19), TABLE),
        (layers.KDCodeEmbedding, dict(cardinality=5, code_length=2), exact()),
        (layers.DPQEmbedding, dict(cardinality=5, code_length=4), exact()),
        (layers.DPQEmbedding, dict(cardinality=8, code_length=2, method="vq"), exact()),
        (layers.QuantizedEmbedding, dict(bits=1), np.sign(TABLE) * 0.5),
        (layers.PredefinedSparseEmbedding, dict(density=0.5, bins=4), ragged()),
        (
            layers.TensorTrainEmbedding,
            dict(rank=2, id_factors=[5, 4], width_factors=[2, 4], num_cores=2),
            None,
        ),
    ],
)
def test_a_table_that_it_can_store_is_kept(cls, arguments, table):
    if table is None:  # two rank-one terms
        random = np.random.default_rng(3)
        terms = [np.kron(random.normal(size=(5, 2)), random.normal(size=(4, 4))) for _ in range(2)]
        table = terms[0] + terms[1]
    layer = cls(V, WIDTH, weights=table, **arguments)
    # sums of float32 products of numbers near 1, up to eight of them
    np.testing.assert_allclose(vectors(layer), table, atol=2e-6)


@pytest.mark.slow
def test_clusters_are_sure_but_can_change():
    layer = layers.ClusterEmbedding(V, WIDTH, 5, weights=TABLE, logit_scale=30.0, seed=0)
    layer.build()
    logits = 30.0 * layer.logits.numpy().astype(np.float64)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares.max(axis=1), 0.9, rtol=1e-6)
    ids = np.repeat(EVERY, 100)
    samples = np.asarray(layer(ids, training=True))
    same = np.isclose(samples, vectors(layer)[ids], atol=1e-6).all(axis=1).mean()
    assert 0.87 < same < 0.93  # 2,000 samples: three deviations are 0.02
    model = keras.Sequential([keras.Input((1,), dtype="int32"), layer, keras.layers.Flatten()])
    model.compile(keras.optimizers.Adam(0.03), "mse", jit_compile=False)
    target = vectors(layer)[(EVERY + 7) % V]  # every word shall have the vector of another
    before = layer.assignments()
    model.fit(EVERY[:, None], target, epochs=60, verbose=0)
    assert np.mean(layer.assignments() != before) > 0.3


def test_codes_are_sure_and_training_begins_with_them():
    """Training reads one-hot codes, and with batch normalization those of the whole vocabulary."""
    arguments = dict(cardinality=4, code_length=3, logit_scale=10.0, temperature=2.0)
    layer = layers.KDCodeEmbedding(V, WIDTH, weights=TABLE, batch_norm=True, **arguments)
    np.testing.assert_allclose(layer(EVERY, training=True), vectors(layer), atol=1e-5)
    logits = layer.logits_of(EVERY).numpy() / 2.0
    shares = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(shares.max(axis=-1), 0.9, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            dict(composition="lstm"),
            "`composition` must be 'sum' or 'mean' with `weights`: no least",
        ),
        (dict(shared_codebook=True), "`shared_codebook` must be False with `weights`: each"),
        (dict(codes="fixed"), "`codes` must be the codes themselves with `weights`"),
        (dict(cardinality=21), r"`cardinality` must be an integer in \[2, 20\]"),
    ],
)
def test_kd_codes_say_what_they_cannot_start_from(arguments, message):
    arguments = {"cardinality": 4, "code_length": 3, **arguments}
    with pytest.raises(ValueError, match=message):
        layers.KDCodeEmbedding(V, WIDTH, weights=TABLE, **arguments).build()


def test_hashed_words_start_with_weights_of_their_own():
    """Buckets are the best ones for these weights; and one bucket for each direction is exact."""
    layer = layers.HashEmbedding(V, WIDTH, num_buckets=6, weights=TABLE, seed=1)
    error = np.mean((vectors(layer) - TABLE) ** 2)
    places = [hash_ids(tf.range(V), seed, 6).numpy() for seed in (1, 2)]
    weights = layer.weights_of_ids.numpy().astype(np.float64)
    matrix = sum(weights[:, [j]] * np.eye(6)[places[j]] for j in range(2))
    best = matrix @ np.linalg.lstsq(matrix, TABLE.astype(np.float64), rcond=None)[0]
    np.testing.assert_allclose(vectors(layer), best, atol=1e-4)  # conjugate gradients
    without = layers.HashEmbedding(V, WIDTH, 6, importance=False, weights=TABLE, seed=1)
    assert error < 0.8 * np.mean((vectors(without) - TABLE) ** 2)
    directions = np.random.default_rng(0).normal(size=(6, WIDTH))
    table = directions[places[0]] * np.random.default_rng(1).uniform(1, 3, (V, 1))
    layer = layers.HashEmbedding(V, WIDTH, 6, num_hashes=1, weights=table, seed=1)
    np.testing.assert_allclose(vectors(layer), table, atol=1e-5)


def test_an_encoder_has_one_table():
    arguments = dict(cardinality=4, code_length=3, weights=TABLE)
    with pytest.raises(ValueError, match="`table` must be None with `weights`"):
        layers.CompositionalCodeEmbedding(V, WIDTH, table=TABLE, **arguments)
    with pytest.raises(ValueError, match="`table_dim` must be output_dim=8 with `weights`"):
        layers.CompositionalCodeEmbedding(V, WIDTH, table_dim=5, **arguments)


def test_words_and_vectors_that_are_anchors_stay():
    layer = layers.AnchorTransformEmbedding(
        V, WIDTH, [3, 4], anchor_ids=[[7, 1, 9], None], weights=TABLE
    )
    np.testing.assert_allclose(vectors(layer)[[7, 1, 9]], TABLE[[7, 1, 9]], rtol=1e-6)
    assert np.mean((vectors(layer) - TABLE) ** 2) < 0.7 * np.mean(TABLE**2)
    given = np.eye(WIDTH)
    layer = layers.AnchorTransformEmbedding(
        V, WIDTH, WIDTH, anchors=given, nonnegative=False, l1_weight=0.0, weights=TABLE
    )
    np.testing.assert_allclose(vectors(layer), TABLE, atol=1e-6)  # a basis
    np.testing.assert_array_equal(layer.anchors[0], given)
    with pytest.raises(ValueError, match="`mixture` must be 'linear' with `weights`"):
        layers.AnchorTransformEmbedding(V, WIDTH, 4, mixture="softmax", weights=TABLE)
    with pytest.raises(ValueError, match=r"`num_anchors` must be an integer in \[1, 20\]"):
        layers.AnchorTransformEmbedding(V, WIDTH, 30, weights=TABLE).build()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            TABLE[:-1],
            r"must be a table of shape \(20, 8\), .* Received: an array of shape \(19, 8\)",
        ),
        ([TABLE, TABLE], r"must be a table of shape \(20, 8\), .* shape \(2, 20, 8\)"),
        (TABLE * np.nan, "must hold finite numbers only"),
        (TABLE.astype(np.float64) * 1e300, "must hold finite numbers only"),
        ("glove", r"must be numbers of shape \(20, 8\)"),
        ([TABLE, TABLE[0]], r"must be numbers of shape \(20, 8\)"),
    ],
)
def test_rejects_weights(weights, message):
    with pytest.raises(ValueError, match=f"`weights` {message}"):
        layers.LowRankEmbedding(V, WIDTH, 3, weights=weights)
