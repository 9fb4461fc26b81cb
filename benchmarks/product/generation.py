"""Causal language models of keras-hub in a file: the same tokens as `lm.generate`, and their speed.

Models are small and have random weights, large enough that logits are far apart.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data import keras_hub_models as hub
from benchmarks.lib import runner
from kerascompact import export
from kerascompact.runtime import CausalLM

LONGEST, PROMPTS = 24, (1, 5, 9, 16)
SPREAD = 0.3  # of random weights


class Spec(NamedTuple):
    """What decides a row."""

    model: str
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""

    def run(spec: Spec) -> dict[str, Any]:
        keras.utils.clear_session()
        return compared(random_lm(spec.model, spec.seed))

    specs = [Spec(model, seed) for model in hub.LANGUAGE for seed in arguments.seeds or (0,)]
    return runner.run_all(name, specs, run, table)


def random_lm(name: str, seed: int) -> Any:
    """A language model whose matrices are drawn from a normal distribution."""
    lm = hub.models()[f"{name}CausalLM"]()
    keras.utils.set_random_seed(seed)
    for variable in lm.weights:
        if len(variable.shape) > 1:
            variable.assign(keras.random.normal(variable.shape, stddev=SPREAD))
    return lm


def generated(lm: Any, prompt: np.ndarray) -> list[int]:
    """The greedy tokens of keras-hub itself."""
    lm.compile(sampler="greedy", jit_compile=False)
    ids = np.zeros((1, LONGEST), "int32")
    ids[0, : len(prompt)] = prompt
    inputs = {"token_ids": ids, "padding_mask": np.arange(LONGEST)[None] < len(prompt)}
    # `lm.generate` of Gemma 3 needs a preprocessor; this is what it calls
    outputs = lm.make_generate_function()(inputs, stop_token_ids=None)
    return np.asarray(outputs["token_ids"])[0].tolist()


def compared(lm: Any) -> dict[str, Any]:
    """The row of a model: prompts with equal tokens, and tokens per second after them."""
    file = export.convert_causal_lm(lm, "float32", max_length=LONGEST)
    reader = CausalLM(file)
    random = np.random.default_rng(0)
    prompts = [random.integers(1, hub.VOCABULARY, count) for count in PROMPTS]
    wanted = [generated(lm, prompt) for prompt in prompts]
    start = time.perf_counter()
    generated(lm, prompts[0])
    keras_seconds = time.perf_counter() - start
    found = [reader.generate(prompt) for prompt in prompts]
    reader.generate(prompts[0])
    return {
        "bytes": len(file),
        "equal": sum(map(list.__eq__, found, wanted)),
        "different_tokens": len({token for tokens in found for token in tokens}),
        "tokens_per_second": round(reader.tokens_per_second or 0.0),
        "keras_tokens_per_second": round((LONGEST - 1) / keras_seconds),
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each model."""
    heads = ["model", "file B", "equal prompts", "of", "different tokens", "tokens/s", "Keras"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        cells = [row["spec"]["model"], f"{row['bytes']:,}", str(row["equal"]), str(len(PROMPTS))]
        cells += [str(row["different_tokens"]), f"{row['tokens_per_second']:,}"]
        cells.append(f"{row['keras_tokens_per_second']:,}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
