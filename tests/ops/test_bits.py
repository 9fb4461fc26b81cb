"""Packed codes against Python's integers of any size."""

import math

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.bits import (
    MAX_BITS,
    pack,
    pack_rows,
    rows_bytes,
    stream_bytes,
    unpack,
    unpack_columns,
    unpack_rows,
)

ALL_BITS = range(1, MAX_BITS + 1)


def whole_number(codes, bits):
    """All codes as the digits of one number, the first code the least significant."""
    return sum(int(code) << index * bits for index, code in enumerate(codes))


def random_codes(bits, count=77):
    """Random codes between runs of the smallest and the largest one."""
    codes = np.random.default_rng(bits).integers(0, 2**bits, count)
    codes[:3], codes[-3:] = 2**bits - 1, 0
    codes[20:23], codes[23:26] = 0, 2**bits - 1
    return codes


@pytest.mark.few(4)
@pytest.mark.parametrize("bits", ALL_BITS)
def test_pack_writes_the_codes_as_one_little_endian_number(bits):
    codes = random_codes(bits)
    stream = pack(codes, bits)
    assert stream.dtype == np.uint8
    assert int.from_bytes(stream.tobytes(), "little") == whole_number(codes, bits)


@pytest.mark.parametrize("bits", ALL_BITS)
def test_unpack_reads_the_digits_of_that_number(bits):
    codes = random_codes(bits)
    size = stream_bytes(len(codes), bits)
    stream = np.frombuffer(whole_number(codes, bits).to_bytes(size, "little"), np.uint8)
    places = np.concatenate([np.arange(77), [76, 0, 3, 3]])
    found = unpack(tf.constant(stream), tf.constant(places, tf.int32), bits)
    assert found.dtype == tf.int32
    np.testing.assert_array_equal(found, codes[places])


@pytest.mark.few(40)
@pytest.mark.parametrize("bits", ALL_BITS)
@pytest.mark.parametrize("extreme", [0, -1])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9])
def test_streams_of_one_extreme_code(bits, extreme, count):
    codes = np.full(count, extreme % 2**bits)
    stream = pack(codes, bits)
    np.testing.assert_array_equal(unpack(tf.constant(stream), tf.range(count), bits), codes)


@pytest.mark.parametrize("bits", ALL_BITS)
def test_stream_has_the_bits_rounded_up_and_what_the_last_read_touches(bits):
    for count in (1, 2, 3, 8, 1000):
        last = range((count - 1) * bits // 8, ((count * bits) - 1) // 8 + 1)
        size = stream_bytes(count, bits)
        assert size >= math.ceil(count * bits / 8) > max(last)
        assert size <= math.ceil(count * bits / 8) + (0 if bits in (1, 2, 4, 8) else 2)
        assert pack(np.zeros(count, int), bits).size == size


@pytest.mark.parametrize(("bits", "extra"), [(1, 0), (4, 0), (6, 1), (8, 0), (9, 1), (10, 2)])
def test_stream_bytes_of_3000_codes(bits, extra):
    assert stream_bytes(3000, bits) == 3000 * bits // 8 + extra


def test_no_codes():
    assert unpack(tf.constant(pack(np.zeros(0, int), 8)), tf.zeros(0, tf.int32), 8).shape == (0,)
    assert stream_bytes(0, 8) == 0


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 1, 3), (0, 4)])
def test_positions_of_any_rank(shape):
    codes = random_codes(6)
    places = np.random.default_rng(0).integers(0, 77, shape)
    found = unpack(tf.constant(pack(codes, 6)), tf.constant(places, tf.int32), 6)
    np.testing.assert_array_equal(found, codes[places])
    assert found.shape == shape


def test_packs_in_c_order_whatever_the_layout_and_type():
    codes = random_codes(5, 60).reshape(12, 5)
    stream = pack(codes.ravel(), 5)
    for same in (codes, np.asfortranarray(codes), codes.astype(np.uint8), codes.astype(np.int16)):
        np.testing.assert_array_equal(pack(same, 5), stream)
    np.testing.assert_array_equal(pack(codes.astype(np.uint64), 5), stream)


@pytest.mark.few(2)
@pytest.mark.parametrize("bits", [3, 8, 9, 13])
def test_graph_and_xla_read_the_same(bits):
    codes = random_codes(bits)
    stream, places = tf.constant(pack(codes, bits)), tf.range(77)
    for jit_compile in (False, True):
        compiled = tf.function(
            lambda s, p: unpack(s, p, bits), jit_compile=jit_compile, autograph=False
        )
        np.testing.assert_array_equal(compiled(stream, places), codes)


