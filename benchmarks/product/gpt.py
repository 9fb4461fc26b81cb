"""A small GPT of keras-hub on Penn Treebank: perplexity of its files, by tables and kernels.

Files are read token by token by `runtime.CausalLM`, the cache going in and out. Every window of
test is read from its first token on.
"""

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data import ptb
from benchmarks.lib import runner
from benchmarks.product.search_compact import windows
from kerascompact import export
from kerascompact.compress import ProductQuantization, compress_model
from kerascompact.core.extras import require
from kerascompact.runtime import CausalLM

LENGTH, WIDTH, BATCH = 35, 128, 32
SHOWN = 400  # windows of test
STORED = ("float32", "int8", "int4", "dynamic", "dynamic_int4", "codes of 32 x 256, int8")


class Spec(NamedTuple):
    """What decides a row: how the file stores the model, and its training."""

    stored: str
    epochs: int = 3
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet, all on one trained model for each seed."""
    corpus = ptb.load(arguments.data)
    models: dict[int, Any] = {}

    def run(spec: Spec) -> dict[str, Any]:
        if spec.seed not in models:
            models[spec.seed] = trained(corpus, spec, Path(arguments.work))
        return scored(models[spec.seed], spec, corpus)

    specs = [Spec(stored, seed=seed) for seed in arguments.seeds or (0,) for stored in STORED]
    return runner.run_all(name, specs, run, table)


def trained(corpus: ptb.Corpus, spec: Spec, work: Path) -> Any:
    """The language model; its weights are kept."""
    hub = require("keras_hub", "hub").models
    keras.utils.set_random_seed(spec.seed)
    backbone = hub.GPT2Backbone(
        len(corpus.words), 2, 4, WIDTH, 4 * WIDTH, dropout=0.1, max_sequence_length=LENGTH
    )
    lm = hub.GPT2CausalLM(backbone, None)
    path = work / f"gpt-{spec.seed}-{spec.epochs}.weights.h5"
    if path.exists():
        lm.load_weights(path)
        return lm
    x, y = windows(corpus.train)
    order = np.random.default_rng(spec.seed).permutation(len(x))
    rate = keras.optimizers.schedules.PolynomialDecay(3e-3, spec.epochs * -(-len(x) // BATCH), 0.0)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    lm.compile(keras.optimizers.Adam(rate), loss, weighted_metrics=[])
    given = {"token_ids": x[order], "padding_mask": np.ones_like(x)}
    lm.fit(given, y[order], batch_size=BATCH, epochs=spec.epochs, verbose=2)
    work.mkdir(parents=True, exist_ok=True)
    lm.save_weights(path)
    return lm


def scored(lm: Any, spec: Spec, corpus: ptb.Corpus) -> dict[str, Any]:
    """The row: bytes, perplexity of the file and of Keras, tokens a second."""
    model, recipe = lm, spec.stored
    if spec.stored.startswith("codes"):
        model, recipe = compress_model(lm, ProductQuantization(32, 256, seed=spec.seed)), "int8"
    file = export.convert_causal_lm(model, recipe, max_length=LENGTH)
    reader, total, seconds = CausalLM(file), 0.0, 0.0
    x, y = (array[:SHOWN] for array in windows(corpus.test))
    for row, wanted in zip(x, y, strict=True):
        start = time.perf_counter()
        found = reader.logits(row)
        seconds += time.perf_counter() - start
        logits = found.astype(np.float64)
        highest = logits.max(axis=1)
        sums = highest + np.log(np.exp(logits - highest[:, None]).sum(axis=1))
        total += float(np.sum(sums - logits[np.arange(len(row)), wanted]))
    loss = lm.evaluate({"token_ids": x, "padding_mask": np.ones_like(x)}, y, verbose=0)
    return {
        "bytes": len(file),
        "perplexity": math.exp(total / x.size),
        "keras_perplexity": math.exp(loss if isinstance(loss, float) else loss[0]),
        "tokens_per_second": round(x.size / seconds),
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each file."""
    lines = [
        "| stored as | seed | file B | perplexity of the file | of Keras, float32 | tokens/s |",
        "|" + "---|" * 6,
    ]
    for row in rows:
        cells = [row["spec"]["stored"], str(row["spec"]["seed"]), f"{row['bytes']:,}"]
        cells += [f"{row['perplexity']:.2f}", f"{row['keras_perplexity']:.2f}"]
        cells.append(f"{row['tokens_per_second']:,}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
