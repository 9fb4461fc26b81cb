"""The options of embedding methods by name, as commands take them: type, default and help."""

from typing import Any, NamedTuple


class Option(NamedTuple):
    """An option of some methods, as commands take it.

    Args:
        kind: Type of its value.
        default: The value, or a function of the numbers of ids and of training texts.
        help: What it is, in a few words.
        shown: How the help of a command shows the default.
    """

    kind: type
    default: Any
    help: str
    shown: str = "%(default)s"

    def value(self, num_ids: int, num_texts: int) -> Any:
        """The default for a vocabulary and a training split.

        >>> OPTIONS["clusters"].value(400, 1000), OPTIONS["bits"].value(400, 1000)
        (40, 4)
        """
        return self.default(num_ids, num_texts) if callable(self.default) else self.default


OPTIONS: dict[str, Option] = {
    "clusters": Option(
        int,
        lambda ids, texts: max(2, min(100, ids // 10)),
        "number of clusters",
        "100, or a tenth of the vocabulary if that is less",
    ),
    "unique": Option(
        int,
        lambda ids, texts: max(1, ids // 3),
        "words with vectors of their own",
        "a third of the vocabulary",
    ),
    "buckets": Option(
        int,
        lambda ids, texts: max(1, ids // 10),
        "vectors that the other words share",
        "a tenth of the vocabulary",
    ),
    "anchors": Option(
        int,
        lambda ids, texts: max(2, min(50, ids // 10)),
        "number of anchors",
        "50, or a tenth of the vocabulary if that is less",
    ),
    "entries": Option(
        int,
        lambda ids, texts: max(2, min(16, ids // 10)),
        "anchors that a word may combine",
        "16, or a tenth of the vocabulary if that is less",
    ),
    "group_lasso_weight": Option(float, 0.02, "weight of the penalty"),
    "l1_weight": Option(float, 0.02, "weight of the penalty"),
    "kl_weight": Option(
        float,
        lambda ids, texts: 1 / texts,
        "weight of the divergence",
        "1 / training texts",
    ),
    "cardinality": Option(int, 16, "letters to choose from"),
    "code_length": Option(
        int,
        lambda ids, texts: 16,
        "letters of a word's code",
        "16; for dpq the largest number that divides 16 and the width",
    ),
    "bits": Option(int, 4, "bits of a number"),
    "ratio": Option(float, 0.1, "share of the full table's numbers"),
    "density": Option(float, 0.2, "share of the numbers that exist"),
    "hidden": Option(int, 512, "hidden units"),
}
