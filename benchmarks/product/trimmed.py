"""A vocabulary trimmed to the texts of a data set: bytes saved, and what other texts become.

A backbone of keras-hub with random weights, in the sizes of all-MiniLM-L6-v2 (6 layers, 384 wide),
with two vocabularies of others: BERT's 30,522 WordPiece tokens, and the 32,000 BPE tokens of
Llama 2. Texts of train decide what stays; those of test were not seen.
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import runner
from benchmarks.lib.sentence_encoder import package_file, tokenizer_json
from kerascompact import datasets, export
from kerascompact.compress import trim_vocabulary
from kerascompact.core.extras import require

SETS = ("clinc150", "ag_news")
LENGTH, COMPARED = 64, 20
SIZES = {
    "num_layers": 6,
    "num_heads": 12,
    "hidden_dim": 384,
    "intermediate_dim": 1536,
    "max_sequence_length": 512,
}


class Spec(NamedTuple):
    """What decides a row; `keep` as in `trim_vocabulary`."""

    dataset: str
    tokenizer: str
    keep: int | None = None
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    specs = [
        Spec(dataset, tokenizer, keep)
        for dataset in arguments.sets or SETS
        for tokenizer in ("WordPiece", "BPE")
        for keep in (None, 4000)
    ]

    def run(spec: Spec) -> dict[str, Any]:
        keras.utils.clear_session()
        return trimmed(spec, datasets.load(spec.dataset, arguments.data))

    return runner.run_all(name, specs, run, table)


def tokenizer_of(kind: str) -> Any:
    """A `tokenizers.Tokenizer` of others."""
    kinds = require("tokenizers", "vectors").Tokenizer
    if kind == "WordPiece":
        made = kinds.from_str(tokenizer_json())
        made.no_padding()
        made.no_truncation()
        return made
    name = "tokenizers/l2_supercat_tokenizer_config.json"
    return kinds.from_file(str(package_file("wordllama", name)))


def trimmed(spec: Spec, loaded: datasets.Dataset) -> dict[str, Any]:
    """The row: sizes of vocabularies and int8 files, and test texts whose tokens are all kept."""
    hub = require("keras_hub", "hub").models
    whole = tokenizer_of(spec.tokenizer)
    keras.utils.set_random_seed(spec.seed)
    model = hub.BertBackbone(whole.get_vocab_size(), **SIZES)
    small = trim_vocabulary(model, whole, loaded.train.texts, spec.keep)
    kept = {*small.ids.tolist()}
    rows = [one.ids for one in whole.encode_batch(loaded.test.texts)]
    places = [place for place, row in enumerate(rows) if kept >= {*row}]
    new = [one.ids for one in small.tokenizer.encode_batch([loaded.test.texts[i] for i in places])]
    same = [small.ids[row].tolist() == rows[i] for i, row in zip(places, new, strict=True)]
    shown = places[:COMPARED]
    worst = max(
        float(np.abs(_pooled(model, rows[i]) - _pooled(small.model, one)).max())
        for i, one in zip(shown, new, strict=False)
    )
    return {
        "tokens": whole.get_vocab_size(),
        "kept": len(small.ids),
        "bytes": len(export.convert(model, "int8", sequence_length=LENGTH)),
        "trimmed_bytes": len(export.convert(small.model, "int8", sequence_length=LENGTH)),
        "inside": len(places) / len(rows),
        "same_tokens": sum(same) / len(places),
        "difference": worst,
    }


def _pooled(model: keras.Model, row: list[int]) -> np.ndarray:
    ids = np.array([row[:512]])
    given = {"token_ids": ids, "padding_mask": np.ones_like(ids), "segment_ids": 0 * ids}
    return np.asarray(model(given)["pooled_output"])


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each data set and vocabulary."""
    heads = ["data set", "tokenizer", "tokens", "kept", "int8 file B", "trimmed B", "saved %"]
    heads += ["test texts inside %", "same tokens %", "difference"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        spec = row["spec"]
        cells = [spec["dataset"], spec["tokenizer"], f"{row['tokens']:,}", f"{row['kept']:,}"]
        cells += [f"{row['bytes']:,}", f"{row['trimmed_bytes']:,}"]
        cells += [f"{100 * (1 - row['trimmed_bytes'] / row['bytes']):.1f}"]
        cells += [f"{100 * row['inside']:.1f}", f"{100 * row['same_tokens']:.1f}"]
        cells.append(f"{row['difference']:.0e}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
