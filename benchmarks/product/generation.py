"""Causal language models of keras-hub in a file: the same tokens as `lm.generate`, and their speed.

Models are small and have random weights.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data import keras_hub_models as hub
from benchmarks.lib import runner
from kerascompact import export
from kerascompact.runtime import CausalLM

LONGEST, PROMPTS = 24, (1, 5, 9, 16)


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
    """A language model with random weights, gains around 1 and biases around 0."""
    keras.utils.set_random_seed(seed)
    return hub.as_if_trained(hub.models()[f"{name}CausalLM"](), seed)


def generated(lm: Any, prompt: np.ndarray) -> list[int]:
    """The tokens of keras-hub itself, by a model that is compiled with its sampler."""
    ids = np.zeros((1, LONGEST), "int32")
    ids[0, : len(prompt)] = prompt
    inputs = {"token_ids": ids, "padding_mask": np.arange(LONGEST)[None] < len(prompt)}
    # `lm.generate` of Gemma 3 needs a preprocessor; this is what it calls
    outputs = lm.make_generate_function()(inputs, stop_token_ids=None)
    return np.asarray(outputs["token_ids"])[0].tolist()


def speed(generate: Callable[[], object]) -> int:
    """Tokens a second after a prompt of one token: the best of five, since others use the cores."""
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        generate()
        seconds.append(time.perf_counter() - start)
    return round((LONGEST - PROMPTS[0]) / min(seconds))


def compared(lm: Any) -> dict[str, Any]:
    """The row of a model: prompts with equal tokens, and tokens per second.

    Keras is timed by its plain graph, its default without a GPU, and by XLA, both traced before.
    """
    file = export.convert_causal_lm(lm, "float32", max_length=LONGEST)
    reader = CausalLM(file)
    random = np.random.default_rng(0)
    prompts = [random.integers(1, hub.VOCABULARY, count) for count in PROMPTS]
    of_keras = {}
    for jit_compile in (True, False):  # compiling forgets the function that was traced
        lm.compile(sampler="greedy", jit_compile=jit_compile)
        wanted = [generated(lm, prompt) for prompt in prompts]
        of_keras[jit_compile] = speed(lambda: generated(lm, prompts[0]))
    found = [reader.generate(prompt) for prompt in prompts]
    return {
        "bytes": len(file),
        "equal": sum(map(list.__eq__, found, wanted)),
        "different_tokens": len({token for tokens in found for token in tokens}),
        "tokens_per_second": speed(lambda: reader.generate(prompts[0])),
        "keras_tokens_per_second": of_keras[False],
        "keras_xla_tokens_per_second": of_keras[True],
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each model."""
    heads = ["model", "file B", "equal prompts", "of", "different tokens", "tokens/s", "Keras"]
    heads.append("Keras, XLA")
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        cells = [row["spec"]["model"], f"{row['bytes']:,}", str(row["equal"]), str(len(PROMPTS))]
        cells += [str(row["different_tokens"]), f"{row['tokens_per_second']:,}"]
        cells += [f"{row[f'keras{way}_tokens_per_second']:,}" for way in ("", "_xla")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
