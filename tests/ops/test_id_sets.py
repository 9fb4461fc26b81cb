import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops import id_sets

SETS = {
    "one": (np.array([0]), 1),
    "last": (np.array([999]), 1000),
    "all": (np.arange(513), 513),
    "some": (np.flatnonzero(np.random.default_rng(0).random(3001) < 0.3), 3001),
    "few": (np.array([5, 255, 256, 700, 701, 4000]), 70_001),
    "a full block between empty ones": (np.arange(256, 512), 1024),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", id_sets.KINDS)
@pytest.mark.parametrize("ids, count", SETS.values(), ids=SETS)
def test_finds_every_id_and_its_place(ids, count, kind):
    packed = id_sets.pack_set(ids, count, kind)
    asked = np.arange(count, dtype=np.int32)
    for jit in (False, True):
        look = tf.function(
            lambda a: id_sets.places(*packed, a, kind), jit_compile=jit, autograph=False
        )
        found, place = (x.numpy() for x in look(tf.constant(asked)))
        np.testing.assert_array_equal(found, np.isin(asked, ids))
        np.testing.assert_array_equal(place[ids], np.searchsorted(ids, ids))
        assert place.min() >= 0 and place.max() < len(ids)


@pytest.mark.parametrize("kind", id_sets.KINDS)
def test_counts_its_bits(kind):
    ids = np.flatnonzero(np.random.default_rng(0).random(140_000) < 0.5)
    for chosen, number in ((ids[:500], "int16"), (ids, "int32")):
        entries, before = id_sets.pack_set(chosen, 140_000, kind)
        assert (entries.dtype, before.dtype) == ("uint8", number)
        assert id_sets.set_shapes(len(chosen), 140_000, kind) == (entries.size, before.size)
        bits = 8 * (entries.nbytes + before.nbytes)
        assert id_sets.set_bits(len(chosen), 140_000, kind) == bits
    # a bit for each id, and 4 bytes for each 64; or a byte for each one kept, and 4 for each 256
    expected = 140_000 * 1.5 if kind == "bitmap" else 8 * len(ids) + 140_000 / 8
    assert bits == pytest.approx(expected, rel=0.001)


def test_rejects_ids_out_of_range():
    with pytest.raises(ValueError, match=r"`ids` must lie in \[0, 5\)"):
        id_sets.pack_set(np.array([1, 5]), 5, "bitmap")
    with pytest.raises(ValueError, match="`kind` must be one of 'bitmap', 'sorted'"):
        id_sets.pack_set(np.array([1]), 5, "tree")
