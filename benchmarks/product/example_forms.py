"""One small file of each form, with rows to run it on: for other processors and runtimes."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from benchmarks.lib.experiments import ROOT
from benchmarks.product import vectors
from kerascompact import export, layers, models
from kerascompact.core.extras import require
from kerascompact.core.projection import Projection
from kerascompact.export.recipe import CODES, Recipe
from kerascompact.forms import (
    AffineTableForm,
    CodebookForm,
    DenseForm,
    DirectionNormForm,
    Form,
    HashedForm,
    ReversibleForm,
    SparseForm,
    SparseTableForm,
)
from kerascompact.layers.text_to_bits import TextToBits
from kerascompact.layers.text_to_ids import TextToIds
from kerascompact.layers.text_to_pieces import TextToPieces
from kerascompact.runtime import encoding
from kerascompact.text.vocabulary import Vocabulary

WORDS, LENGTH, WIDTH, CLASSES, ROWS = 500, 12, 16, 20, 64
HASHES = (  # exact to the bit
    "bits of a projection",
    "ids of a vocabulary",
    "ids of words and pairs",
    "buckets of ids",
    "pieces of words",
)
APPROXIMATE = (
    "dynamic",
    "dynamic_int4",
    "full_int8",
)  # round what lies between layers, by each runtime's own rules
KNOWN = ("how", "what", "is", "do", "i", "my", "to", "the", "me", "weather", "card", "would", "say")
PIECES = [*"abcdefghijklmnopqrstuvwxyz.,!?'", *(f"##{letter}" for letter in "aeinorst"), "##ing"]
KNOWN_PAIRS = ("how do", "do i", "what is", "is the", "in my", "to the", "would i", "my balance")

Case = tuple[bytes, np.ndarray]


def _numbers(*shape: int, share: float = 1.0) -> np.ndarray:
    """Normal ones, `share` of them not zero."""
    random = np.random.default_rng(0)
    drawn = random.normal(size=shape) * (random.random(shape) < share)
    return drawn.astype(np.float32)


def _scaled() -> Form:
    codes = np.random.default_rng(0).integers(0, 8, (WORDS, 4))
    directions = CodebookForm.from_codes(codes, _numbers(4, 8, WIDTH // 4), combine="concat")
    sizes: dict[str, Any] = dict(input_dim=WORDS, output_dim=1)
    lengths = DenseForm.from_arrays({"table": np.abs(_numbers(WORDS, 1))}, **sizes)
    return DirectionNormForm(WORDS, WIDTH, [directions, lengths], mask_zero=True)


def _affine() -> Form:
    random = np.random.default_rng(0)
    integers = random.integers(-8, 8, (WORDS, WIDTH))
    scale = random.uniform(0.1, 0.3, (WORDS, 2)).astype(np.float32)
    zero = random.integers(-2, 3, (WORDS, 2))
    return AffineTableForm.from_integers(integers, scale, zero, WIDTH // 2, mask_zero=True)


def _reversible() -> Form:
    sizes: dict[str, Any] = dict(input_dim=WORDS, output_dim=WIDTH)
    parts = (DenseForm.from_arrays({"table": k * _numbers(WORDS, WIDTH)}, **sizes) for k in (1, -2))
    return ReversibleForm.over(*parts, soft_cap=4.0, mask_zero=True)


def _normal(deviation: float = 1.0) -> keras.initializers.Initializer:
    return keras.initializers.RandomNormal(stddev=deviation)


def _layer(name: str, **config: Any) -> Callable[[], keras.layers.Layer]:
    """A layer whose vectors are as large as trained ones, so that classes are no near ties."""
    return lambda: getattr(layers, name)(
        WORDS, WIDTH, embeddings_initializer=_normal(), mask_zero=True, **config
    )


EMBEDDINGS: dict[str, Callable[[], keras.layers.Layer]] = {
    "dense": lambda: keras.layers.Embedding(
        WORDS, WIDTH, embeddings_initializer=_normal(), mask_zero=True
    ),
    "clusters": _layer("ClusterEmbedding", num_clusters=40),
    "clusters, adjusted": _layer("ClusterAdjustmentEmbedding", num_clusters=40),
    "mixture": _layer("MixtureEmbedding", num_clusters=40, num_unique=60, num_reserved=2),
    "codes": _layer("KDCodeEmbedding", cardinality=8, code_length=6),
    "many codes": _layer("KDCodeEmbedding", cardinality=16, code_length=48),  # padding left out
    "codes, LSTM": _layer("KDCodeEmbedding", cardinality=8, code_length=6, composition="lstm"),
    "codes, concatenated": _layer("DPQEmbedding", cardinality=8, code_length=4),
    "few bits": _layer("QuantizedEmbedding", bits=3),
    "low rank": _layer("LowRankEmbedding", rank=6),
    "tensor train": _layer("TensorTrainEmbedding", rank=4),
    "hash": _layer("HashEmbedding", num_buckets=50, num_frequent=20, num_reserved=2),
    "anchors": lambda: SparseForm.from_matrix(
        _numbers(WORDS, 30, share=0.1), _numbers(30, WIDTH), mask_zero=True
    ),
    "selected": _layer("SelectedEmbedding", selected=np.arange(2, 200, 3)),
    "ragged": _layer("PredefinedSparseEmbedding", density=0.5),
    "sparse rows": lambda: SparseTableForm.from_table(
        _numbers(WORDS, WIDTH, share=0.3), mask_zero=True
    ),
    "directions and lengths": _scaled,
    "affine": _affine,
    "two tables": _reversible,
}
_TABLES: tuple[str | Recipe, ...] = ("int8_tables", "int4_tables", "float32")
_ROWS = (
    Recipe("int8 rows", "int8", stock_table="rows"),
    Recipe("int4 rows", "int4", stock_table="rows"),
)
RECIPES: dict[str, tuple[str | Recipe, ...]] = {
    "dense": (*_TABLES, *_ROWS, "blocks", "int4", *CODES, *APPROXIMATE),
    "codes": _TABLES,
    "mixture": ("int8_tables", *APPROXIMATE),
}


def classifier(embedding: keras.layers.Layer) -> keras.Model:
    """The mean of the words' vectors and a softmax, with random weights."""
    model = models.mean_classifier(embedding, CLASSES, sequence_length=LENGTH)
    model.layers[-1].kernel.assign(np.random.default_rng(0).normal(size=(WIDTH, CLASSES)))
    return model


