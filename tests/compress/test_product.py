import numpy as np
import pytest

from kerascompact.compress import ProductQuantization, codes_of
from kerascompact.core.storage import total_bits
from kerascompact.ops.kmeans import kmeans

RANDOM = np.random.default_rng(0)
V, d = 60, 6
TABLE = (RANDOM.normal(size=(V, d)) * RANDOM.uniform(0.2, 5, (V, 1))).astype(np.float32)


def values(form, rows=V):
    return form(np.arange(rows)).numpy()


def error(form, table=TABLE, counts=None):
    return np.average(np.sum((values(form, len(table)) - table) ** 2, axis=1), weights=counts)


def test_every_part_of_a_row_is_its_nearest_centroid():
    form = ProductQuantization(3, 5, seed=2).fit(TABLE, name="words", mask_zero=True)
    expected = []
    for columns in (slice(0, 2), slice(2, 4), slice(4, 6)):
        _, centroids = kmeans(TABLE[:, columns], 5, seed=2, iterations=25)
        distances = np.linalg.norm(TABLE[:, None, columns] - centroids, axis=2)
        expected.append(centroids[np.argmin(distances, axis=1)])
    np.testing.assert_array_equal(values(form), np.hstack(expected))
    assert (form.name, form.mask_zero) == ("words", True)
    assert form.paper_bits == total_bits(form.storage()) == V * 3 * 3 + 32 * 5 * d
    assert codes_of(form).shape == (V, 3)


def test_norms_apart_keep_directions_on_the_sphere():
    form = ProductQuantization(d, 16, norms=True).fit(TABLE, name="words", mask_zero=True)
    assert (form.name, form.mask_zero) == ("words", True)
    norms = np.linalg.norm(TABLE, axis=1)
    directions, lengths = form.parts
    np.testing.assert_allclose(values(lengths).ravel(), norms, rtol=1e-5)  # V < 256: all of them
    plain = ProductQuantization(d, 16).fit(TABLE / norms[:, None])
    np.testing.assert_allclose(values(directions), values(plain), rtol=1e-6)
    np.testing.assert_allclose(values(form), norms[:, None] * values(plain), rtol=1e-5)
    assert form.paper_bits == total_bits(form.storage())
    assert form.paper_bits == V * d * 4 + 32 * 16 * d + V * 6 + 32 * V
    np.testing.assert_array_equal(codes_of(form), codes_of(plain))


def test_norms_of_many_words_share_256_numbers():
    table = np.repeat(TABLE, 5, axis=0) * np.arange(1, 301)[:, None]
    form = ProductQuantization(2, 4, norms=True).fit(table)
    assert form.paper_bits == 300 * (2 * 2 + 8) + 32 * 4 * d + 32 * 256
    lengths = values(form.parts[1], 300).ravel()
    np.testing.assert_allclose(lengths, np.linalg.norm(table, axis=1), rtol=0.1)


def test_a_row_of_zeros_stays_zero():
    table = TABLE.copy()
    table[7] = 0
    form = ProductQuantization(2, 4, norms=True).fit(table)
    np.testing.assert_array_equal(values(form)[7], np.zeros(d))


@pytest.mark.parametrize("width, parts", [(6, 3), (5, 5), (1, 1)])
def test_parts_are_of_two_numbers_or_one(width, parts):
    assert codes_of(ProductQuantization(cardinality=2).fit(TABLE[:, :width])).shape == (V, parts)


def test_more_bits_lower_the_error():
    errors = [error(ProductQuantization(D, 8).fit(TABLE)) for D in (1, 2, 6)]
    assert np.all(np.diff(errors) < 0)
    errors = [error(ProductQuantization(3, K).fit(TABLE)) for K in (4, 60)]
    assert np.all(np.diff(errors) < 0) and errors[-1] < 1e-9


def test_counts_weigh_the_errors():
    counts = np.r_[np.full(10, 100.0), np.ones(V - 20), np.zeros(10)]
    for norms in (False, True):
        plain, pulled = (ProductQuantization(3, 4, norms).fit(TABLE, c) for c in (None, counts))
        if norms:
            directions = TABLE / np.linalg.norm(TABLE, axis=1, keepdims=True)
            plain, pulled = plain.parts[0], pulled.parts[0]
            assert error(pulled, directions, counts) < error(plain, directions, counts)
        else:
            assert error(pulled, counts=counts) < error(plain, counts=counts)


@pytest.mark.parametrize(
    "config, message",
    [
        (dict(code_length=0), "`code_length` must be an integer >= 1"),
        (dict(cardinality=1), r"`cardinality` must be an integer in \[2, 65536\]"),
        (dict(norms="no"), "`norms` must be True or False"),
        (dict(seed=-1), "`seed` must be an integer >= 0"),
        (dict(max_points=0), "`max_points` must be an integer >= 2"),
        (dict(iterations=0), "`iterations` must be an integer >= 1"),
        (dict(verbose=1), "`verbose` must be True or False"),
    ],
)
def test_rejects_arguments(config, message):
    with pytest.raises(ValueError, match=message):
        ProductQuantization(**{"code_length": 2, "cardinality": 4, **config})


def test_rejects_what_does_not_fit_the_table():
    with pytest.raises(ValueError, match="one of 1, 2, 3, 6. Received: code_length=4"):
        ProductQuantization(4, 2).fit(TABLE)
    with pytest.raises(ValueError, match=r"`cardinality` must be an integer in \[2, 60\]"):
        ProductQuantization(2).fit(TABLE)
