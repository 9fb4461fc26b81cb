"""`python -m benchmarks.run NAME`: runs a benchmark, or goes on with it; prints its table.

Rows are kept in `benchmarks/FOLDER/rows/NAME.jsonl`; a run that has a row is not repeated.
Without a name: prints the tables of all rows there are.
"""

import argparse
import os
import sys

from benchmarks.lib.experiments import MODULES, module_of


def parser() -> argparse.ArgumentParser:
    """The options that benchmarks share; each reads those that concern it."""
    made = argparse.ArgumentParser("python -m benchmarks.run", description=__doc__)
    made.add_argument("name", nargs="?", choices=MODULES, help="which benchmark")
    made.add_argument("--data", help="data folder (default $KERASCOMPACT_DATA, ../shared/data)")
    made.add_argument("--seeds", type=int, nargs="+", help="default: as in the tables")
    made.add_argument("--epochs", type=int, help="of language models: fewer, to try a command")
    made.add_argument("--work", default="runs", help="folder for checkpoints of long runs")
    made.add_argument("--threads", type=int, default=0, help="of TensorFlow; 0: all cores")
    made.add_argument("--minutes", type=float, default=10, help="of a search (%(default)s)")
    made.add_argument("--workers", type=int, default=2, help="of a search (%(default)s)")
    made.add_argument(
        "--trials", type=int, help="most of a search of `few_labels`; default: what its time allows"
    )
    made.add_argument("--distil", action="store_true", help="a search with soft labels")
    made.add_argument(
        "--labels", type=int, nargs="+", help="of `few_labels`; default: as in tables"
    )
    made.add_argument("--sets", nargs="+", help="data sets of a search; default: as in the tables")
    made.add_argument("--verbose", type=int, default=0, help="of `model.fit`")
    made.add_argument("--sizes", action="store_true", help="count bytes anew, train nothing")
    return made


def main(argv: list[str] | None = None) -> int:
    """Parses arguments and runs one benchmark."""
    arguments = parser().parse_args(argv)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    import tensorflow as tf  # after the log level is set

    from benchmarks.lib import results

    if arguments.threads:
        tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
        tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)
    if arguments.name is not None:
        module = module_of(arguments.name)
        print(module.table(module.benchmark(arguments.name, arguments)))
        return 0
    for name in MODULES:
        found = results.rows(name)
        if found:
            print(f"\n{name}\n{module_of(name).table(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
