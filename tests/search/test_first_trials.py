"""The first trials of a search."""

import optuna
import pytest

from kerascompact.search.first_trials import first_trials
from kerascompact.search.space import Facts, suggest


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("unlabelled", [True, False])
@pytest.mark.parametrize("few", [True, False])
def test_first_trials_use_what_there_is(vectors, unlabelled, few):
    facts = Facts(4, 40, 20, 800, vectors=vectors, unlabelled=unlabelled, few=few)
    given = first_trials(65_536, facts)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    settings = []
    for parameters in given:
        study.enqueue_trial(parameters)
        trial = study.ask()
        settings.append(suggest(trial, 65_536, facts, lambda setting: setting._replace(words=100)))
        unasked = {"skip_unknown"} if parameters["model"] == "cnn" else set()
        assert parameters.keys() - trial.params.keys() == unasked
    assert settings[0].start == ("vectors" if vectors else "tf-idf" if few else "random")
    assert few == any(setting.start == "tf-idf" for setting in settings)
    assert (settings[0].soft == 0.8) == unlabelled
    if vectors and unlabelled:  # teachers may be weak
        assert settings[1 + few].soft == 0.0 and settings[1 + few].start == "full"
    if unlabelled and few:  # which say what pairs mean
        assert settings[1].start == "tf-idf" and settings[1].rules == "wordpunct_pairs"
    if vectors or few:  # a column for each class; small steps, where labels alone teach
        rate = 0.02 if unlabelled else 0.0025
        assert settings[0].width == 4 and settings[0].learning_rate == pytest.approx(rate)