def ids(rows: int = ROWS) -> np.ndarray:
    """Texts of 1 to `LENGTH` ids, among them the first and the last there are."""
    random = np.random.default_rng(1)
    drawn = random.integers(1, WORDS, (rows, LENGTH), np.int32)
    drawn[0, :2] = 1, WORDS - 1
    return drawn * (np.arange(LENGTH) < random.integers(1, LENGTH + 1, (rows, 1)))


def texts() -> np.ndarray:
    """The test vectors, in bytes."""
    given = map(vectors.given, vectors.texts())
    return np.concatenate([encoding.encode(text, vectors.MAX_BYTES).numbers for text in given])


def scored(recipe: str) -> bytes:
    """Scores of all words by a table that is also looked up, in one operator by "dynamic_int4"."""
    given = keras.Input((LENGTH,), dtype="int32", name="ids")
    table = keras.layers.ReversibleEmbedding(WORDS, WIDTH, embeddings_initializer=_normal(1.5))
    hidden = keras.layers.GlobalAveragePooling1D()(table(given))
    scores = table(2 * hidden, reverse=True)
    return export.convert(keras.Model(given, keras.layers.Softmax()(scores)), recipe)


def segments() -> bytes:
    """The segments of an LSTM behind a table."""
    given = keras.Input((LENGTH,), dtype="int32", name="ids")
    table = keras.layers.Embedding(WORDS, WIDTH, embeddings_initializer=_normal(), mask_zero=True)
    hidden = layers.SparseLSTM(24, num_segments=3, gamma=0.5)(table(given))
    head = keras.layers.Dense(CLASSES, "softmax", kernel_initializer=_normal(4.0))
    return export.convert(keras.Model(given, head(hidden)))


