"""One small form of each kind, with the table that it stands for, made without our own code."""

import numpy as np
import pytest

from kerascompact.forms import (
    AffineTableForm,
    CodebookForm,
    CodeLSTMForm,
    ConcatForm,
    DenseForm,
    DirectionNormForm,
    FactoredForm,
    HashedForm,
    PackedTableForm,
    PrefixTableForm,
    ProductCodesForm,
    RemappedForm,
    SparseForm,
    SparseTableForm,
    SplitForm,
    TensorTrainForm,
)

V, RESERVED = 23, 2


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def dense(rows=V, width=4, seed=0, **config):
    table = numbers(rows, width, seed=seed)
    form = DenseForm.from_arrays({"table": table}, input_dim=rows, output_dim=width, **config)
    return form, table


def codebook(rows=V, width=4, cardinality=5, seed=1, **config):
    codes = np.random.default_rng(seed).integers(0, cardinality, rows)
    codes[0] = cardinality - 1
    vectors = numbers(cardinality, width, seed=seed)
    return CodebookForm.from_codes(codes, vectors, **config), vectors[codes]


def concat(**config):
    (left, a), (right, b) = codebook(width=3), dense(width=2)
    return ConcatForm(V, 5, [left, right], **config), np.hstack([a, b])


def split(reserved=RESERVED, **config):
    (first, a), (second, b) = dense(6), codebook(V - 6)
    form = SplitForm(V, 4, [first, second], num_reserved=reserved, **config)
    form.build()
    return form, np.vstack([b[:reserved], a, b[reserved:]])


def some_codes(rows=V, length=3, cardinality=5, seed=1):
    codes = np.random.default_rng(seed).integers(0, cardinality, (rows, length))
    codes[0], codes[-1] = cardinality - 1, cardinality - 1
    return codes


def codes_sum(rows=V, length=3, cardinality=5, width=4, shared=False, seed=1, **config):
    """A sum of codes; the table's rows are added in NumPy in the order of the codes."""
    codes = some_codes(rows, length, cardinality, seed)
    books = numbers(*([] if shared else [length]), cardinality, width, seed=seed)
    table = np.zeros((rows, width), np.float32)
    for place in range(length):
        table += (books if shared else books[place])[codes[:, place]]
    return CodebookForm.from_codes(codes, books, **config), table


