import logging
import os

import pytest

from kerascompact.export.quiet import quiet


def test_hides_warnings_within_and_not_after(caplog):
    logger = logging.getLogger("tensorflow")
    before = logger.level
    with quiet():
        logger.warning("hidden")
        logger.error("shown")
    assert logger.level == before
    logger.warning("heard")
    assert [record.message for record in caplog.records] == ["shown", "heard"]


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
