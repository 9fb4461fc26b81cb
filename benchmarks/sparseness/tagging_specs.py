"""Which taggers are trained: points of Figure 3 and Table 3, and the trials of each."""

from typing import NamedTuple


class Spec(NamedTuple):
    """Everything that decides a run. A dense embedding is one of density 1.

    `falling`: whether the rate falls to zero, linearly over all steps.
    `start`: entries begin uniform in [-start, start]. `units`: of the LSTM, in each direction.
    """

    dataset: str = "ud_english_ewt"
    width: int = 20
    density: float = 1.0
    order: str | None = "up"
    word_dropout: float = 0.1
    variational_dropout: float = 0.0
    weight_dropout: float = 0.0
    epochs: int = 20
    batch_size: int = 50
    learning_rate: float = 2e-2
    falling: bool = True
    start: float = 0.1
    units: int = 10
    seed: int = 0

    @property
    def label(self) -> str:
        """Width, density and order, in a few words; and the LSTM's units where they are not 10."""
        more = "" if self.units == 10 else f", LSTM of {self.units}"
        if self.density == 1:
            return f"dense {self.width}{more}"
        return f"sparse {self.width} at {self.density:g}, {self.order or 'no sorting'}{more}"


def trial(spec: Spec, numbers: tuple[float, ...]) -> Spec:
    """A point with the numbers of one of its trials."""
    word, locked, weight, start = numbers
    return spec._replace(
        word_dropout=word, variational_dropout=locked, weight_dropout=weight, start=start
    )


DENSE = [Spec(width=width) for width in (20, 10, 5, 3, 2, 1)]
SPARSE = [Spec(density=density) for density in (0.5, 0.25, 0.15, 0.1, 0.05)]
UNSORTED = [
    Spec(density=density, order=order) for density in (0.25, 0.1) for order in (None, "down")
]
# Trials of each point: dropout of words, of dimensions and of recurrent weights, and the start.
TRIALS = ((0.1, 0, 0, 0.1), (0, 0, 0, 0.1), (0, 0, 0, 1.0))
TUNED = [SPARSE[1], *UNSORTED[1::-1], DENSE[0], SPARSE[3], *UNSORTED[:1:-1]]  # Table 3
# A footnote of section 4.2: with a larger LSTM short vectors lose little. The third is not theirs.
LARGER = [Spec(width=w, density=d, units=50) for w, d in ((50, 1.0), (2, 1.0), (50, 0.04))]
TRIED = [*TUNED, *LARGER]
DEV_EPOCHS = 6
PAPER = [*DENSE, *SPARSE, *UNSORTED]
# Words of one entry or two learn slowly: what twice the epochs are worth.
LONGER = [Spec(epochs=40), Spec(density=0.15, epochs=40)]
BENCHMARKS = {
    "tagging": [*PAPER, *LONGER],
    # The paper's own set and epochs, with `--data` the folder parsed/mrg/wsj of LDC99T42.
    "tagging_wsj": [
        spec._replace(dataset="wsj", epochs=50, batch_size=20, learning_rate=1e-3, falling=False)
        for spec in PAPER
    ],
    "tagging_dev": [
        trial(spec, numbers)._replace(epochs=DEV_EPOCHS) for spec in TRIED for numbers in TRIALS
    ],
    "tagging_conll2000": [
        spec._replace(dataset="conll2000") for spec in (Spec(), Spec(width=3), *SPARSE[1:4])
    ],
}
