"""Quiet, the same random numbers in every test, and the data files of tests/data_files.py."""

import os
import sys

import pytest

from data_files import real_data, store  # noqa: F401

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before the first import of tensorflow
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(autouse=True)
def seed() -> None:
    """Seeds Python, NumPy and Keras, if the test has anything to do with Keras."""
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(0)
