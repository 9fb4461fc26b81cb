"""Setting of a text classifier: everything that decides a model and its file, but for the seed."""

from typing import Any, NamedTuple

from kerascompact.text.rules import named

MODELS = ("mean", "weighted", "mean_and_max", "hidden", "cnn")
CHOSEN = ("norm_and_count", "norm", "frequency")
STORED = ("slots", "fingerprints", "buckets")
STARTS = ("random", "full", "vectors", "tf-idf")


class Setting(NamedTuple):
    """Everything that decides a text classifier and its file, but for the seed.

    Args:
        words: Number of ids, with padding and the unknown word.
        width: Width of a word's vector; of a weighted mean's the last column is the weight.
        model: What follows the vectors: their "mean"; a "weighted" mean; "mean_and_max"; "hidden",
            a mean and a hidden layer; or "cnn".
        units: Units of the hidden layer, or filters of each size of the CNN.
        head_rank: Rank of the output layer's kernel; 0: full.
        head: Numbers of the output layer's kernel: those of the "recipe", or "int4".
        filter_sizes: Sizes of the CNN's filters, in words.
        rules: Token rules.
        chosen: How words are chosen: by the "norm" of their vectors in a full table, by
            "norm_and_count", or by "frequency".
        stored: How the file knows words: by "fingerprints" of 4 bytes or more, which are searched;
            in "slots", by 1 to 3 bytes (`text.SlotVocabulary`); or not at all, for all words in
            "buckets".
        start: How table and output layer start: "random"; at those of a "full" table, trained on
            all words; or of a classifier over pre-trained "vectors" or "tf-idf", see `starts`.
        skip_unknown: Whether a mean leaves unknown words out.
        method: Embedding method, one of `tasks.methods.METHODS`.
        options: Options of the method, pairs of name and value.
        recipe: Recipe of the file.
        tuning_epochs: Epochs of quantization-aware fine-tuning; 0: none.
        tuning_rate: First learning rate of the fine-tuning.
        fingerprint_bits: Bits of a word's fingerprint in the file.
        tag_bits: Bits of a word's tag in its slot.
        epochs: Epochs of training, each of 3,200 texts or more: of few, each is seen again.
        batch_size: Texts per step.
        learning_rate: First learning rate, which falls to zero.
        dropout: Share of the pooled vector that is dropped in training.
        soft: Weight of a teacher's soft labels, in [0, 1].
        temperature: Temperature of the teacher's soft labels.

    Example:
    >>> Setting(words=1025, width=24, recipe="int4").label
    'mean; SE, d=24, 1,025 words by norm and count; int4'
    """

    words: int
    width: int
    model: str = "mean"
    units: int = 0
    filter_sizes: tuple[int, ...] = ()
    head_rank: int = 0
    head: str = "recipe"
    rules: str = "wordpunct"
    chosen: str = "norm_and_count"
    stored: str = "fingerprints"
    start: str = "random"
    skip_unknown: bool = False
    method: str = "standard"
    options: tuple[tuple[str, Any], ...] = ()
    recipe: str = "int8"
    tuning_epochs: int = 0
    tuning_rate: float = 2e-3
    fingerprint_bits: int = 32
    tag_bits: int = 8
    epochs: int = 15
    batch_size: int = 64
    learning_rate: float = 1e-2
    dropout: float = 0.4
    soft: float = 0.0
    temperature: float = 1.0

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "Setting":
        """The setting whose `facts()` were kept.

        >>> one = Setting(1025, 24, method="mixture", options=(("unique", 300),))
        >>> Setting.of(one.facts()) == one
        True
        """
        options = tuple((name, value) for name, value in facts["options"])
        return cls(**{**facts, "options": options, "filter_sizes": tuple(facts["filter_sizes"])})

    def facts(self) -> dict[str, Any]:
        """The setting as JSON can hold it."""
        lists = {"options": [list(one) for one in self.options]}
        return {**self._asdict(), **lists, "filter_sizes": list(self.filter_sizes)}

    @property
    def label(self) -> str:
        """The setting in a few words."""
        from kerascompact.tasks.methods import METHODS

        model = self.model.replace("_", " ")
        if self.model == "cnn":
            model = f"CNN {self.units} x {', '.join(map(str, self.filter_sizes))}"
        elif self.model == "hidden":
            model = f"mean, {self.units} hidden units"
        if self.skip_unknown:
            model += " of known words"
        model += f", head of rank {self.head_rank}" if self.head_rank else ""
        model += ", int4 head" if self.head == "int4" else ""
        sizes = "".join(f" {name}={value:g}" for name, value in self.options)
        rules = named(self.rules)
        kind = "characters" if rules.characters else "words"
        kind += " and pairs" if rules.pairs else ""
        hashed, plain = self.stored == "buckets", self.chosen == "frequency"
        kind = f"buckets of {kind}" if hashed else kind
        by = "" if hashed or plain else f" by {self.chosen.replace('_', ' ')}"
        by += " in slots" if self.stored == "slots" else ""
        by += f" of {self.tag_bits} bits" if self.stored == "slots" and self.tag_bits > 8 else ""
        tuned = ", fine-tuned" if self.tuning_epochs else ""
        method = f"{METHODS[self.method].abbreviation}{sizes}, d={self.width}"
        return f"{model}; {method}, {self.words:,} {kind}{by}; {self.recipe}{tuned}"
