"""Compress a trained table of vectors into a small file and report the error."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from kerascompact.compress import Compressor
    from kerascompact.compress.tables import Table

# The options of each method; the method has its own defaults for options that are not given.
METHODS: dict[str, tuple[str, ...]] = {
    "scalar": ("bits", "scale"),
    "product": ("code_length", "cardinality", "norms", "seed"),
    "product_codes": ("bits", "group", "seed"),
    "svd": ("rank",),
    "kmeans": ("clusters", "seed"),
    "codes": ("code_length", "cardinality", "seed"),
    "autoencoder": ("code_length", "cardinality", "epochs", "seed"),
    "nearest_anchors": ("anchors", "neighbors", "weights", "seed"),
    "k_svd": ("anchors", "neighbors", "max_neighbors", "iterations", "seed"),
    "sparse_code": ("base", "l1_weight", "sum_to_one_weight", "iterations"),
    "pruning": ("sparsity",),
}
# The name of an option in the compressor, where it differs.
NAMES = {
    "clusters": "num_clusters",
    "anchors": "num_anchors",
    "neighbors": "num_neighbors",
    "base": "num_base",
}
NEEDED = {"svd": "rank", "kmeans": "clusters"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from kerascompact.export.recipe import UNCALIBRATED

    add = parser.add_argument
    add(
        "source", metavar="SOURCE",
        help="a .npy or .keras file, or word vectors: GloVe, word2vec or fastText's .vec as text "
        "(.gz, .xz), word2vec's .bin",
    )  # fmt: skip
    add("-o", "--out", type=Path, required=True, metavar="FILE", help="a .tflite or .keras file")
    add("--method", choices=METHODS, required=True, help="how to compress the table")
    add("--bits", type=int, help="bits per entry, 1 to 8; with scalar (8), product_codes (4)")
    add(
        "--group", type=int, metavar="G",
        help="numbers of a code; with product_codes (as many as fill 8 or 9 bits)",
    )  # fmt: skip
    add(
        "--scale", choices=("column", "row", "table"),
        help="entries that share a scale; with scalar (column for 8 and 4 bits, else row)",
    )  # fmt: skip
    add(
        "--code-length", type=int, metavar="D",
        help="codes per word; with product (half the width), codes, autoencoder (32)",
    )  # fmt: skip
    add(
        "--cardinality", type=int, metavar="K",
        help="values of a code; with product (256), codes, autoencoder (32)",
    )  # fmt: skip
    add(
        "--norms", action="store_const", const=True,
        help="store lengths of vectors apart; with product",
    )  # fmt: skip
    add("--rank", type=int, help="inner width; with svd")
    add("--clusters", type=int, help="number of clusters; with kmeans")
    add("--epochs", type=int, help="training epochs; with autoencoder")
    add(
        "--anchors", type=int, metavar="A",
        help="number of anchors; with nearest_anchors, k_svd (500)",
    )  # fmt: skip
    add(
        "--neighbors", type=int, metavar="S",
        help="anchors per word; with nearest_anchors, k_svd (10)",
    )  # fmt: skip
    add(
        "--max-neighbors", type=int, metavar="M",
        help="most anchors of a word, if words share them by what they gain; with k_svd (no "
        "sharing)",
    )  # fmt: skip
    add(
        "--weights", choices=("least_squares", "kernel"),
        help="weights of the anchors; with nearest_anchors (least_squares)",
    )  # fmt: skip
    add(
        "--base", type=int, metavar="B",
        help="words that keep their vectors; with sparse_code (1000)",
    )  # fmt: skip
    add("--l1-weight", type=float, help="weight of the L1 penalty; with sparse_code (0.05)")
    add(
        "--sum-to-one-weight", type=float,
        help="weight of the penalty that pulls sums to 1; with sparse_code (0.1)",
    )  # fmt: skip
    add("--iterations", type=int, help="iterations; with k_svd (10), sparse_code (200)")
    add(
        "--sparsity", type=float,
        help="share of entries to set to 0; with pruning (0: drops only entries that are 0)",
    )  # fmt: skip
    add("--seed", type=int, help="seed of random numbers (0)")
    add("--layer", metavar="NAME", help="which embedding, if a .keras file has several")
    add("--limit", type=int, metavar="N", help="use only the first N vectors")
    add("--counts", type=Path, metavar="FILE.npy", help="how often each word occurs")
    add(
        "--recipe", choices=UNCALIBRATED, default="int8",
        help="how tables and codebooks are stored (%(default)s)",
    )  # fmt: skip
    add(
        "--keep-model", action="store_true",
        help="write the model of a .keras file with its table compressed, not the table alone",
    )  # fmt: skip
    add("--sequence-length", type=int, help="ids per input of the .tflite file (default: any)")


def run(arguments: argparse.Namespace) -> int:
    """Compresses and writes, after checking every argument."""
    from kerascompact.core import checks
    from kerascompact.tasks import folder

    out, source = arguments.out, Path(arguments.source)
    if out.suffix.lower() not in (".tflite", ".keras"):
        raise ValueError(f"--out must end in .tflite or .keras. Received: {str(out)!r}.")
    for written in (out, _words_beside(out)):
        read = [path for path in (source, arguments.counts) if path is not None and path.exists()]
        if written.is_dir():
            raise ValueError(f"{written} must be a file to write. Received: a folder.")
        if written.exists() and any(map(written.samefile, read)):
            raise ValueError(f"{written} must be a file to write, and not the source or --counts.")
    folder.check_writable(out.parent)
    if arguments.sequence_length is not None:
        checks.integer_in("sequence_length", arguments.sequence_length, 1)
    is_model = source.suffix.lower() == ".keras"
    if arguments.keep_model and (not is_model or arguments.limit is not None):
        raise ValueError("--keep-model is for .keras files, and cannot be used with --limit.")
    compressor = _compressor(arguments)

    from kerascompact.compress import read_table

    model = folder.load_model(source) if is_model else None
    table = read_table(
        arguments.source if model is None else model, arguments.layer, arguments.limit
    )
    broken = [word for word in table.words or [] if "\n" in word or "\r" in word]
    if broken:
        raise ValueError(f"{source}: the word {broken[0]!r} contains a line break.")
    counts = None if arguments.counts is None else _counts(arguments.counts, table)
    print(f"{table.name}: {len(table.vectors):,} vectors of {table.vectors.shape[1]}", flush=True)
    return _compress_and_write(arguments, compressor, table, counts, model)


def _words_beside(out: Path) -> Path:
    """Where the words of vectors go."""
    return out.with_suffix(".words.txt")


def _compressor(arguments: argparse.Namespace) -> "Compressor":
    names = {name for options in METHODS.values() for name in options}
    given = {name: getattr(arguments, name) for name in sorted(names)}
    given = {name: value for name, value in given.items() if value is not None}
    wrong = [name for name in given if name not in METHODS[arguments.method]]
    if wrong:
        option = f"--{wrong[0].replace('_', '-')}"
        raise ValueError(f"{option} is not an option of --method {arguments.method}.")
    needed = NEEDED.get(arguments.method)
    if needed and needed not in given:
        raise ValueError(f"--method {arguments.method} needs --{needed.replace('_', '-')}.")

    from kerascompact import compress

    given = {NAMES.get(name, name): value for name, value in given.items()}
    match arguments.method:
        case "scalar":
            return compress.ScalarQuantization(**given)
        case "product":
            return compress.ProductQuantization(**given, verbose=True)
        case "product_codes":
            return compress.ProductCodes(**given)
        case "svd":
            return compress.TruncatedSVD(**given)
        case "kmeans":
            return compress.KMeansClusters(**given)
        case "codes":
            return compress.KDCodes(**given, verbose=True)
        case "nearest_anchors":
            return compress.NearestAnchors(**given)
        case "k_svd":
            return compress.KSVD(**given, verbose=True)
        case "sparse_code":
            return compress.SparseCode(**given)
        case "pruning":
            return compress.Pruning(**given)
    sizes = {"cardinality": 32, "code_length": 32, **given}
    return compress.CompositionalCodes(**sizes, verbose=True)


def _counts(path: Path, table: "Table") -> "np.ndarray":
    from kerascompact.core.arrays import load_npy

    counts = load_npy(path)
    if counts.dtype.kind not in "iuf":
        raise ValueError(f"{path} must hold numbers. Received: an array of {counts.dtype}.")
    if counts.shape != table.vectors.shape[:1]:
        raise ValueError(
            f"{path} must hold a number for each of the {len(table.vectors)} vectors. "
            f"Received: an array of shape {counts.shape}."
        )
    return counts


def _compress_and_write(
    arguments: argparse.Namespace,
    compressor: "Compressor",
    table: "Table",
    counts: Any,
    model: Any,
) -> int:
    import numpy as np

    from kerascompact import export
    from kerascompact.compress import compress_model, form_model, report
    from kerascompact.core import files
    from kerascompact.core.keras_graph import all_layers
    from kerascompact.tasks import folder

    out, recipe = arguments.out, arguments.recipe
    if arguments.keep_model:
        model = compress_model(model, compressor, counts, [table.name])
        name = table.name
    else:
        form = compressor.fit(table.vectors, counts)
        model, name = form_model(form, arguments.sequence_length), form.name
    frozen = export.freeze(model, recipe)
    form = next(layer for layer in all_layers(frozen.model) if layer.name == name)
    print(report(table.vectors, form, counts))
    if arguments.keep_model:
        print(frozen.summary())
    if out.suffix.lower() == ".keras":
        folder.save_model(frozen.model, out)
    else:
        data = frozen.convert(sequence_length=arguments.sequence_length)
        if not arguments.keep_model:  # evenly over all ids
            length = arguments.sequence_length or 8
            ids = np.linspace(0, form.input_dim - 1, 16 * length).astype(np.int32)
            frozen.verify(ids.reshape(16, length))
        export.save(data, out)
    written = f"{out}: {out.stat().st_size:,} bytes"
    if table.words is not None:
        beside = _words_beside(out)
        files.write_bytes(beside, ("\n".join(table.words) + "\n").encode())
        written += f"; {beside}: the words, line n being id n - 1"
    print(written)
    return 0
