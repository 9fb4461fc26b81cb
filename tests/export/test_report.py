"""Which pair is held to which limits, and what a report says of it."""

import json

import numpy as np
import pytest

from kerascompact.export.verification.differences import Difference
from kerascompact.export.verification.report import Report

SAME, CLOSE = Difference(1.0, 0, 0.0, 0.0, 3), Difference(0.99, 0, 0.02, 0.001, 7)
FAR = Difference(0.9, 0, 0.3, 0.01, 5)
REPORT = Report(100, SAME, SAME, SAME, 1000, 2.0, 0.9, 0.9, 0.9, np.zeros((100, 2)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frozen_file": CLOSE}, r"^The file does not predict what Keras does with the frozen mod"),
        ({"trained_frozen": CLOSE}, r"^The frozen model does not predict what the trained model"),
        ({"trained_file": CLOSE}, r"^The file does not predict what the trained model does: 100 "),
        ({"trained_frozen": CLOSE, "rounds": True, "exact": False}, "The frozen model does not pr"),
        ({"frozen_file": FAR, "rounds": True, "exact": False}, "difference inf, agreement 0.98"),
        (
            {"frozen_file": CLOSE, "rounds": True},
            r"Worst example: 7\. Allowed: difference 0\.0001, ag",
        ),
        ({"frozen_file": SAME._replace(largest=np.nan)}, "largest difference nan"),
    ],
)
def test_each_pair_is_held(change, message):
    with pytest.raises(ValueError, match=message):
        REPORT._replace(**change).check()


def test_what_a_recipe_costs_is_reported_and_bounded_by_the_loss():
    report = REPORT._replace(trained_file=FAR, rounds=True, file_accuracy=0.85)
    assert report.check() is report
    assert "(no limit, since the recipe rounds)" in str(report)
    with pytest.raises(ValueError, match=r"trained 0.9000, file 0.8500. Allowed: 0.01."):
        report.held_to(max_loss=0.01).check()
    report.held_to(max_loss=0.05).check()
    with pytest.raises(ValueError, match="`max_loss` needs `labels`"):
        report._replace(trained_accuracy=None, file_accuracy=None).held_to(max_loss=0.5).check()


def test_limits_given_are_those_of_every_pair_that_is_held():
    for pair in ("frozen_file", "trained_frozen", "trained_file"):
        report = REPORT._replace(**{pair: CLOSE})
        report.held_to(tolerance=0.02, min_agreement=0.99).check()
        with pytest.raises(ValueError, match="Allowed: difference 0.02, agreement 1"):
            report.held_to(tolerance=0.02).check()
        report._replace(**{pair: CLOSE._replace(ties=1)}).held_to(tolerance=0.02).check()
        with pytest.raises(ValueError, match="Allowed: difference 0.01, agreement 0.9"):
            report.held_to(tolerance=0.01, min_agreement=0.9).check()
    REPORT._replace(rounds=True, exact=False, frozen_file=CLOSE).check()


def test_says_which_pairs_and_which_limits():
    lines = str(REPORT._replace(rounds=True, exact=False).held_to(max_loss=0.02)).splitlines()
    assert lines[0] == "100 examples, 1000 bytes, 2.0 us"
    starts = ["frozen model - file:", "trained model - frozen model, ", "trained model - file:"]
    assert [line[: len(start)] for line, start in zip(lines[1:], starts, strict=False)] == starts
    assert lines[1].endswith("(allowed: difference inf, agreement 0.98)")
    assert lines[2].endswith("(allowed: difference 0.0001, agreement 1)")
    assert lines[3].endswith("(no limit, since the recipe rounds)")
    assert lines[4] == ("accuracy: trained 0.9000, frozen 0.9000, file 0.9000 (loss allowed: 0.02)")
    facts = json.loads(json.dumps(REPORT._replace(rounds=True).facts()))
    assert facts["trained_frozen"]["largest"] == 0.0 and facts["rounds"] is True
    assert facts["held_to"]["frozen_file"] == {"difference": 1e-4, "agreement": 1.0}
    facts = json.loads(json.dumps(REPORT._replace(exact=False).facts(), allow_nan=False))
    assert facts["held_to"]["frozen_file"] == {"difference": None, "agreement": 0.98}
    assert (
        REPORT._replace(rounds=True).facts()["held_to"]["trained_file"] is None
        and "outputs" not in facts
    )
