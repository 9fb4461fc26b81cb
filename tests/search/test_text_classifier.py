"""A search on a small task: files within their budgets, that give Keras' answers."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import optuna
import pytest

from kerascompact.datasets import Split
from kerascompact.runtime import TextClassifier
from kerascompact.search import finishing, sizes, text_classifier
from kerascompact.search.found import importances
from kerascompact.search.sizes import MARGIN
from tiny_task import dataset

BUDGETS = ["12KiB", "20KB"]
# Two budgets are two trainings and two files.
NUMBERS = [pytest.param(1, id="one"), pytest.param(2, id="two", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", params=NUMBERS)
def found(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    budgets = BUDGETS[: request.param]
    # One trial for each budget. `test_odd_data.py` trains the best setting again.
    options = {"workers": 1, "trials": len(budgets), "dev_alone": True, "verbose": False}
    options["folder"] = folder / "search"
    with pytest.MonkeyPatch.context() as patch:
        measured_once(patch)
        patch.setattr(finishing, "_again", None)  # nothing is trained on dev
        return text_classifier(dataset(), budgets, minutes=9, **options), folder, budgets


def measured_once(patch):
    """The graph of a kind in slots is measured on one model, not on two."""
    patch.setattr(sizes, "IN_SLOTS", (1500,))


def test_files_keep_their_budgets_and_read_text(found, tmp_path):
    result, _, budgets = found
    assert list(result.by_budget) == budgets and result.best is result.by_budget[budgets[-1]]
    raw = dataset()
    for best in result.by_budget.values():
        assert len(best.file) <= best.budget
        classifier = TextClassifier(best.file)
        answers = [classifier.predict(text).label for text in raw.test.texts]
        right = np.mean(
            [a == raw.label_names[n] for a, n in zip(answers, raw.test.labels, strict=True)]
        )
        assert best.test_score == right > 0.45  # chance is 1/3
        ids = best.vocabulary.encode_all(raw.test.texts, result.facts["sequence_length"])
        keras_right = np.mean(best.model.predict(ids, verbose=0).argmax(1) == raw.test.labels)
        assert abs(keras_right - right) < 0.05  # before rounding


def test_predicted_bytes_are_those_of_the_file(found):
    result, folder, _ = found
    for best in result.by_budget.values():
        runs = [run for run in result.trials if run.setting == best.setting]
        assert runs and -MARGIN <= runs[0].bytes - len(best.file) <= MARGIN


def test_saves_what_other_commands_read(found, tmp_path):
    result, _, budgets = found
    result.save(tmp_path)
    for name, best in result.by_budget.items():
        folder = tmp_path / name if len(budgets) > 1 else tmp_path
        assert (folder / "model.tflite").read_bytes() == best.file
        report = json.loads((folder / "report.json").read_text())
        assert report["file_bytes"] == len(best.file) and report["recipe"] == best.setting.recipe
        files = {path.name for path in folder.iterdir()}
        assert files >= {"model.keras", "vocabulary.txt", "labels.txt"}
    assert len((tmp_path / "trials.jsonl").read_text().splitlines()) == len(result.trials)
    assert (tmp_path / "frontier.png").read_bytes()[1:4] == b"PNG"
    scores = [run.score for run in result.frontier]
    assert scores == sorted(scores) and max(scores) == max(run.score for run in result.trials)


def test_refuses_another_search_in_its_folder(found):
    _, folder, budgets = found
    options = {"workers": 1, "verbose": False, "folder": folder / "search"}
    with pytest.raises(ValueError, match="holds a search already"):
        text_classifier(dataset(), budgets, **options)
    with pytest.raises(ValueError, match="not of this data"):
        text_classifier(dataset(seed=1), budgets, resume=True, **options)
    with pytest.raises(ValueError, match="`dev_alone` must be True, as begun"):
        text_classifier(dataset(), budgets, resume=True, **options)


@pytest.mark.slow
def test_goes_on_with_the_trials_it_has(found):
    result, folder, budgets = found
    options = {"workers": 1, "verbose": False, "folder": folder / "search", "resume": True}
    options["dev_alone"] = True
    again = text_classifier(dataset(), budgets, minutes=5, trials=5, **options)
    before = {(run.budget, run.number): run for run in result.trials}
    after = {(run.budget, run.number): run for run in again.trials}
    assert len(after) <= 5  # the last may be pruned
    assert before.items() <= after.items()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": "big"}, "`budget` must be bytes"),
        ({"minutes": 0}, "`minutes` must be"),
        ({"minutes": 1e308}, r"`minutes` must be a number in \(0, 525,?600|5\\.256e\\+05"),
        ({"metric": "f1"}, "`metric` must be one of"),
        ({"workers": 0}, "`workers` must be"),
        ({"seed": 2**32}, r"`seed` must be an integer in \[0, 4294967295\]"),
        (
            {"data": replace(dataset(60), dev=Split([], dataset(60).dev.labels[:0]))},
            "`data` must be a dataset with rows in dev",
        ),
        ({"trials": 0}, "`trials` must be"),
        ({"data": ["a", "b"]}, "`data` must be a Dataset, or a tuple"),
        ({"resume": True}, "`folder` must be"),
        ({"refit": "no"}, "`refit` must be"),
        ({"refit": True, "dev_alone": True}, "`refit` must be False or None with `dev_alone`"),
        ({"dev_alone": 1}, "`dev_alone` must be"),
        ({"unlabelled": "one text"}, "`unlabelled` must be a list of str"),
        ({"unlabelled": ["a", b"b"]}, r"`unlabelled\[1\]` must be a str"),
        ({"unlabelled": ["\ud800"]}, r"`unlabelled\[0\]` must be valid Unicode"),
    ],
)
def test_refuses(change, message):
    arguments = {"data": dataset(60), "budget": "12KiB", "workers": 1, "verbose": False}
    with pytest.raises(ValueError, match=message):
        text_classifier(**{**arguments, **change})


def test_a_refused_budget_leaves_no_search(tmp_path, monkeypatch):
    measured_once(monkeypatch)
    (tmp_path / "tokens-wordpunct.npz").write_bytes(b"left by a search that was killed")
    for budget, received in (("1KiB", "1,024"), ("2KiB", "2,048")):
        message = f"`budget` must be at least .* operators and metadata .*Received: {received}"
        with pytest.raises(ValueError, match=message):
            text_classifier(dataset(60), budget, workers=1, verbose=False, folder=tmp_path)


@pytest.mark.parametrize("address", ["foo://bar", "sqlite:///nowhere/at/all.db"])
def test_a_refused_storage_leaves_no_search(address, tmp_path):
    options = {"workers": 1, "verbose": False, "folder": tmp_path, "storage": address}
    for _ in range(2):
        with pytest.raises(ValueError, match="`storage` must be a database that can be opened"):
            text_classifier(dataset(60), "20KB", **options)


@pytest.mark.parametrize(("trials", "values"), [(7, 7), (24, 1)])
def test_few_trials_or_equal_ones_say_nothing(trials, values):
    study = optuna.create_study(direction="maximize")
    for number in range(trials):
        study.add_trial(
            optuna.trial.create_trial(
                params={"width": number % 5 / 5, "dropout": number % 3 / 3},
                distributions=dict.fromkeys(
                    ("width", "dropout"), optuna.distributions.FloatDistribution(0, 1)
                ),
                value=float(number % values),
            )
        )
    assert importances(SimpleNamespace(of={9: study})) == []


def test_why_shows_the_numbers_of_the_setting_not_the_multiples_that_are_drawn():
    study = optuna.create_study(direction="maximize")
    multiples = optuna.distributions.FloatDistribution(-2, 2)
    shares = optuna.distributions.FloatDistribution(0.0, 0.8)
    for number in range(24):
        width, dropout = number % 5 - 2.0, number % 3 * 0.4
        study.add_trial(
            optuna.trial.create_trial(
                params={"width": width, "dropout": dropout},
                distributions={"width": multiples, "dropout": shares},
                value=width / 10 + dropout / 100,
                user_attrs={"setting": {"width": int(16 * 2**width)}},
            )
        )
    trial = study.ask(fixed_distributions={"width": multiples, "dropout": shares})
    trial.report(9.0, 0)
    study.tell(trial, state=optuna.trial.TrialState.PRUNED)  # stopped: its last report is no score
    best = {name: value for name, _, value in importances(SimpleNamespace(of={9: study}))}
    assert best == {"width": 64, "dropout": 0.8}