def projected() -> bytes:
    """A text-in file of a projection, of 300 bits of a word."""
    words = keras.Input((LENGTH,), dtype="string", name="words")
    embedding = layers.ProjectionEmbedding(
        WIDTH, (24,), num_projections=10, projection_dim=30, mask_zero=True
    )
    hidden = layers.MaskedMean()(embedding(words))
    head = keras.layers.Dense(CLASSES, "softmax", kernel_initializer=_normal(2.0))
    model = keras.Model(words, head(hidden))
    return export.convert(model, text="wordpunct", max_bytes=vectors.MAX_BYTES)


def tokenizer() -> Any:
    """A WordPiece tokenizer of few pieces."""
    package = require("tokenizers", "vectors")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *KNOWN, *PIECES]
    numbers = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    made = package.Tokenizer(package.models.WordPiece(numbers, unk_token="[UNK]"))
    made.normalizer = package.normalizers.BertNormalizer()
    made.pre_tokenizer = package.pre_tokenizers.BertPreTokenizer()
    return made


def hashes() -> dict[str, Case]:
    """Files whose output is the hash itself, and their rows."""
    given = keras.Input((vectors.MAX_BYTES,), dtype="int32", name="text")
    to_bits = TextToBits(Projection(), sequence_length=LENGTH)
    to_ids = TextToIds.from_vocabulary(Vocabulary(KNOWN), sequence_length=LENGTH)
    known = Vocabulary(KNOWN + KNOWN_PAIRS, "wordpunct_pairs")
    to_pairs = TextToIds.from_vocabulary(known, sequence_length=2 * LENGTH)
    numbers = keras.Input((LENGTH,), dtype="int32", name="ids")
    # bucket `i` holds the number `i`
    arrays = {"buckets": np.arange(97, dtype=np.float32)[:, None]}
    sizes = dict(input_dim=WORDS, output_dim=1, num_buckets=97, num_hashes=1, importance=False)
    buckets = HashedForm.from_arrays(arrays, **sizes, seed=5)
    one = keras.Input((vectors.MAX_BYTES,), batch_size=1, dtype="int32", name="text")
    to_pieces = TextToPieces.from_tokenizer(tokenizer(), sequence_length=2 * LENGTH)
    outputs = (to_bits(given), to_ids(given), to_pairs(given), buckets(numbers), to_pieces(one))
    inputs = (given, given, given, numbers, one)
    rows = (texts(), texts(), texts(), ids(), texts())
    return {
        name: (export.convert(keras.Model(entry, exit), "float32"), row)
        for name, entry, exit, row in zip(HASHES, inputs, outputs, rows, strict=True)
    }


def cases(chosen: Sequence[str] | None = None) -> dict[tuple[str, str], Case]:
    """Every file with its rows, by form and recipe; with `chosen`, of these forms alone."""
    keras.utils.set_random_seed(0)
    made = {}
    for name, make in EMBEDDINGS.items():
        if chosen is None or name in chosen:
            model = classifier(make())
            for recipe in RECIPES.get(name, ("int8_tables",)):
                rows = ids() if recipe == "full_int8" else None
                label = recipe if isinstance(recipe, str) else recipe.name
                made[name, label] = (export.convert(model, recipe, representative=rows), ids())
    if chosen is None:
        for recipe in ("int8_tables", "dynamic_int4"):
            made["words, scored", recipe] = (scored(recipe), ids())
        made["segments of an LSTM", "int8_tables"] = (segments(), ids())
        made["projection, text in", "int8_tables"] = (projected(), texts())
        demo = (ROOT / vectors.OUT / vectors.MODEL).read_bytes()
        made["mixture, text in", "int8_tables"] = (demo, texts())
        for name, case in hashes().items():
            made[name, "float32"] = case
    return made
