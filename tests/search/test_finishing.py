"""End of a search: what is said if no file fits, and what is trained again."""

import types

import pytest

from kerascompact.search import finishing
from kerascompact.search.runs import Run
from kerascompact.search.setting import Setting


def test_a_file_that_came_out_too_large_is_the_cause(monkeypatch):
    run = Run(9, 0, Setting(5, 2), 9, 0.9, 0, 0, 0, 1.0, 0.9)
    worker = types.SimpleNamespace(
        task=types.SimpleNamespace(num_train=1, used=(2, 2)),
        studies=types.SimpleNamespace(errors=lambda budget: ["an earlier one"]),
    )
    monkeypatch.setattr(finishing, "ranked", lambda worker, budget: [(0, [run], None)])
    monkeypatch.setattr(finishing, "_kept", lambda worker, run: None)
    monkeypatch.setattr(finishing, "converted", lambda worker, found: bytes(5120))
    with pytest.raises(ValueError, match="of at most 5,100 bytes: the last one tried has 5,120"):
        finishing.finish(worker, 5100, refit=False)


def test_a_model_of_another_machine_is_trained_as_its_trial_was(monkeypatch, tmp_path):
    """Without the texts that the trial held out, by which its epoch was picked, too."""
    run = Run(9, 0, Setting(5, 2), 9, 0.9, 1, 2, 0, 1.0, 0.9)
    asked = []
    worker = types.SimpleNamespace(
        place=lambda run: tmp_path,
        fitting=types.SimpleNamespace(words=lambda setting, budget, fold: (setting, "words")),
        held=lambda fold: f"held out of {fold}",
        train=lambda *args, **options: asked.append((args, options)),
    )
    finishing._kept(worker, run)
    wanted = (run.setting, "words", run.fold, run.repeat), {"held": f"held out of {run.fold}"}
    assert asked == [wanted]
