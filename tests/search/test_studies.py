"""Studies that several processes share: nothing is lost, nothing is trained twice."""

import pytest

from kerascompact.search.setting import Setting
from kerascompact.search.studies import Studies, storage_of

BUDGETS = {100: "small", 200: "large"}
DEFAULTS = [{"width": 0.0}, {"width": 1.0}, {"width": 2.0}]


def studies(folder, number=0, address=""):
    storage = storage_of(address, folder)
    return Studies(BUDGETS, storage, 0, number, lambda budget: DEFAULTS, folder, rows=100)


def train(one, budget, score, size=50):
    trial = one.ask(budget)
    width = trial.suggest_float("width", -9, 9)
    setting = Setting(10, 2, dropout=width)
    trial.set_user_attr("setting", setting.facts())
    trial.set_user_attr("bytes", size)
    trial.set_user_attr("seconds", 1.0)
    one.of[budget].tell(trial, score)
    return width


@pytest.mark.few(2)
@pytest.mark.parametrize("address", ["", "sqlite:///{}/search.db", "{}/shared.log"])
def test_a_dead_process_leaves_its_trial_to_others(tmp_path, address):
    address = address.format(tmp_path)
    dead, alive = studies(tmp_path, 0, address), studies(tmp_path, 1, address)
    dead.work()
    alive.work()
    lost = dead.ask(100)
    assert alive.bury() == 0  # its process lives
    dead.rest()
    assert alive.bury() == 1 and alive.bury() == 0
    widths = [train(alive, 100, 0.5) for _ in range(3)]
    assert sorted(widths) == [0.0, 1.0, 2.0]  # each once, that of the dead one too
    states = [trial.state.name for trial in alive.of[100].get_trials(deepcopy=False)]
    assert states[lost.number] == "FAIL" and states.count("COMPLETE") == 3
    assert not {"RUNNING", "WAITING"} & set(states)


@pytest.mark.parametrize("lost", [1, 30])
def test_goes_on_after_half_of_an_entry(tmp_path, lost):
    """As a full disk leaves it: the score that was being written is lost, and no other."""
    one, journal = studies(tmp_path), tmp_path / "journal.log"
    train(one, 100, 0.5), train(one, 200, 0.6)
    journal.write_bytes(journal.read_bytes()[:-lost])
    train(studies(tmp_path, 1), 100, 0.7)
    assert [run.score for run in studies(tmp_path, 2).runs()] == [0.5, 0.7]


def test_defaults_are_set_once(tmp_path):
    first, second = studies(tmp_path), studies(tmp_path, 1)
    assert first.waiting(100) == second.waiting(100) == len(DEFAULTS)
    assert [train(one, 200, 0.5) for one in (first, second, first)] == [0.0, 1.0, 2.0]


def test_budgets_take_turns_and_lend_their_best(tmp_path):
    one = studies(tmp_path)
    for score in (0.5, 0.9, 0.6, 0.7):
        train(one, one.by_trials()[0], score)
    assert [run.budget for run in one.runs()] == [100, 100, 200, 200]
    for _ in DEFAULTS[2:]:
        train(one, 100, 0.1), train(one, 200, 0.1)
    assert not one.lend(200)  # it has tried what the other one has
    train(one, 100, 0.95)  # drawn
    assert one.lend(200) and one.waiting(200) == 1
    assert train(one, 200, 0.5) == one.of[100].best_params["width"]


def test_the_most_promising_is_trained_again(tmp_path):
    one = studies(tmp_path)
    for score in (0.8, 0.95, 0.7):
        train(one, 100, score)
    assert one.waiting(100) == 0 and one.repeat(100, most=3)
    assert one.waiting(100) == 1
    assert train(one, 100, 0.3) == 1.0  # it was there by luck
    best = one.ranking(100)[0]
    assert best.number == 0 and len(best.runs) == 1
    while one.repeat(100, most=3):
        train(one, 100, 0.8)
    trained = {ranked.number: len(ranked.runs) for ranked in one.ranking(100)}
    assert trained == {0: 3, 1: 3, 2: 3}
    assert sorted(run.repeat for run in one.ranking(100)[0].runs) == [0, 1, 2]


def test_equal_scores_are_ranked_by_bytes(tmp_path):
    for count in (3, 4, 5):
        one = studies(tmp_path / str(count))
        for number in range(count):
            train(one, 100, 0.98, size=60 - number)
        assert one.ranking(100)[0].number == count - 1


def test_a_search_that_goes_on_draws_other_settings(tmp_path):
    first = studies(tmp_path)
    drawn = [train(first, 100, 0.5) for _ in range(4)]
    assert train(studies(tmp_path), 100, 0.5) not in drawn


def test_files_over_the_budget_do_not_count(tmp_path):
    one = studies(tmp_path)
    train(one, 100, 0.9, size=101)
    train(one, 100, 0.6, size=100)
    assert [run.score for run in one.runs()] == [0.6]
