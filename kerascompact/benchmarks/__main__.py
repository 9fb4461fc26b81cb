"""`python -m kerascompact.benchmarks NAME`: runs a benchmark, or goes on with it; prints its table.

Rows are kept in `kerascompact/benchmarks/results/NAME.jsonl`; a run that has a row is not repeated.
Without a name: prints the tables of all rows there are.
"""

import argparse
import os
import sys

NAMES = ("imdb", "ag_news", "clinc150", "trec", "speed")


def main(argv: list[str] | None = None) -> int:
    """Parses arguments and runs one benchmark."""
    parser = argparse.ArgumentParser("python -m kerascompact.benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", choices=NAMES, help="which benchmark")
    parser.add_argument("--data", help="data folder (default $KERASCOMPACT_DATA, ../shared/data)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=0, help="of TensorFlow; 0: all cores")
    parser.add_argument("--verbose", type=int, default=0, help="of `model.fit`")
    parser.add_argument("--sizes", action="store_true", help="count bytes anew, train nothing")
    arguments = parser.parse_args(argv)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    import tensorflow as tf  # after the log level is set

    from kerascompact.benchmarks import cluster_paper, results, runs, speed

    if arguments.threads:
        tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
        tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)
    if arguments.name is None:
        for name in NAMES:
            found = results.rows(name)
            if found:
                print(f"\n{name}\n" + (speed if name == "speed" else results).table(found))
    elif arguments.sizes:
        runs.size_again(arguments.name, arguments.data)
        print(results.table(results.rows(arguments.name)))
    elif arguments.name == "speed":
        print(speed.table(speed.speed()))
    else:
        benchmark = getattr(cluster_paper, arguments.name)
        found = benchmark(
            arguments.seeds,
            data_dir=arguments.data,
            jit_compile=arguments.name in ("imdb", "ag_news"),  # an LSTM is twice as fast with it
            verbose=arguments.verbose,
        )
        print(results.table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
