"""Space of settings: what a search draws within a budget."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from kerascompact.search.setting import CHOSEN, STARTS, Setting
from kerascompact.search.starts import can_start
from kerascompact.text.slots import TAG_BITS

WIDTHS = (2, 128)  # of a word's vector
FEWEST_WORDS = 6  # ids, with padding and the unknown word
FILTER_SIZES = {"1": (1,), "1-2": (1, 2), "1-3": (1, 2, 3), "2-4": (2, 3, 4)}
TEXTS = {"words": "", "pairs": "_pairs"}  # what follows the name of the token rules
# Methods whose files have fewer bits a word than a table of 4 bits.
COMPACT = ("mixture", "cluster", "low_rank", "kd", "dpq", "compositional", "hashed", "tensor_train")
IN_ORDER = ("mixture", "cluster", "hashed")  # methods that need frequent words first
MANY = 20  # classes, whose output layers may be worth fewer bytes
LONG = 200  # tokens of a text; a CNN of longer ones takes too long


class Facts(NamedTuple):
    """What the space depends on.

    Args:
        classes: Number of classes.
        length: Tokens of a text that a model reads.
        epochs: Epochs of a training of middle length.
        rows: Number of texts to train on.
        soft: Whether there is a teacher.
        rules: Token rules without pairs.
        vectors: Whether there are pre-trained vectors.
        unlabelled: Whether there are texts without a label, and a teacher for them.
        few: Whether there are so few labels that a training may start at TF-IDF.
    """

    classes: int
    length: int
    epochs: int
    rows: int
    soft: bool = True
    rules: str = "wordpunct"
    vectors: bool = False
    unlabelled: bool = False
    few: bool = False

    @property
    def starts(self) -> list[str]:
        """What a training may start at."""
        asks = {"vectors": self.vectors, "tf-idf": self.few}
        return [start for start in STARTS if asks.get(start, True)]


Fit = Callable[[Setting], Setting | None]  # the same setting with the most words that fit


def usual_width(budget: int, classes: int) -> int:
    """Width of a vector that is neither far too wide nor too narrow for a budget.

    `sqrt(bytes / 500)` for two classes, times the cube root of half their number: more classes
    need wider vectors, more bytes buy both words and width. Made from the best settings of five
    data sets. Never so wide that there are fewer than two words of `width / 2 + 1` bytes for each
    class, beside its `width / 2` bytes of the output layer.

    >>> usual_width(32 * 1024, 150), usual_width(32 * 1024, 4), usual_width(64 * 1024, 1000)
    (30, 10, 32)
    """
    free = max(budget - 5000 - 11 * classes, 2000)
    width = math.sqrt(free / 500) * (classes / 2) ** (1 / 3)
    return even(min(width, 2 * (free - 2 * classes) / (3 * classes)))


def even(width: float) -> int:
    """The nearest even width in range: two numbers of four bits fill a byte.

    >>> even(7.2), even(500)
    (8, 128)
    """
    low, high = WIDTHS
    return min(max(2 * round(width / 2), low), high)


def suggest(trial: Any, budget: int, facts: Facts, fit: Fit) -> Setting | None:
    """Draws a setting that fits a budget.

    Args:
        trial: An `optuna.Trial`, or anything with its `suggest_` methods.
        budget: Bytes of the file.
        facts: What the space depends on.
        fit: Finds the most words that fit; `None`, if none do.

    Returns: The setting, or `None` if it does not fit with any width.
    """
    draw = trial.suggest_categorical
    text = draw("text", list(TEXTS))
    models = ["mean", "weighted", "mean_and_max", "hidden"]
    model = draw("model", models if facts.length > LONG else [*models, "cnn"])
    method, family = "standard", draw("family", ["table", "compact", "buckets"])
    if family == "compact":
        method = draw("method", list(COMPACT))
    recipe, tuned = "int4", 0
    if method == "standard":
        numbers = draw("numbers", ["int4 tuned", "int4", "int8"])
        recipe = numbers.split()[0]
        tuned = max(1, round(facts.epochs / 4)) if numbers.endswith("tuned") else 0
    chosen, stored, tag_bits = "norm_and_count", "buckets", 8
    if family != "buckets":
        chosen, stored = draw("chosen", list(CHOSEN)), "fingerprints"
        if method not in IN_ORDER:
            stored = draw("stored", ["slots", "fingerprints"])
        if stored == "slots":
            tag_bits = draw("tag_bits", list(TAG_BITS))
    setting = Setting(
        words=0,
        width=even(usual_width(budget, facts.classes) * 2 ** trial.suggest_float("width", -2, 2)),
        model=model,
        rules=facts.rules + TEXTS[text],
        chosen=chosen,
        stored=stored,
        tag_bits=tag_bits,
        skip_unknown=model != "cnn" and stored != "buckets" and draw("skip_unknown", [True, False]),
        method=method,
        recipe=recipe,
        tuning_epochs=tuned,
        epochs=max(1, round(facts.epochs * draw("epochs", [0.5, 1.0, 2.0]))),
        batch_size=draw("batch_size", [32, 64, 128]),
        learning_rate=_rate(model) * 2 ** trial.suggest_float("learning_rate", -2, 2),
        dropout=trial.suggest_float("dropout", 0.0, 0.8),
        soft=draw("soft", [0.0, 0.5, 0.8]) if facts.soft else 0.0,
    )
    if can_start(setting):
        start = draw("start", facts.starts)
        setting = setting._replace(start=start)
        if start != "random" and len(facts.starts) > 2:  # good already: small steps
            rate = setting.learning_rate * 2 ** trial.suggest_float("rate_from_start", -5, 0)
            setting = setting._replace(learning_rate=rate)
    setting = setting._replace(temperature=draw("temperature", [1.0, 2.0]) if setting.soft else 1.0)
    if tuned:
        rate = setting.learning_rate * 2 ** trial.suggest_float("tuning_rate", -4, 0)
        setting = setting._replace(tuning_rate=rate)
    if model == "cnn":
        sizes = FILTER_SIZES[draw("filter_sizes", list(FILTER_SIZES))]
        setting = setting._replace(filter_sizes=sizes, units=draw("filters", [16, 32, 64, 128]))
    elif model == "hidden":
        setting = setting._replace(units=draw("units", [16, 32, 64]))
    if facts.classes >= MANY and tuned:
        setting = setting._replace(head=draw("head", ["recipe", "int4"]))
    if facts.classes >= MANY and model in ("cnn", "mean_and_max"):
        setting = setting._replace(head_rank=draw("head_rank", [0, 16, 32, 64]))
    return fitted(_with_options(setting, trial), fit)


def _rate(model: str) -> float:
    return 2e-3 if model == "cnn" else 1e-2


def _with_options(setting: Setting, trial: Any) -> Setting:
    """Options of the methods, as shares of the words that only `fit` knows are not yet."""
    method, draw = setting.method, trial.suggest_categorical
    options: dict[str, Any] = {}
    if method in ("mixture", "cluster"):
        options["clusters"] = draw("clusters", [16, 32, 64, 128, 256])
    if method in ("mixture", "hashed"):
        options["unique"] = trial.suggest_float("unique", 0.05, 0.5)
    if method == "hashed":
        options["buckets"] = trial.suggest_float("buckets", 0.05, 0.3)
    if method in ("low_rank", "tensor_train"):
        options["ratio"] = trial.suggest_float("ratio", 0.05, 0.5)
    if method in ("kd", "dpq", "compositional"):
        options["cardinality"] = draw("cardinality", [8, 16, 32])
        options["code_length"] = draw("code_length", [4, 8, 16])
        length = options["code_length"]  # which divides the width of some methods
        setting = setting._replace(width=max(length, round(setting.width / length) * length))
    return setting._replace(options=tuple(options.items()))


def at_size(setting: Setting) -> Setting:
    """The setting with its options as counts, where the space has shares of the words.

    >>> at_size(Setting(102, 8, method="mixture", options=(("unique", 0.25),))).options
    (('unique', 25),)
    """
    words = setting.words - 2
    most = words - dict(setting.options).get("clusters", 0)  # which have a word at least
    options = tuple(
        (name, max(1, min(round(value * words), most)))
        if name in ("unique", "buckets") and value < 1
        else (name, value)
        for name, value in setting.options
    )
    return setting._replace(options=options)


def fitted(setting: Setting, fit: Fit) -> Setting | None:
    """The setting with the most words that fit; with half of its width, filters or hidden units,
    again and again, until some do."""
    while True:
        found = fit(setting)
        if found is not None:
            return found
        if setting.units > 16:
            setting = setting._replace(units=setting.units // 2)
        elif len(setting.filter_sizes) > 1:
            setting = setting._replace(filter_sizes=setting.filter_sizes[:-1])
        elif setting.width > WIDTHS[0] and setting.method not in ("kd", "dpq", "compositional"):
            setting = setting._replace(width=even(setting.width / 2 - 0.5))
        else:
            return None
