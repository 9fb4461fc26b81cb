"""The auto-encoder of Shu & Nakayama: what it stores, which epoch it keeps, what a refit gains."""

import functools

import numpy as np
import pytest

from kerascompact.compress import CompositionalCodes, codes_of
from kerascompact.core.storage import total_bits

RANDOM = np.random.default_rng(0)
V, K, M, d = 60, 4, 5, 8
TABLE = (RANDOM.normal(size=(V, 2)) @ RANDOM.normal(size=(2, d))).astype(np.float32)
QUICK = dict(cardinality=K, code_length=M, epochs=4, batch_size=4, learning_rate=1e-2)


def error(form, table=TABLE, counts=None):
    each = np.sum((form(np.arange(len(table))).numpy() - table) ** 2, axis=1)
    return np.average(each, weights=counts)


@functools.cache
def fitted(scale=1.0, **config):
    """The form of a table, trained once for all tests that read it."""
    table = scale * TABLE
    return CompositionalCodes(**{**QUICK, **config}).fit(table, name="words", mask_zero=True)


def test_codes_and_codebooks_are_what_is_stored():
    form = fitted()
    books = form.codebook.numpy().reshape(M, K, d)
    expected = [sum(books[j, c[j]] for j in range(M)) for c in codes_of(form)]
    np.testing.assert_allclose(form(np.arange(V)), expected, rtol=1e-5, atol=1e-6)
    assert (form.name, form.mask_zero) == ("words", True)
    assert form.paper_bits == total_bits(form.storage()) == V * M * 2 + 32 * M * K * d


def test_training_lowers_the_error_and_the_smallest_is_kept(monkeypatch):
    from kerascompact.ops import additive, code_autoencoder

    seen = []

    def watched(*arguments):
        seen.append(additive.error(*arguments))
        return seen[-1]

    class Watched:
        error = staticmethod(watched)
        refit = staticmethod(additive.refit)

    monkeypatch.setattr(code_autoencoder, "additive", Watched)
    config = {**QUICK, "epochs": 12, "learning_rate": 0.1, "refit": False}  # it jumps about
    form = CompositionalCodes(**config).fit(TABLE)
    assert len(seen) == 12 and np.argmin(seen) < 11 and min(seen) < 0.4 * seen[0]
    whole = np.mean(np.sum(TABLE**2, axis=1))
    assert error(form) / whole == pytest.approx(min(seen), rel=1e-4)


def test_refitting_changes_codebooks_only_and_never_for_the_worse():
    plain, refitted = fitted(refit=False), fitted()
    np.testing.assert_array_equal(codes_of(plain), codes_of(refitted))
    assert error(refitted) < error(plain)


@pytest.mark.slow
def test_the_scale_of_the_table_changes_nothing_but_the_scale():
    small, large = fitted(), fitted(1024.0)
    np.testing.assert_array_equal(codes_of(small), codes_of(large))
    np.testing.assert_allclose(large(np.arange(V)), 1024 * small(np.arange(V)).numpy(), rtol=1e-4)


def test_counts_decide_which_words_are_seen():
    counts = np.r_[np.full(6, 100.0), np.ones(V - 6)]
    plain, pulled = fitted(), CompositionalCodes(**QUICK).fit(TABLE, counts)
    assert error(pulled, counts=counts) < error(plain, counts=counts)


def test_another_seed_gives_other_codes():
    assert np.any(codes_of(fitted()) != codes_of(fitted(seed=1)))


def test_a_table_of_zeros_and_one_smaller_than_a_batch():
    assert error(CompositionalCodes(2, 2, epochs=1).fit(np.zeros((3, 2))), np.zeros((3, 2))) < 1e-3


@pytest.mark.parametrize(
    "config, message",
    [
        (dict(cardinality=1), r"`cardinality` must be an integer in \[2, 65536\]"),
        (dict(code_length=0), "`code_length` must be an integer >= 1"),
        (dict(epochs=0), "`epochs` must be an integer >= 1"),
        (dict(batch_size=2.5), "`batch_size` must be an integer >= 1"),
        (dict(learning_rate=0), "`learning_rate` must be a finite number > 0"),
        (dict(temperature=-1.0), "`temperature` must be a finite number > 0"),
        (dict(clip_norm=0), "`clip_norm` must be a finite number > 0"),
        (dict(refit=1), "`refit` must be True or False"),
        (dict(seed=-1), "`seed` must be an integer >= 0"),
        (dict(verbose="yes"), "`verbose` must be True or False"),
    ],
)
def test_rejects_arguments(config, message):
    with pytest.raises(ValueError, match=message):
        CompositionalCodes(**{**QUICK, **config})
