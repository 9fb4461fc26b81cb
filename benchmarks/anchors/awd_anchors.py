"""AWD-LSTM with anchors: the lower part of the Anchor & Transform paper's Table 2, scaled.

The size of `awd_50k`, which trains until averaging has begun: 50,000 tokens of Penn Treebank, LSTMs
of 96, 32 columns, 24 epochs of SGD at a rate of 30, averaged by `NTASGD`, and 8 of finetuning. The
table for words in and out is `E = T A` with signed entries; the dense arm is that of `awd_50k`.
Other arms begin where that arm ends: at its table, finetuned for eight epochs more, or at the k-SVD
of the table, whose weights one epoch may replace if dev is better.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.anchors import anchors_tuned
from benchmarks.data import ptb
from benchmarks.lib import results, runner
from benchmarks.sparseness import awd, awd_specs
from kerascompact import layers

BASE = awd_specs.SPECS["awd_50k"][0]


class Spec(NamedTuple):
    """Everything that decides a run but for what `BASE` says.

    `neighbors`: entries of a word in the k-SVD of the trained table that a run begins at; 0 for one
    that begins at random. A run of no anchors begins at the trained table.
    """

    num_anchors: int
    l1_weight: float = 1e-5  # by dev
    epochs: int = BASE.epochs
    finetune: int = BASE.finetune
    seed: int = 0
    neighbors: int = 0
    rate: float = BASE.rate
    frozen: bool = False

    @property
    def begun(self) -> bool:
        """Whether it begins at the trained table."""
        return bool(self.neighbors or not self.num_anchors)

    @property
    def label(self) -> str:
        """The anchors and where they begin."""
        if not self.num_anchors:
            return "none, the table"
        how = ", k-SVD of the table" if self.neighbors else ", a frame" if self.frozen else ""
        return f"{self.num_anchors:,}{how}"

    @property
    def training(self) -> awd_specs.Spec:
        """The training, and what its checkpoints are named by."""
        return BASE._replace(
            epochs=self.epochs, finetune=self.finetune, seed=self.seed, rate=self.rate
        )

    def folder(self, work: Path) -> Path:
        """Where its checkpoints are."""
        begun = f"-{self.neighbors}" if self.begun else ""
        begun += "-frozen" if self.frozen else ""
        return work / f"anchors-{self.num_anchors}-{self.l1_weight:g}{begun}"


# The rate is 30: in 24 epochs of 143 steps, proximal steps take 100,000 strengths from an entry.
STRENGTHS = (1e-6, 3e-6, 1e-5)
STRONGER = (3e-5, 1e-4)  # of a frame, whose vectors move as a table does
ANCHORS = (100, 1000)
BEGUN = Spec(0, 0.0, 0)  # at the trained table
# By dev it loses by any training, least at 0.3: one epoch, and dev keeps the better weights.
K_SVD = [BEGUN._replace(num_anchors=count, neighbors=5, rate=0.3, finetune=1) for count in ANCHORS]
RATES = (30.0, 3.0, 0.3)
# The strongest of five penalties that leaves words entries, with 100 anchors; a third with 1,000.
FRAMES = [Spec(100, 3e-5, frozen=True), Spec(1000, 1e-5, frozen=True)]
SPECS = [*(Spec(count) for count in ANCHORS), *FRAMES, BEGUN, *K_SVD]


def build(spec: Spec, num_words: int, batch_size: int | None) -> keras.Model:
    """The model: vectors begin as long as those of the table, `U(-0.1, 0.1)`.

    `A^T A` begins near the identity for as many anchors as columns or more, so that a step on `T`
    changes the vectors as one on the table would. `T^T T` is near 33 times the identity, so that a
    step on anchors that are trained moves vectors 33 times as far.
    """
    orthogonal = keras.initializers.Orthogonal(seed=spec.seed)
    normal = keras.initializers.RandomNormal(stddev=max(spec.num_anchors, BASE.width) ** -0.5)
    embedding = layers.AnchorTransformEmbedding(
        num_words,
        BASE.width,
        spec.num_anchors,
        l1_weight=spec.l1_weight,
        nonnegative=False,
        transform_initializer=keras.initializers.RandomNormal(stddev=0.1 / 3**0.5),
        embeddings_initializer=orthogonal if spec.frozen else normal,
        trainable_anchors=not spec.frozen,
        name="embedding",
    )
    return awd.around(spec.training, embedding, batch_size)


def trained(spec: Spec, corpus: ptb.Corpus, work: Path, verbose: int) -> keras.Model:
    """The dense arm of `awd_50k`, finetuned; from its checkpoints, if they are there."""
    dense = BASE._replace(seed=spec.seed)
    keras.utils.set_random_seed(spec.seed)
    return awd.fit(dense, corpus, dense.folder(work), verbose)[0]


def beginning(
    spec: Spec, corpus: ptb.Corpus, work: Path, verbose: int
) -> tuple[awd.Build, list[np.ndarray]]:
    """Builds the model of a run that begins at the trained table; and its first weights."""
    first = trained(spec, corpus, work, verbose)
    table = np.asarray(first.get_layer("embedding")(np.arange(len(corpus.words))))
    counts = np.bincount(corpus.train, minlength=len(table))

    def made(training: awd_specs.Spec, num_words: int, batch_size: int | None) -> keras.Model:
        if not spec.num_anchors:
            return awd.build(training, num_words, batch_size)
        return awd.around(training, layer.from_config(layer.get_config()), batch_size)

    if spec.num_anchors:
        layer = anchors_tuned.embedding(
            table,
            counts,
            "k_svd",
            spec.seed,
            mask_zero=False,
            num_anchors=spec.num_anchors,
            num_neighbors=spec.neighbors,
        )
    model = made(spec.training, len(table), None)
    if not spec.num_anchors:
        return made, first.get_weights()
    model.get_layer("embedding").set_weights(layer.get_weights())
    return made, anchors_tuned.with_weights(model, first).get_weights()


def run(
    spec: Spec, corpus: ptb.Corpus, work: Path, test: bool = True, verbose: int = 0
) -> dict[str, Any]:
    """The row of a run."""

    def from_scratch(_: awd_specs.Spec, num_words: int, batch_size: int | None) -> keras.Model:
        return build(spec, num_words, batch_size)

    made: awd.Build = from_scratch
    start = None
    if spec.begun:
        made, start = beginning(spec, corpus, work, verbose)
    row = awd.run(spec.training, corpus, spec.folder(work), verbose, made, test, start)
    return {**row, "spec": spec._asdict(), "words": len(corpus.words)}


def grid() -> list[Spec]:
    """Trials of half of the epochs."""
    half = [
        one._replace(finetune=BASE.finetune // 2, rate=rate)
        for one in (BEGUN, K_SVD[0])
        for rate in RATES
    ]
    scratch = [
        Spec(ANCHORS[0], strength, BASE.epochs // 2, 0, frozen=frozen)
        for frozen, strengths in ((False, STRENGTHS), (True, (*STRENGTHS, *STRONGER)))
        for strength in strengths
    ]
    return [*scratch, *half]


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet, or goes on with it; `awd_anchors_dev` tries strengths, no test."""
    test = name == "awd_anchors"

    def one(spec: Spec) -> dict[str, Any]:
        corpus = ptb.load(arguments.data, BASE.train_tokens)
        return run(spec, corpus, Path(arguments.work), test, arguments.verbose)

    wanted = SPECS if test else grid()
    return runner.benchmark(name, wanted, arguments, one, table)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: perplexities before and after finetuning, as means over seeds."""
    lines = [
        "| anchors | strength | epochs | seeds | dev, not finetuned | dev | test | of embedding "
        "| of full | step: bytes |",
        "|" + "---|" * 10,
    ]
    for group in results.by_seed(rows):
        first, spec = group[0], Spec(**group[0]["spec"])
        numbers = results.spread(group, "embedding_parameters")[0]
        full = first["words"] * BASE.width
        before = f"{BASE.epochs} + {BASE.finetune}" if spec.begun else str(spec.epochs)
        cells = [spec.label, f"{spec.l1_weight:g}"]
        cells += [f"{before} + {spec.finetune}", str(len(group))]
        cells += [
            f"{results.spread(group, key)[0]:.1f}" if key in first else "-"
            for key in ("train_dev", "dev_perplexity", "test_perplexity")
        ]
        cells += [f"{numbers:,.0f}", f"1/{full / numbers:.1f}"]
        cells.append(f"{first['step_bytes']:,}" if "step_bytes" in first else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
