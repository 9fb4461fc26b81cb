"""Words per second of skip-gram training: a table, and projections from cached bits or from text.

All arms in the same run, on the same text, with the same noise. A word per second is one of the
text, before frequent words are left out.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from benchmarks.data import wikipedia
from benchmarks.lib import processes, runner
from benchmarks.projections.skip_gram_runs import Spec, build, hidden_units, optimizer
from kerascompact.text.skip_gram_batches import SkipGramBatches

TOKENS, STEPS, WARM = 1_000_000, 12, 3


class Spelling(keras.layers.Layer):
    """The words of ids, as strings: bits are then made in the step."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(autocast=False)
        self.words = tuple(words)

    def call(self, ids: tf.Tensor) -> tf.Tensor:
        return tf.gather(tf.constant(self.words), ids)

    def compute_output_spec(self, ids: Any) -> keras.KerasTensor:
        return keras.KerasTensor(ids.shape, "string")


_SG = Spec("sg", batch_size=4096)
_NP = Spec("np_sg", hidden=hidden_units(1_000_000), batch_size=4096)
# As the runs of `word_similarity` are trained.
_BY_WORD: dict[str, Any] = {"by_word": True, "batch_size": 8192, "chunk": 62_500}
ARMS: dict[str, tuple[Spec, bool]] = {  # and whether the step reads text
    "SG, a table of 100 columns": (_SG, False),
    "SG, a table, by word": (_SG._replace(**_BY_WORD), False),
    "SG, noise of each pair's own": (_SG._replace(shared_noise=0, batch_size=1024), False),
    "NP-SG 1M, cached bits": (_NP, False),
    "NP-SG 1M, bits on the fly": (_NP, True),
    "NP-SG 1M, cached bits, misspelt": (_NP._replace(misspelt=0.4), False),
    "NP-SG 1M, cached bits, by word": (_NP._replace(**_BY_WORD), False),
    "NP-SG 1M, bits on the fly, by word": (_NP._replace(**_BY_WORD), True),
    "NP-SG 2M, cached bits, by word": (
        _NP._replace(hidden=hidden_units(2_000_000), **_BY_WORD),
        False,
    ),
    "NP-SG 4M, cached bits, by word": (
        _NP._replace(hidden=hidden_units(4_000_000), **_BY_WORD),
        False,
    ),
}


def measure(
    name: str, corpus: wikipedia.Words, steps: int = STEPS, warm: int = WARM
) -> dict[str, Any]:
    """Times of one arm's steps, without the drawing of pairs, which is timed apart."""
    spec, reads_text = ARMS[name]
    model = build(spec, corpus.words, corpus.counts)
    if reads_text:
        model.bits = Spelling(corpus.words)
    model.compile(optimizer(spec, 1000))
    start = time.process_time()
    batches = SkipGramBatches(
        corpus.ids,
        corpus.counts,
        spec.batch_size,
        texts=corpus.texts,
        by_word=spec.by_word,
        chunk=min(spec.chunk, corpus.tokens),
    )
    # the constructor draws the pairs of an epoch once, to count them
    drawing = time.process_time() - start
    wall, cpu, pairs, different = [], [], [], []
    for step in range(warm + steps):
        words, contexts = batches[step % len(batches)]
        begin, busy = time.perf_counter(), time.process_time()
        model.train_on_batch(words, contexts)
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - busy)
        pairs.append(len(words))
        different.append(len(np.unique(words)))
    of_epoch = sum(len(batches.pairs(0, place)[0]) for place in range(len(batches.chunks)))
    per_pair = corpus.tokens / of_epoch
    seconds = [np.sum(times[warm:]) / np.sum(pairs[warm:]) for times in (wall, cpu)]
    return {
        "arm": name,
        "spec": spec._asdict(),
        "tokens": corpus.tokens,
        "pairs_per_batch": round(float(np.mean(pairs))),
        "different_words": round(float(np.mean(different))),
        "milliseconds": round(1000 * float(np.median(wall[warm:])), 1),
        "cpu_milliseconds": round(1000 * float(np.median(cpu[warm:])), 1),
        "pairs_per_cpu_second": round(1 / seconds[1]),
        "words_per_second": round(per_pair / seconds[0]),
        "words_per_cpu_second": round(per_pair / seconds[1]),
        "drawing_cpu_share": round(drawing / (seconds[1] * of_epoch), 3),
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures everything anew: rows of another day's machine do not compare."""
    corpus = wikipedia.load(arguments.data, tokens=TOKENS)
    rows: list[dict[str, Any]] = []
    for arm in ARMS:
        keras.backend.clear_session()
        row = measure(arm, corpus)
        base = rows[0] if rows else row
        row["ratio"] = processes.times(row["words_per_cpu_second"], base["words_per_cpu_second"])
        rows.append(runner.keep(name, row, table))
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: words of the text per second, of wall clock and of CPU time; ratio to the first."""
    lines = [
        "| embedding | pairs in a batch | different words | ms/step | CPU ms | words/s "
        "| words/CPU s | ratio |",
        "|" + "---|" * 8,
    ]
    for row in rows:
        lines.append(
            f"| {row['arm']} | {row['pairs_per_batch']:,} | {row['different_words']:,} "
            f"| {row['milliseconds']:.0f} | {row['cpu_milliseconds']:.0f} "
            f"| {row['words_per_second']:,} | {row['words_per_cpu_second']:,} "
            f"| {processes.shown(row['ratio'])} |"
        )
    return "\n".join(lines)
