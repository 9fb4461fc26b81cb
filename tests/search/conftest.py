"""Trainings as short as the tasks of the tests need."""

import pytest

from kerascompact.search import training


@pytest.fixture(scope="session", autouse=True)
def short_epochs():
    """Of a few hundred rows an epoch has no more than 1,000."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "LEAST", 1000)
        yield
