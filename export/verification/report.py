"""Report of a verification: differences of three pairs of models, and their limits."""

from typing import Any, NamedTuple

from kerascompact.export.verification.differences import EXACT, ROUNDED, Bounds, Difference


class Limits(NamedTuple):
    """Limits that `verify` was given; `None` for its defaults."""

    tolerance: float | None = None
    min_agreement: float | None = None
    max_loss: float | None = None


PAIRS = {  # field: the pair, and the error if it exceeds its limits
    "frozen_file": (
        "frozen model - file",
        "The file does not predict what Keras does with the frozen model",
    ),
    "trained_frozen": (
        "trained model - frozen model, before rounding",
        "The frozen model does not predict what the trained model does",
    ),
    "trained_file": (
        "trained model - file",
        "The file does not predict what the trained model does",
    ),
}


class Report(NamedTuple):
    """Holds the differences that `verify` measured between three pairs of models.

    `frozen_file` shows errors of conversion and runtime, `trained_frozen` errors of freezing, and
    `trained_file` both and the cost of rounding.

    Args:
        examples: Number of examples that were compared.
        frozen_file: Difference of the file and the frozen model in Keras (hard assignments, tables
            and kernels rounded by the file's recipe). It always has a limit.
        trained_frozen: Difference of the trained model and its frozen copy before rounding. It
            always has a limit.
        trained_file: Difference of the trained model and the file. It has a limit if the recipe
            rounds nothing; else it is the cost of the recipe, which `max_loss` bounds.
        file_bytes: Size of the file in bytes.
        microseconds: Median time of one run of the file with one thread.
        trained_accuracy: Accuracy of the trained model; `None` without labels.
        keras_accuracy: Accuracy of the frozen model in Keras; `None` without labels.
        file_accuracy: Accuracy of the file; `None` without labels.
        outputs: Outputs of the file; a dictionary if it has several.
        rounds: Whether the recipe rounds tables or kernels, or `tools.shrink` did.
        exact: Whether file and frozen model agree up to the order of float32 sums; not if the file
            multiplies rounded inputs or was shrunk.
        limits: The limits that `verify` was given.
        exact_sets: Whether the accuracies are shares of examples with exactly the right labels, of
            which one may have several.

    Shapes: outputs `(examples, ...)`.
    Raises: ValueError from `check`, if a pair exceeds its limits.

    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> report = kerascompact.export.freeze(model).verify([[1, 2, 3, 4], [8, 0, 0, 0]])
    >>> report.examples, report.agreement, report.check() is report
    (2, 1.0, True)
    """

    examples: int
    frozen_file: Difference
    trained_frozen: Difference
    trained_file: Difference
    file_bytes: int
    microseconds: float
    trained_accuracy: float | None
    keras_accuracy: float | None
    file_accuracy: float | None
    outputs: Any
    rounds: bool = False
    exact: bool = True
    limits: Limits = Limits()
    exact_sets: bool = False

    @property
    def agreement(self) -> float:
        """Share of examples with the same answer of file and frozen model."""
        return self.frozen_file.agreement

    @property
    def ties(self) -> int:
        """Ties between file and frozen model, see `Difference`."""
        return self.frozen_file.ties

    @property
    def largest_difference(self) -> float:
        """Largest difference of an output between file and frozen model."""
        return self.frozen_file.largest

    @property
    def mean_difference(self) -> float:
        """Mean difference of the outputs between file and frozen model."""
        return self.frozen_file.mean

    @property
    def worst_example(self) -> int:
        """The example with the largest difference between file and frozen model."""
        return self.frozen_file.worst_example

    def bounds(self) -> dict[str, Bounds | None]:
        """The limits of each pair; `None` for a pair without limits."""
        of_file = EXACT if self.exact else ROUNDED
        usual = {
            "frozen_file": of_file,
            "trained_frozen": EXACT,
            "trained_file": None if self.rounds else of_file,
        }
        tolerance, agreement, _ = self.limits
        return {
            name: bounds
            and Bounds(
                bounds.difference if tolerance is None else tolerance,
                bounds.agreement if agreement is None else agreement,
            )
            for name, bounds in usual.items()
        }

    def facts(self) -> dict[str, Any]:
        """All fields but the outputs, for JSON; an infinite limit is `None`."""
        pairs = {name: getattr(self, name)._asdict() for name in PAIRS}
        held = {name: bounds and bounds.facts() for name, bounds in self.bounds().items()}
        rest = {k: v for k, v in self._asdict().items() if k not in ("outputs", "limits", *PAIRS)}
        return {**pairs, **rest, "held_to": {**held, "max_loss": self.limits.max_loss}}

    def __str__(self) -> str:
        lines = [f"{self.examples} examples, {self.file_bytes} bytes, {self.microseconds:.1f} us"]
        for name, bounds in self.bounds().items():
            held = "no limit, since the recipe rounds" if bounds is None else f"allowed: {bounds}"
            lines.append(f"{PAIRS[name][0]}: {getattr(self, name)} ({held})")
        if self.file_accuracy is not None:
            loss = self.limits.max_loss
            what = "accuracy, of exact sets of labels" if self.exact_sets else "accuracy"
            lines.append(
                f"{what}: trained {self.trained_accuracy:.4f}, frozen "
                f"{self.keras_accuracy:.4f}, file {self.file_accuracy:.4f} "
                f"({'any loss allowed' if loss is None else f'loss allowed: {loss:g}'})"
            )
        return "\n".join(lines)

    def held_to(
        self,
        tolerance: float | None = None,
        min_agreement: float | None = None,
        max_loss: float | None = None,
    ) -> "Report":
        """Returns the report with other limits.

        Args:
            tolerance: Largest allowed difference of an output, see `verify`.
            min_agreement: Smallest allowed share of equal answers, see `verify`.
            max_loss: Largest allowed loss of accuracy, see `verify`.
        """
        return self._replace(limits=Limits(tolerance, min_agreement, max_loss))

    def check(self) -> "Report":
        """Checks the limits and returns the report itself.

        Raises: ValueError, if a pair exceeds its limits, or the file loses too much accuracy.
        """
        for name, bounds in self.bounds().items():
            found = getattr(self, name)
            if bounds is not None and not found.within(bounds, self.examples):
                raise ValueError(
                    f"{PAIRS[name][1]}: {self.examples} examples, {found}. "
                    f"Worst example: {found.worst_example}. Allowed: {bounds}."
                )
        loss = self.limits.max_loss
        if loss is None:
            return self
        if self.trained_accuracy is None or self.file_accuracy is None:
            raise ValueError("`max_loss` needs `labels`. Received: labels=None.")
        if self.trained_accuracy - self.file_accuracy > loss + 1e-12:
            raise ValueError(
                f"The file loses accuracy: {self.examples} examples, trained "
                f"{self.trained_accuracy:.4f}, file {self.file_accuracy:.4f}. Allowed: {loss:g}."
            )
        return self
