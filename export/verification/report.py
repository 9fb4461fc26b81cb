"""Report of a verification: what was measured, pair by pair, and the limits."""

from typing import Any, NamedTuple

from kerascompact.core import checks
from kerascompact.export.verification.differences import EXACT, ROUNDED, Bounds, Difference


class Limits(NamedTuple):
    """What `verify` was told to allow; `None` for what it allows by itself."""

    tolerance: float | None = None
    min_agreement: float | None = None
    max_loss: float | None = None


PAIRS = {  # field: who is compared with whom, and what is wrong past the limits
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
    """What `verify` measured of three pairs, on every row.

    - `frozen_file`: the model as it ships (hard assignments, tables and kernels rounded by the
      recipe that the file names), in Keras, and the file. Held to a limit: what the conversion or
      the runtime did wrong shows here.
    - `trained_frozen`: the trained model itself, and its frozen copy before anything is rounded.
      Held to a limit: what freezing did wrong shows here.
    - `trained_file`: the trained model and the file. Held to a limit if the recipe rounds nothing
      (`rounds` is false); else it is what the recipe costs, which `max_loss` bounds.

    Args:
        rows: Rows compared.
        frozen_file: As above.
        trained_frozen: As above.
        trained_file: As above.
        file_bytes: Size of the file.
        microseconds: Median of one run of the file, one thread.
        trained_accuracy: Accuracy of the trained model; `None` without labels, as the next two.
        keras_accuracy: Accuracy of the model as it ships, in Keras.
        file_accuracy: Accuracy of the file.
        outputs: The file's outputs; a dictionary if it has several.
        rounds: Whether the recipe rounds tables or kernels.
        exact: Whether the file computes what the model as it ships does, up to the order of
            float32 sums: not, if it multiplies rounded inputs.
        limits: What was allowed.
    """

    rows: int
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

    @property
    def agreement(self) -> float:
        """That of the file and the frozen model."""
        return self.frozen_file.agreement

    @property
    def ties(self) -> int:
        """Those of the file and the frozen model."""
        return self.frozen_file.ties

    @property
    def largest_difference(self) -> float:
        """That of the file and the frozen model."""
        return self.frozen_file.largest

    @property
    def mean_difference(self) -> float:
        """That of the file and the frozen model."""
        return self.frozen_file.mean

    @property
    def worst_row(self) -> int:
        """That of the file and the frozen model."""
        return self.frozen_file.worst_row

    def bounds(self) -> dict[str, Bounds | None]:
        """The limits of each pair, `None` for one that has none."""
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
        """Everything but the outputs, for JSON, which has no infinity: any difference is `None`."""
        pairs = {name: getattr(self, name)._asdict() for name in PAIRS}
        held = {name: bounds and bounds.facts() for name, bounds in self.bounds().items()}
        rest = {k: v for k, v in self._asdict().items() if k not in ("outputs", "limits", *PAIRS)}
        return {**pairs, **rest, "held_to": {**held, "max_loss": self.limits.max_loss}}

    def __str__(self) -> str:
        lines = [f"{self.rows} rows, {self.file_bytes} bytes, {self.microseconds:.1f} us"]
        for name, bounds in self.bounds().items():
            held = "reported, since the recipe rounds" if bounds is None else f"allowed: {bounds}"
            lines.append(f"{PAIRS[name][0]}: {getattr(self, name)} ({held})")
        if self.file_accuracy is not None:
            loss = self.limits.max_loss
            lines.append(
                f"accuracy: trained {self.trained_accuracy:.4f}, frozen "
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
        """The same report with other limits, see `verify`."""
        return self._replace(limits=Limits(tolerance, min_agreement, max_loss))

    def check(self) -> "Report":
        """Returns the report itself.

        Raises: ValueError, if a pair is past its limits, or the file loses more accuracy.
        """
        for name, bounds in self.bounds().items():
            found = getattr(self, name)
            if bounds is not None and not found.within(bounds, self.rows):
                raise ValueError(
                    f"{PAIRS[name][1]}: {self.rows} rows, {found}. Worst row: {found.worst_row}. "
                    f"Allowed: {bounds}."
                )
        loss = self.limits.max_loss
        if loss is None:
            return self
        if self.trained_accuracy is None or self.file_accuracy is None:
            checks.fail("labels", "given, since `max_loss` needs them", None)
        if self.trained_accuracy - self.file_accuracy > loss + 1e-12:
            raise ValueError(
                f"The file loses accuracy: {self.rows} rows, trained {self.trained_accuracy:.4f}, "
                f"file {self.file_accuracy:.4f}. Allowed: {loss:g}."
            )
        return self
