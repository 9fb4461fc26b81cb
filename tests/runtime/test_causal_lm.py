"""Which token a language model's file draws from its logits."""

import numpy as np
import pytest

from kerascompact.runtime.causal_lm import _drawn


@pytest.mark.parametrize(
    "top_k, tokens", [(1, {0}), (2, {0, 2}), (3, {0, 2, 3}), (9, {0, 1, 2, 3})]
)
def test_of_equal_logits_no_more_than_top_k_are_drawn(top_k, tokens):
    logits = np.array([3.0, 1.0, 3.0, 3.0], np.float32)
    random = np.random.default_rng(0)
    assert {_drawn(logits, 1.0, top_k, random) for _ in range(300)} == tokens


def test_draws_from_the_softmax_at_a_temperature():
    logits, random = np.array([2.0, 0.0, 1.0], np.float32), np.random.default_rng(1)
    drawn = [_drawn(logits, 0.5, None, random) for _ in range(20_000)]
    expected = np.exp(logits / 0.5) / np.exp(logits / 0.5).sum()
    # a share of 20,000 draws has a spread of 0.0023 at most
    np.testing.assert_allclose(np.bincount(drawn) / 20_000, expected, atol=0.01)
    assert {_drawn(logits, 1e-310, None, random) for _ in range(20)} == {0}
