"""The experiments by name: which module runs each, and where its rows are."""

import importlib
import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]  # the checkout

# Folder -> module -> names. A module has `benchmark(name, arguments) -> rows` and `table(rows)`;
# rows of NAME are in `benchmarks/FOLDER/rows/NAME.jsonl`, of its dev trials in `NAME_dev.jsonl`.
FOLDERS: dict[str, dict[str, tuple[str, ...]]] = {
    "clusters": {
        "cluster_paper": (
            "imdb",
            "imdb_dev",
            "noise_dev",
            "ag_news",
            "dbpedia_subset",
            "clinc150",
            "trec",
        ),
        "curves": ("ag_news_curves", "dbpedia_curves", "ag_news_shares", "imdb_shares"),
        "small_rnn": ("rnn",),
        "cluster_words": ("cluster_words",),
        "speed": ("speed",),
        "paper": ("clusters_paper",),
    },
    "kd_codes": {
        "kd_paper": ("kd_text", "kd_text_dev"),
        "ptb": ("ptb", "ptb_300k", "ptb_medium", "ptb_large"),
        "graph": ("graph", "graph_dev"),
        "codes_short": ("codes_short", "codes_short_dev"),
        "codes_gradient": ("codes_gradient",),
        "code_sizes": ("code_sizes",),
        "code_words": ("code_words",),
        "codes_on_device": ("codes_device",),
        "codes_speed": ("codes_speed",),
        "codes_half": ("codes_half",),
        "paper": ("kd_codes_paper",),
    },
    "anchors": {
        "anchors_text": ("ant_text", "ant_text_dev"),
        "anchors_dbpedia": ("ant_dbpedia",),
        "anchors_ptb": ("ant_ptb", "ant_ptb_dev", "ant_ptb_whole"),
        "awd_anchors": ("awd_anchors", "awd_anchors_dev"),
        "anchors_wiki": ("ant_wiki", "ant_wiki_dev"),
        "anchors_ratings": ("ant_ratings", "ant_ratings_dev"),
        "anchors_on_device": ("anchors_device",),
        "anchors_softmax": ("anchors_softmax",),
        "anchors_sparse": ("anchors_sparse", "anchors_sparse_dev"),
        "paper": ("anchors_paper",),
    },
    "sparseness": {
        "awd": ("awd", "awd_300k", "awd_50k"),
        "memorisation": (
            "memorisation",
            "memorisation_warm",
            "memorisation_long",
            "memorisation_paper",
        ),
        "tagging": ("tagging", "tagging_dev", "tagging_conll2000", "tagging_wsj"),
        "recurrent_speed": ("recurrent_speed",),
        "paper": ("sparseness_paper",),
    },
    "projections": {
        "word_similarity": (
            "word_similarity",
            "word_similarity_part",
            "word_similarity_dev",
            "word_similarity_long",
        ),
        "projection_fit": ("projection_fit",),
        "projection_transfer": (
            "projection_transfer",
            "projection_transfer_part",
            "projection_transfer_long",
            "projection_transfer_whole",
            "projection_language_dev",
        ),
        "misspelt": ("misspelt",),
        "misspelt_words": ("misspelt_words",),
        "skip_gram_order": ("skip_gram_order",),
        "skip_gram_speed": ("skip_gram_speed",),
        "paper": ("projections_paper",),
    },
    "product": {
        "phone": ("phone",),
        "operator_times": ("operator_times",),
        "budgets": ("budgets",),
        "dev_alone": ("dev_alone",),
        "fasttext_autotune": ("fasttext_autotune",),
        "fasttext_grid": ("fasttext_grid", "fasttext_grid_dev"),
        "by_hand": ("by_hand", "by_hand_dev"),
        "search_sizes": ("search_sizes",),
        "search_files": ("search_files",),
        "search_compact": ("search_compact",),
        "few_labels": ("few_labels",),
        "few_labels_rivals": ("few_labels_rivals",),
        "few_labels_all": ("few_labels_all",),
        "shrunk": ("shrunk",),
        "keras_hub": ("keras_hub",),
        "generation": ("generation",),
        "gpt": ("gpt",),
        "trimmed": ("trimmed",),
        "large_table": ("large_table",),
        "wordpiece": ("wordpiece",),
        "in_mediapipe": ("in_mediapipe",),
        "text_in": ("text_in",),
        "text_bytes": ("text_bytes",),
        "text_speed": ("text_speed",),
        "aware": ("aware",),
        "integers": ("integers",),
        "few_bits": ("few_bits",),
        "parity": ("runtimes", "aarch64", "browser"),
        "reverify": ("reverify",),
        "fuzz": ("fuzz",),
        "lazy_speed": ("lazy_speed",),
        "many_ids": ("many_ids",),
        "step_speed": ("step_speed", "speed_gate"),
        "several_machines": ("several_machines",),
        "heads_speed": ("heads_speed",),
    },
}
MODULES = {
    name: f"benchmarks.{folder}.{module}"
    for folder, modules in FOLDERS.items()
    for module, names in modules.items()
    for name in names
}


def module_of(name: str) -> Any:
    """The module of an experiment."""
    return importlib.import_module(MODULES[name])


def rows_path(name: str) -> Path:
    """The file of an experiment's rows; with $KERASCOMPACT_RESULTS, of that name in that folder.

    >>> rows_path("trec_dev").relative_to(ROOT).as_posix()
    'benchmarks/clusters/rows/trec_dev.jsonl'
    """
    elsewhere = os.environ.get("KERASCOMPACT_RESULTS")
    if elsewhere:
        return Path(elsewhere) / f"{name}.jsonl"
    module = MODULES.get(name) or MODULES[name.removesuffix("_dev")]
    return ROOT / "benchmarks" / module.split(".")[1] / "rows" / f"{name}.jsonl"
