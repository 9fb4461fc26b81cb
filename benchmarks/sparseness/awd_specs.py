"""Which AWD-LSTMs are trained: the paper's size, and two that are smaller."""

from pathlib import Path
from typing import NamedTuple


class Spec(NamedTuple):
    """Everything that decides a run.

    `width` and `units` are those of the dense model. "sparse" has `factor` times the units in
    LSTMs of the same parameters; "sparse embedding" also vectors `factor` times as wide, with as
    many entries as those of the dense model. `epochs`, then up to `finetune` more of averaged SGD.
    `strength` multiplies every share that is dropped: smaller models need less of it.
    `random_steps`: whether batches have random lengths, and rates of their length, as published.
    """

    kind: str
    width: int = 400
    units: int = 1150
    factor: float = 1.5
    train_tokens: int | None = None
    epochs: int = 500
    finetune: int = 500
    strength: float = 1.0
    rate: float = 30.0
    batch_size: int = 20
    steps: int = 70
    patience: int = 5
    random_steps: bool = False
    seed: int = 0

    def folder(self, work: Path) -> Path:
        """Where its checkpoints are."""
        return work / "awd" / "-".join(map(str, self._replace(epochs=0, finetune=0)))  # may go on


KINDS = ("dense", "sparse", "sparse embedding")
SPECS = {
    # The paper's pair, and the full embedding sparse: 43 minutes an epoch on two cores.
    "awd": [Spec(kind, random_steps=True) for kind in KINDS],
    # The same at a sixth of the width, a third of the text.
    "awd_300k": [
        Spec(kind, 64, 184, 1.5, 300_000, epochs=10, finetune=2, strength=0.5, steps=35)
        for kind in KINDS
    ],
    # Small enough to train until averaging has begun, in minutes on one core.
    "awd_50k": [
        Spec(kind, 32, 96, 1.5, 50_000, 24, 8, 0.5, batch_size=10, steps=35, random_steps=True)
        for kind in KINDS
    ],
}
