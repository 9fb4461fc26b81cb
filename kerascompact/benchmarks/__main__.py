"""`python -m kerascompact.benchmarks NAME`: runs a benchmark, or goes on with it; prints its table.

Rows are kept in `kerascompact/benchmarks/results/NAME.jsonl`; a run that has a row is not repeated.
Without a name: prints the tables of all rows there are.
"""

import argparse
import importlib
import os
import sys
from typing import Any

# Name -> module with `benchmark(name, arguments) -> rows` and `table(rows) -> str`.
MODULES = {
    "imdb": "cluster_paper",
    "ag_news": "cluster_paper",
    "clinc150": "cluster_paper",
    "trec": "cluster_paper",
    "kd_text": "kd_paper",
    "kd_text_dev": "kd_paper",
    "ant_text": "anchors_text",
    "ant_text_dev": "anchors_text",
    "ant_ptb": "anchors_ptb",
    "ant_ptb_dev": "anchors_ptb",
    "speed": "speed",
    "codes_device": "codes_on_device",
    "anchors_device": "anchors_on_device",
    "anchors_softmax": "anchors_softmax",
    "codes_speed": "codes_speed",
    "heads_speed": "heads_speed",
    "lazy_speed": "lazy_speed",
    "recurrent_speed": "recurrent_speed",
    "recite": "recite",
    "recite_paper": "recite",
    "awd": "awd",
    "awd_300k": "awd",
    "graph": "graph",
    "word_similarity": "word_similarity",
    "word_similarity_part": "word_similarity",
    "projection_fit": "projection_fit",
    "word_similarity_dev": "word_similarity",
    "skip_gram_speed": "skip_gram_speed",
    "projection_transfer": "projection_transfer",
    "projection_transfer_whole": "projection_transfer",
    "misspelt": "misspelt",
    "tagging": "tagging",
    "tagging_dev": "tagging",
    "tagging_conll2000": "tagging",
    "tagging_wsj": "tagging",
    "text_in": "text_in",
    "aware": "aware",
    "phone": "phone",
    "reverify": "reverify",
    "budgets": "budgets",
    "budgets_dev": "budgets",
    "budgets_long": "budgets",
    "runtimes": "elsewhere",
    "fuzz": "fuzz",
    "aarch64": "elsewhere",
    "browser": "elsewhere",
    "ptb": "ptb",
    "ptb_300k": "ptb",
    "ptb_medium": "ptb",
    "ptb_large": "ptb",
}


def parser() -> argparse.ArgumentParser:
    """The options that benchmarks share; each reads those that concern it."""
    made = argparse.ArgumentParser("python -m kerascompact.benchmarks", description=__doc__)
    made.add_argument("name", nargs="?", choices=MODULES, help="which benchmark")
    made.add_argument("--data", help="data folder (default $KERASCOMPACT_DATA, ../shared/data)")
    made.add_argument("--seeds", type=int, nargs="+", help="default: as in the tables")
    made.add_argument("--epochs", type=int, help="of language models: fewer, to try a command")
    made.add_argument("--work", default="runs", help="folder for checkpoints of long runs")
    made.add_argument("--threads", type=int, default=0, help="of TensorFlow; 0: all cores")
    made.add_argument("--verbose", type=int, default=0, help="of `model.fit`")
    made.add_argument("--sizes", action="store_true", help="count bytes anew, train nothing")
    return made


def main(argv: list[str] | None = None) -> int:
    """Parses arguments and runs one benchmark."""
    arguments = parser().parse_args(argv)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    import tensorflow as tf  # after the log level is set

    from kerascompact.benchmarks import results

    if arguments.threads:
        tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
        tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)
    if arguments.name is not None:
        module = _module(arguments.name)
        print(module.table(module.benchmark(arguments.name, arguments)))
        return 0
    for name in MODULES:
        found = results.rows(name)
        if found:
            print(f"\n{name}\n{_module(name).table(found)}")
    return 0


def _module(name: str) -> Any:
    return importlib.import_module(f"kerascompact.benchmarks.{MODULES[name]}")


if __name__ == "__main__":
    sys.exit(main())
