"""One small form of each kind, with the table that it stands for, made without our own code."""

import numpy as np

from kerascompact.forms import CodebookForm, ConcatForm, DenseForm, SplitForm

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


KINDS = {"dense": dense, "codebook": codebook, "concat": concat, "split": split}
