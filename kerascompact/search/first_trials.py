"""What a search tries first, in the order of its guesses."""

import math
from typing import Any

from kerascompact.search.space import LONG, MANY, Facts, even, usual_width

NARROW = 20  # of vectors, for which a head of 4 bits has more operators than it saves
SHORT = 8  # epochs of middle length, in which a random start gets less far than the full table
CROWDED = 8  # classes for each column, from which on no linear classifier fits into a narrow table


def first_trials(budget: int, facts: Facts) -> list[dict[str, Any]]:
    """Parameters of the first trials, the best guess first: they make a fair file in two minutes.

    Made from the settings that were best on dev of five data sets; relative to the budget.
    """
    many = facts.classes >= MANY
    narrow = many and usual_width(budget, facts.classes) < NARROW
    first: dict[str, Any] = {
        "text": "words",
        "model": "mean",
        "family": "table",
        "numbers": "int4 tuned",
        "width": 0.0,
        "chosen": "norm_and_count",
        "stored": "slots",
        "tag_bits": 8,
        "start": "full" if facts.epochs < SHORT else "random",
        "skip_unknown": True,
        "epochs": 1.0,
        "batch_size": 64 if facts.rows < 10_000 or narrow else 128,
        "learning_rate": 0.0,
        "tuning_rate": -2.3,
        "dropout": 0.1 if narrow else 0.4,
    }
    if many:
        first |= {"head": "recipe" if narrow else "int4", "head_rank": 0}
    if facts.soft:
        first |= {"soft": 0.0}
    taught = {"soft": 0.5, "temperature": 1.0} if facts.soft else {}
    pairs = {"text": "pairs", "chosen": "norm", "dropout": 0.2 if narrow else 0.6, "width": -0.6}
    found = [
        first,
        first | pairs,
        first | pairs | taught | {"dropout": 0.2 if narrow else 0.7, "width": 0.0},
        first | {"width": -1.0} | taught,
        first | {"model": "mean_and_max", "width": -0.4, "dropout": 0.3, "learning_rate": 0.2},
        first | {"width": 0.8, "skip_unknown": False},
    ]
    if facts.length <= LONG:
        convolution = {"model": "cnn", "filter_sizes": "1-3", "filters": 32, "width": -0.5}
        found.insert(3, first | convolution | {"dropout": 0.5, "learning_rate": 0.0})
        found.append(first | convolution | {"filters": 128, "width": 0.5, "dropout": 0.5})
    else:  # one word in many says what the text is about: narrow vectors with weights
        steps = {"learning_rate": 1.0, "batch_size": 64, "dropout": 0.1}
        found.insert(2, first | pairs | steps | {"model": "weighted", "width": -1.4})
    if facts.vectors or facts.unlabelled or facts.few:
        return _of_few_labels(found, budget, facts)
    return found


def _of_few_labels(found: list[dict[str, Any]], budget: int, facts: Facts) -> list[dict[str, Any]]:
    """First trials where a linear classifier is a start, or teachers have texts of their own."""
    taught: dict[str, Any] = {}
    if facts.unlabelled:
        taught = {"soft": 0.8, "temperature": 1.0, "batch_size": 128}
    if not facts.vectors and not facts.few:
        return [one | taught for one in found[:4]] + found
    usual = usual_width(budget, facts.classes)
    # Of a linear classifier, which needs a column for each class.
    width = max(-2.0, min(math.log2(even(min(facts.classes, usual)) / usual), 2.0))
    linear = "vectors" if facts.vectors else "tf-idf"
    small = {"learning_rate": 0.0, "rate_from_start": -2.0}
    # What teachers say of many texts takes large steps, what a few labels say small ones.
    steps = {"learning_rate": 1.0, "rate_from_start": 0.0} if facts.unlabelled else small
    start = {"start": linear, **steps, "dropout": 0.1, "epochs": 0.5, **taught}
    plain, pairs = found[0] | start, found[1] | start
    alone = {name: value for name, value in plain.items() if name != "temperature"}
    untaught = [alone | small | {"start": "full", "soft": 0.0}] if facts.unlabelled else []
    by_words = [plain | {"start": "tf-idf", "width": width}] if facts.vectors and facts.few else []
    # Texts without a label tell TF-IDF what pairs say, which pre-trained vectors do not know.
    by_pairs = [pairs | {"start": "tf-idf", "width": width}] if facts.few else []
    larger = {"learning_rate": 2.0} if facts.unlabelled else {"rate_from_start": -1.0}
    begun = [
        plain | {"width": width},
        *(by_pairs if facts.unlabelled else []),
        *untaught,  # where teachers are weak
        plain | {"start": "full"},
        plain | larger | {"width": width, "epochs": 1.0},
        pairs | larger | {"start": "full"},
        plain | {"rate_from_start": -4.0, "width": width},
        pairs | {"width": width},
        *by_words,
    ]
    begun = [one for place, one in enumerate(begun) if one not in begun[:place]]
    others = [one | taught for one in found]
    return others + begun if facts.classes > CROWDED * usual else begun + others
