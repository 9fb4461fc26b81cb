"""AWD-LSTM with anchors: the lower part of the Anchor & Transform paper's Table 2, scaled.

The size of `awd_50k`, which trains until averaging has begun: 50,000 tokens of Penn Treebank, LSTMs
of 96, 32 columns, 24 epochs of SGD at a rate of 30, averaged by `NTASGD`, and 8 of finetuning. The
table for words in and out is `E = T A` with signed entries; the dense arm is that of `awd_50k`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras

from benchmarks.data import ptb
from benchmarks.lib import results, runner
from benchmarks.sparseness import awd, awd_specs
from kerascompact import layers

BASE = awd_specs.SPECS["awd_50k"][0]


class Spec(NamedTuple):
    """Everything that decides a run but for what `BASE` says."""

    num_anchors: int
    l1_weight: float = 1e-5  # by dev
    epochs: int = BASE.epochs
    finetune: int = BASE.finetune
    seed: int = 0

    @property
    def training(self) -> awd_specs.Spec:
        """The training, and what its checkpoints are named by."""
        return BASE._replace(epochs=self.epochs, finetune=self.finetune, seed=self.seed)

    def folder(self, work: Path) -> Path:
        """Where its checkpoints are."""
        return work / f"anchors-{self.num_anchors}-{self.l1_weight:g}"


# The rate is 30: in 24 epochs of 143 steps, proximal steps take 100,000 strengths from an entry.
STRENGTHS = (1e-6, 3e-6, 1e-5)
ANCHORS = (100, 1000)
SPECS = [Spec(count) for count in ANCHORS]


def build(spec: Spec, num_words: int, batch_size: int | None) -> keras.Model:
    """The model: vectors begin as long as those of the table, `U(-0.1, 0.1)`.

    `A^T A` begins near the identity for as many anchors as columns or more, so that a step on `T`
    changes the vectors as one on the table would.
    """
    embedding = layers.AnchorTransformEmbedding(
        num_words,
        BASE.width,
        spec.num_anchors,
        l1_weight=spec.l1_weight,
        nonnegative=False,
        transform_initializer=keras.initializers.RandomNormal(stddev=0.1 / 3**0.5),
        embeddings_initializer=keras.initializers.RandomNormal(
            stddev=max(spec.num_anchors, BASE.width) ** -0.5
        ),
        name="embedding",
    )
    return awd.around(spec.training, embedding, batch_size)


def run(
    spec: Spec, corpus: ptb.Corpus, work: Path, test: bool = True, verbose: int = 0
) -> dict[str, Any]:
    """The row of a run."""

    def made(training: awd_specs.Spec, num_words: int, batch_size: int | None) -> keras.Model:
        return build(spec, num_words, batch_size)

    row = awd.run(spec.training, corpus, spec.folder(work), verbose, made, test)
    return {**row, "spec": spec._asdict(), "words": len(corpus.words)}


def grid() -> list[Spec]:
    """Trials of half of the epochs; what is chosen goes on from there."""
    return [Spec(ANCHORS[0], strength, BASE.epochs // 2, 0) for strength in STRENGTHS]


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
        cells = [f"{spec.num_anchors:,}", f"{spec.l1_weight:g}"]
        cells += [f"{spec.epochs} + {spec.finetune}", str(len(group))]
        cells += [
            f"{results.spread(group, key)[0]:.1f}" if key in first else "-"
            for key in ("train_dev", "dev_perplexity", "test_perplexity")
        ]
        cells += [f"{numbers:,.0f}", f"1/{full / numbers:.1f}"]
        cells.append(f"{first['step_bytes']:,}" if "step_bytes" in first else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
