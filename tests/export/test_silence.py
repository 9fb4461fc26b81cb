import logging
import os

import pytest

from kerascompact.export.silence import quiet


class Heard(logging.Handler):
    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


def test_hides_warnings_within_and_not_after():
    logger, heard = logging.getLogger("tensorflow"), Heard()
    before = logger.level
    logger.addHandler(heard)  # TensorFlow's logger does not propagate to pytest's
    try:
        logger.setLevel(logging.WARNING)
        with quiet():
            logger.warning("hidden")
            logger.error("shown")
        assert logger.level == logging.WARNING
        logger.warning("heard")
    finally:
        logger.removeHandler(heard)
        logger.setLevel(before)
    assert heard.messages == ["shown", "heard"]


def test_native_hides_standard_error_and_gives_it_back_after_an_error(capfd):
    with pytest.raises(KeyError, match="gone"), quiet(native=True):
        os.write(2, b"hidden")
        raise KeyError("gone")
    os.write(2, b"shown")
    assert capfd.readouterr().err == "shown"


def test_leaves_standard_error_alone_unless_asked(capfd):
    with quiet():
        os.write(2, b"shown")
    assert capfd.readouterr().err == "shown"
