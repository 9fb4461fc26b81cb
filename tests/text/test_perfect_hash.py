"""A slot for every key, in as many slots as there are keys."""

import numpy as np
import pytest

from kerascompact.text import perfect_hash


@pytest.mark.parametrize("count", [1, 2, 7, 500, 6000])
def test_every_key_has_a_slot_of_its_own(count):
    rng = np.random.default_rng(count)
    for _ in range(20):  # a few hashes in twenty find no displacements
        values = rng.integers(-(2**31), 2**31, count).astype(np.int32)
        found = perfect_hash.displacements(values)
        if found is not None:
            break
    assert found.dtype == np.int16 and len(found) == perfect_hash.buckets_of(count)
    slots = perfect_hash.slots_of(values, found)
    assert sorted(slots.tolist()) == list(range(count))
    # the formula, number by number, in integers without bounds
    for value, slot in zip(values[:50].tolist(), slots[:50].tolist(), strict=True):
        moved = int(found[value % len(found)]) * 0x9E3779B1 & 0xFFFFFFFF
        mixed = (value & 0xFFFFFFFF) ^ moved
        assert (mixed - 2**32 if mixed >= 2**31 else mixed) % count == slot


def test_equal_hashes_have_no_slots():
    assert perfect_hash.displacements(np.array([3, 5, 3], np.int32)) is None


@pytest.mark.slow
def test_as_many_keys_as_multilingual_bert_has():
    rng = np.random.default_rng(0)
    for _ in range(40):  # one in six succeeds
        values, more = rng.integers(-(2**31), 2**31, (2, 119_547)).astype(np.int32)
        values[1] = values[0]  # the other hash tells them apart
        found = perfect_hash.displacements(values, more)
        if found is not None:
            break
    assert len(np.unique(perfect_hash.slots_of(values, found, more))) == len(values)
