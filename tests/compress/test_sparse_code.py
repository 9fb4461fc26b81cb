import numpy as np
import pytest

from kerascompact.compress import SparseCode

RANDOM = np.random.default_rng(0)
V, d = 80, 6
TABLE = RANDOM.normal(size=(V, d))


def test_words_are_the_minimum():
    """No derivative at an entry above 0, and none below 0 at an entry that is 0."""
    l1_weight, sum_to_one_weight = 0.05, 0.1
    form = SparseCode(20, l1_weight, sum_to_one_weight, iterations=3000).fit(TABLE)
    codes = form.transform()[20:].astype(np.float64)
    unit = np.sqrt(np.square(TABLE).sum(1).mean())
    base, words = TABLE[:20] / unit, TABLE[20:] / unit
    slope = (codes @ base - words) @ base.T + l1_weight
    slope += sum_to_one_weight * (codes.sum(axis=1, keepdims=True) - 1)
    assert codes.min() >= 0 and 0 < np.count_nonzero(codes) < codes.size / 2
    # of float32 steps, and slopes of size 1
    np.testing.assert_allclose(slope[codes > 0], 0, atol=1e-3)
    assert slope[codes == 0].min() > -1e-3


def test_base_words_are_themselves():
    counts = RANDOM.permutation(V).astype(float) + 1
    form = SparseCode(10).fit(TABLE, counts, name="words", mask_zero=True)
    frequent = np.sort(np.argsort(-counts)[:10])
    np.testing.assert_array_equal(form.anchors, TABLE[frequent].astype(np.float32))
    np.testing.assert_array_equal(form(frequent), TABLE[frequent].astype(np.float32))
    assert (form.name, form.mask_zero) == ("words", True)
    assert form.paper_bits == 32 * (np.count_nonzero(form.transform()) + 10 * d)
    chosen = SparseCode(base_ids=[70, 3, 12]).fit(TABLE)
    np.testing.assert_array_equal(chosen.anchors, TABLE[[3, 12, 70]].astype(np.float32))


def test_more_strength_leaves_fewer_entries():
    entries = [
        np.count_nonzero(SparseCode(20, l1_weight).fit(TABLE).transform())
        for l1_weight in (0.001, 0.05, 0.3)
    ]
    assert entries[0] > entries[1] > entries[2]
    nothing = SparseCode(20, l1_weight=100, sum_to_one_weight=0).fit(TABLE)
    assert np.count_nonzero(nothing.transform()) == 20  # the base words


@pytest.mark.parametrize("sum_to_one_weight", [0, 0.1])
def test_base_words_of_zeros_give_zeros(sum_to_one_weight):
    table = np.concatenate([np.zeros((4, d)), TABLE[:9]])
    form = SparseCode(4, sum_to_one_weight=sum_to_one_weight).fit(table)
    np.testing.assert_array_equal(form(np.arange(13)), np.zeros((13, d)))


def test_rejects_arguments():
    with pytest.raises(ValueError, match="`l1_weight` must be a finite number > 0"):
        SparseCode(5, l1_weight=0)
    with pytest.raises(ValueError, match="`sum_to_one_weight` must be a finite number >= 0"):
        SparseCode(5, sum_to_one_weight=-1)
    with pytest.raises(ValueError, match=r"`num_base` must be an integer in \[2, 80\]"):
        SparseCode(81).fit(TABLE)
    with pytest.raises(ValueError, match=r"`base_ids` must lie in \[0, 80\)"):
        SparseCode(base_ids=[1, 80]).fit(TABLE)