@pytest.mark.slow
def test_reads_near_the_last_bit_that_int32_can_number():
    """Positions are int32 bit numbers: (2**31 - 1) // 16 is the last one for 16 bits."""
    stream = np.zeros(stream_bytes(2**27 - 1, 16), np.uint8)
    stream[-4:-2] = 0xCD, 0xAB  # the last code lies before the two bytes past the end
    found = unpack(tf.constant(stream), tf.constant([2**27 - 2, 2**27 - 3]), 16)
    assert found.numpy().tolist() == [0xABCD, 0]


@pytest.mark.parametrize("bits", [0, 17, -1, 2.0, True, "8", None])
def test_rejects_bits(bits):
    with pytest.raises(ValueError, match=r"`bits` must be an integer in \[1, 16\]"):
        pack(np.array([0]), bits)


@pytest.mark.parametrize(("code", "bits"), [(2, 1), (64, 6), (-1, 6), (65536, 16)])
def test_rejects_codes_that_do_not_fit(code, bits):
    with pytest.raises(ValueError, match=rf"`codes` must lie in \[0, {2**bits}\).*id of {code}\."):
        pack(np.array([0, code]), bits)


def test_rejects_codes_that_are_no_integers():
    with pytest.raises(ValueError, match="`codes` must be an array of integers"):
        pack(np.array([0.0, 1.0]), 4)


LENGTHS = [1, 2, 3, 4, 5, 8, 16, 31, 32]


# A sixth in the short suite, with all bits and all lengths.
@pytest.mark.parametrize(
    ("bits", "length"),
    [
        pytest.param(bits, length, marks=[pytest.mark.slow] * ((bits + place) % 6 > 0))
        for bits in ALL_BITS
        for place, length in enumerate(LENGTHS)
    ],
)
def test_unpack_rows_reads_the_rows_of_the_table(bits, length):
    codes = np.random.default_rng(bits).integers(0, 2**bits, (9, length))
    codes[0], codes[1], codes[7], codes[8] = 2**bits - 1, 0, 0, 2**bits - 1
    ids = np.array([[0, 8, 1], [7, 7, 3]])
    for stream in (pack_rows(codes, bits), pack(codes, bits)):
        found = unpack_rows(tf.constant(stream), tf.constant(ids, tf.int32), bits, length)
        assert found.dtype == tf.int32
        np.testing.assert_array_equal(found, codes[ids])
        first = unpack_columns(tf.constant(stream), tf.constant(ids, tf.int32), bits, length)
        assert first.dtype == tf.int32
        np.testing.assert_array_equal(first, codes.T[:, ids])


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("bits", ALL_BITS)
def test_rows_are_the_same_stream_without_bytes_that_no_row_reads(bits, length):
    codes = np.random.default_rng(bits).integers(0, 2**bits, (9, length))
    stream, rows = pack(codes, bits), pack_rows(codes, bits)
    np.testing.assert_array_equal(rows, stream[: rows.size])
    assert rows.size == rows_bytes(9, length, bits)
    whole = length > 1 and length * bits % 8 == 0
    assert rows.size == (9 * length * bits // 8 if whole else stream_bytes(9 * length, bits))


def test_packs_a_large_table_chunk_by_chunk(monkeypatch):
    codes = random_codes(5, 77)
    whole = pack(codes, 5)
    monkeypatch.setattr("kerascompact.ops.bits.CHUNK", 16)
    np.testing.assert_array_equal(pack(codes, 5), whole)


@pytest.mark.few(2)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 4)])
@pytest.mark.parametrize(("bits", "length"), [(5, 8), (5, 3)])
def test_rows_of_any_rank_in_a_graph_and_under_xla(bits, length, shape):
    codes = np.random.default_rng(0).integers(0, 2**bits, (9, length))
    ids = np.random.default_rng(1).integers(0, 9, shape)
    stream, places = tf.constant(pack_rows(codes, bits)), tf.constant(ids, tf.int32)
    for jit_compile in (False, True):
        compiled = tf.function(
            lambda s, p: unpack_rows(s, p, bits, length), jit_compile=jit_compile, autograph=False
        )
        np.testing.assert_array_equal(compiled(stream, places), codes[ids])
