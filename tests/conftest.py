"""Quiet, cheap to compile, and the same random numbers in every test, in any order."""

import gc
import os
import random
import sys
import unittest.mock
import zlib
from collections import defaultdict
from collections.abc import Iterator

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before the first import of tensorflow
os.environ.setdefault("MPLBACKEND", "Agg")
# Tables of tests are small, and pytest has a process for each core: threads would only wait.
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")
# XLA compiles for each test and runs the result a few times: correct code will do, fast code costs.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)


@pytest.hookimpl(tryfirst=True)  # before pytest deselects the slow ones
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks all but `n` cases of a test with `few(n)` as slow, the same ones in every run."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("slow"):
            cases[item.nodeid.split("[")[0]].append(item)
    for group in cases.values():
        (count,) = group[0].get_closest_marker("few").args
        # In the order of a hash, so that the cases of a product differ in each argument.
        group.sort(key=lambda item: zlib.crc32(item.name.encode()))
        for item in group[count:]:
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """What is imported stays: the garbage collector need not look at it again after each test."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(autouse=True)
def seed() -> None:
    """Seeds Python, NumPy and Keras, if the test has anything to do with Keras.

    `tf.random.set_seed` would throw away the kernels of all operations, which costs a third of most
    tests, only because those of stateful random operations go on counting. Our code has none of
    these, nor has Keras outside of graphs.
    """
    if "keras" in sys.modules:
        with unittest.mock.patch("tensorflow.random.set_seed"):
            sys.modules["keras"].utils.set_random_seed(0)
        eager = sys.modules["tensorflow.python.eager.context"].context()
        eager._seed, eager._rng = 0, random.Random(0)


@pytest.fixture(autouse=True, scope="module")
def lean() -> Iterator[None]:
    """Optimizes no graph, which most tests run a few times, and frees those of a file's tests.

    `contracts` optimizes the graphs in which each embedding is fitted; the converter has its own
    options. A run of all tests would keep gigabytes of graphs.
    """
    if "tensorflow" in sys.modules:
        options = sys.modules["tensorflow"].config.optimizer
        options.set_experimental_options({"disable_meta_optimizer": True})
    yield
    if "keras" in sys.modules:
        # TensorFlow keeps the gradient of every `tf.custom_gradient` of a graph, and so the graph.
        registered = sys.modules["tensorflow.python.framework.ops"].gradient_registry._registry
        for name in [name for name in registered if name.startswith("CustomGradient-")]:
            del registered[name]
        sys.modules["keras"].utils.clear_session()  # and collects garbage