def codes_concat(rows=V, length=3, cardinality=5, width=6, shared=False, seed=1, **config):
    codes = some_codes(rows, length, cardinality, seed)
    books = numbers(*([] if shared else [length]), cardinality, width // length, seed=seed)
    parts = [(books if shared else books[place])[codes[:, place]] for place in range(length)]
    return CodebookForm.from_codes(codes, books, combine="concat", **config), np.hstack(parts)


def factored(make=codes_sum, width=4, rank=3, use_bias=True, seed=7, **config):
    part, table = make(width=rank)
    kernel, bias = numbers(rank, width, seed=seed), numbers(width, seed=seed + 1) * use_bias
    form = FactoredForm.from_parts(part, kernel, bias if use_bias else None, **config)
    return form, table @ kernel + bias


def scalar(rows=V, width=4, bits=5, seed=1, **config):
    random = np.random.default_rng(seed)
    codes = random.integers(0, 2**bits, (rows, width))
    scales = random.uniform(0.1, 0.2, rows).astype(np.float32)
    table = scales[:, None] * (codes - np.float32((2**bits - 1) / 2)).astype(np.float32)
    return PackedTableForm.from_codes(codes, scales, bits=bits, **config), table


def affine(rows=V, width=7, block=3, precision="int4", seed=1, **config):
    """Blocks of three of seven columns; integers and zeros in NumPy."""
    random, largest = np.random.default_rng(seed), 7 if precision == "int4" else 127
    integers = random.integers(-largest - 1, largest + 1, (rows, width))
    integers[0, 0] = -largest - 1
    scale = random.uniform(0.5, 2, (rows, 3)).astype(np.float32)
    zero = random.integers(-8, 8, (rows, 3))
    places = np.arange(width) // block
    table = (integers - zero[:, places]).astype(np.float32) * scale[:, places]
    form = AffineTableForm.from_integers(integers, scale, zero, block, precision, **config)
    return form, table


def affine_rows(**config):
    """A scale for each row of int8, no zeros, and factors of the columns."""
    integers, scale = np.random.default_rng(2).integers(-128, 128, (V, 5)), numbers(V, 1) / 100
    factors = numbers(5, seed=3)
    form = AffineTableForm.from_integers(integers, scale, None, None, "int8", factors, **config)
    return form, integers.astype(np.float32) * scale * factors


def scaled(**config):
    (vectors, table), (lengths, numbers) = codes_concat(), codebook(width=1)
    return DirectionNormForm(V, 6, [vectors, lengths], **config), table * numbers


def product_codes(rows=V, width=5, group=2, cardinality=6, seed=1, **config):
    """Codes of two numbers of five, the last of which is beyond the width."""
    codes = some_codes(rows, -(-width // group), cardinality, seed)
    book = np.random.default_rng(seed).integers(-127, 128, (cardinality, group))
    factors = numbers(width, seed=seed + 1) / 100
    table = book[codes].reshape(rows, -1)[:, :width].astype(np.float32) * factors
    return ProductCodesForm.from_codes(codes, book, factors, **config), table


def product_codes_scaled(**config):
    """The same with a length for each row."""
    plain, table = product_codes()
    levels = numbers(256, seed=5)
    chosen = np.random.default_rng(6).integers(0, 256, V)
    book = plain.directions.codebook.numpy()
    arrays = (some_codes(cardinality=6), book, plain.column_factors.numpy(), chosen, levels)
    return ProductCodesForm.from_codes(*arrays, **config), table * levels[chosen][:, None]


def recurrent(rows=V, length=3, cardinality=5, width=3, units=4, shared=False, seed=1, **config):
    """An LSTM over codes, step by step in NumPy."""
    codes = some_codes(rows, length, cardinality, seed)
    books = numbers(*([] if shared else [length]), cardinality, width, seed=seed)
    lstm = {
        "kernel": numbers(width, 4 * units, seed=seed + 1),
        "recurrent_kernel": numbers(units, 4 * units, seed=seed + 2),
        "bias": numbers(4 * units, seed=seed + 3),
    }
    hidden = cell = total = np.zeros((rows, units))
    for place in range(length):
        vectors = (books if shared else books[place])[codes[:, place]]
        gates = vectors @ lstm["kernel"] + hidden @ lstm["recurrent_kernel"] + lstm["bias"]
        entry, keep, new, exit = np.split(gates, 4, axis=1)
        cell = sigmoid(keep) * cell + sigmoid(entry) * np.tanh(new)
        hidden = sigmoid(exit) * np.tanh(cell)
        total = total + hidden
    return CodeLSTMForm.from_codes(codes, books, **lstm, **config), total.astype(np.float32)


def remapped(kept=(1, 4, 5, 11, 22), shared=False, make=dense, **config):
    part, rows = make(len(kept) + shared)
    table = np.tile(rows[-1:] if shared else np.zeros_like(rows[:1]), (V, 1))
    table[list(kept)] = rows[: len(kept)]
    return RemappedForm.from_part(part, np.array(kept), V, shared, **config), table


def remapped_shared(**config):
    return remapped(tuple(range(0, V, 2)), True, codebook, **config)


def remapped_range(**config):
    return remapped(tuple(range(2, 9)), **config)


def sparse_rows(rows=V, width=4, share=0.4, seed=1, **config):
    table = numbers(rows, width, seed=seed)
    table *= np.random.default_rng(seed).random(table.shape) < share
    table[[0, 7, -1]] = 0
    return SparseTableForm.from_table(table, **config), table


def hashed(rows=V, width=4, buckets=6, seed=1, **config):
    """Two hash functions; the buckets by arithmetic in Python."""
    table, weights = numbers(buckets, width, seed=seed), numbers(rows, 2, seed=seed + 1)
    chosen = [[by_hand(row, seed + j, buckets) for j in range(2)] for row in range(rows)]
    sizes = dict(input_dim=rows, output_dim=width, num_buckets=buckets, importance=True, seed=seed)
    form = HashedForm.from_arrays({"buckets": table, "weights_of_ids": weights}, **sizes, **config)
    return form, np.sum(weights[:, :, None] * table[np.array(chosen)], axis=1)


def tensor_train(rows=V, seed=1, **config):
    cores = [numbers(4, 6, seed=seed), numbers(6, 3 * 2, seed=seed + 1)]
    table = np.einsum("adr,brc->abdc", cores[0].reshape(4, 2, 3), cores[1].reshape(6, 3, 2))
    sizes = dict(id_factors=(4, 6), width_factors=(2, 2), ranks=(3,))
    form = TensorTrainForm.from_cores(cores, rows, **sizes, **config)
    return form, table.reshape(24, 4)[:rows]


def ragged(rows=V, width=6, bins=((5, 6), (7, 4), (11, 2)), ranks=None, seed=1, **config):
    """Bins of (ids, entries); with ranks, id `i` is in the bin of number `ranks[i]`."""
    table = numbers(rows, width, seed=seed)
    ends = np.repeat([entries for _, entries in bins], [ids for ids, _ in bins])
    ends = ends if ranks is None else ends[ranks]
    table *= np.arange(width) < ends[:, None]
    sizes, widths = zip(*bins, strict=True)
    return PrefixTableForm.from_table(table, sizes, widths, ranks, **config), table


def ragged_permuted(**config):
    """Widths with no common divisor, of ids in no order; no row has all six entries."""
    ranks = np.random.default_rng(3).permutation(V)
    return ragged(bins=((9, 1), (10, 3), (4, 5)), ranks=ranks, **config)


def by_hand(number, seed, buckets):
    """MurmurHash3's last steps, in whole numbers of any length."""
    mixed = (number * 0x9E3779B1 + seed * 0x7F4A7C15) % 2**32
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        mixed = (mixed ^ mixed >> shift) * factor % 2**32
    return (mixed - 2**32 if mixed >= 2**31 else mixed) % buckets


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def some_transform(rows=V, num_anchors=9, seed=1, low=-1.0):
    """About three entries a row; some rows are empty, the first and the last among them."""
    random = np.random.default_rng(seed)
    transform = random.uniform(low, 1.0, (rows, num_anchors)).astype(np.float32)
    transform *= random.random(transform.shape) < 1 / 3
    transform[[0, rows // 2, -1]] = 0
    return transform


def sparse(rows=V, num_anchors=9, width=4, seed=1, low=-1.0, **config):
    transform, anchors = some_transform(rows, num_anchors, seed, low), numbers(num_anchors, width)
    return SparseForm.from_matrix(transform, anchors, **config), transform @ anchors


def low_rank(**config):
    return factored(dense, use_bias=False, **config)


KINDS = {
    "dense": dense,
    "codebook": codebook,
    "codes_sum": codes_sum,
    "codes_concat": codes_concat,
    "scalar": scalar,
    "factored": factored,
    "low_rank": low_rank,
    "recurrent": recurrent,
    "scaled": scaled,
    "sparse": sparse,
    "concat": concat,
    "split": split,
    "remapped": remapped,
    "remapped_shared": remapped_shared,
    "remapped_range": remapped_range,
    "sparse_rows": sparse_rows,
    "ragged": ragged,
    "ragged_permuted": ragged_permuted,
    "hashed": hashed,
    "tensor_train": tensor_train,
    "affine": affine,
    "affine_rows": affine_rows,
    "product_codes": product_codes,
    "product_codes_scaled": product_codes_scaled,
}

# XLA takes a third of a second for each form: the short suite compiles two that walk or compute
# in a way of their own (a bitmap and packed codes; hashes). `test_reversible` has a sum of codes.
COMPILED = ("remapped_shared", "hashed")
in_a_graph_and_under_xla = pytest.mark.parametrize(
    ("kinds", "jit_compile"),
    [
        pytest.param(KINDS, False, id="graph"),
        pytest.param(COMPILED, True, id="XLA"),
        pytest.param(KINDS, True, id="XLA, all", marks=pytest.mark.slow),
    ],
)

# Forms that add or multiply, in an order that TensorFlow chooses; all others only gather.
COMPUTING = (codes_sum, factored, low_rank, recurrent, sparse, hashed, tensor_train)
SMALL = (
    scalar,
    affine,
    affine_rows,
    product_codes,
    product_codes_scaled,
)  # nothing left to quantize


def check_rows(make, found, table):
    """The rows of a form as `make` says: to the bit, unless float32 was summed in some order."""
    if make in COMPUTING:
        # a rounding of 2**-24 for each of some ten terms of size <= 10
        np.testing.assert_allclose(found, table, atol=1e-5)
    else:
        np.testing.assert_array_equal(found, table)
