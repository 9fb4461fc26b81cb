"""Figures 2 and 4 of the predefined-sparseness paper, drawn from what the layers compute.

`python -m benchmarks.sparseness.shapes` draws lengths of vectors over the rank of the word, and the
recurrent layers of a dense and a sparse model of equal size.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.lib.experiments import ROOT
from kerascompact import models
from kerascompact.core.extras import require
from kerascompact.ops.segments import segment_lengths, window_starts, window_width
from kerascompact.ops.word_bins import bin_widths, words_per_bin
from kerascompact.tasks import plots

FOLDER = ROOT / "benchmarks" / "sparseness"
WORDS, WIDTH = 43_815, 20  # of the paper's tagger
DENSITIES = (0.5, 0.2, 0.1, 0.05)
BINS = 10  # of two dimensions each, so for densities above 0.1
TOKENS = 10_000  # of the paper's language model
SIZES = ((200, 575), 200, 1150)  # of the dense model; width and units of the sparse one
COLOURS = "#0072B2", "#D55E00"


def lengths(density: float, bins: int | None) -> tuple[list[int], list[int]]:
    """Numbers of words, ascending, and the length of the vectors of the words up to each.

    >>> lengths(0.75, 2)
    ([21907, 43815], [20, 10])
    """
    widths = bin_widths(WIDTH, bins, None)
    words, _ = words_per_bin(density, widths, WORDS)
    return words[::-1], [sum(widths[: place + 1]) for place in reversed(range(len(widths)))]


def alpha(density: float) -> float:
    """The base `alpha` of the numbers of words of Figure 2.

    >>> round(alpha(0.2), 2)
    0.75
    """
    return words_per_bin(density, bin_widths(WIDTH, None, None), WORDS)[1]


class Part(NamedTuple):
    """An LSTM within a layer: where its inputs and its outputs begin, and how many there are."""

    first_input: int
    inputs: int
    first_output: int
    outputs: int


def parts(size: Any, input_dim: int) -> list[Part]:
    """The LSTMs of a layer.

    Args:
        size: A `SparseSize`.
        input_dim: Number of inputs of the layer.
    """
    outputs = segment_lengths(size.units, size.num_segments)
    window = window_width(input_dim, len(outputs), size.gamma)
    starts = window_starts(input_dim, len(outputs), size.gamma)
    return [
        Part(start, window, sum(outputs[:place]), length)
        for place, (start, length) in enumerate(zip(starts, outputs, strict=True))
    ]


def networks(of: Any = SIZES) -> dict[str, list[list[Part]]]:
    """The layers of both models: Figure 4 (a) and (b).

    Args:
        of: Width and units of the dense model; width and units of the sparse one.
    """
    (width, units), wide, many = of
    dims = width, units, units, width
    dense = [[Part(0, i, 0, o)] for i, o in zip(dims, dims[1:], strict=False)]
    inputs = wide, many, many
    sizes = models.sparse_sizes(*of)
    sparse = [parts(size, i) for size, i in zip(sizes, inputs, strict=True)]
    return {"dense": dense, "sparse": sparse}


def parameters(layer: Sequence[Part]) -> int:
    """Number of parameters of a layer's LSTMs, with one bias vector.

    >>> parameters([Part(0, 3, 0, 2)])  # 4 h (i + h + 1)
    48
    """
    return sum(4 * part.outputs * (part.inputs + part.outputs + 1) for part in layer)


def counts() -> list[tuple[str, float, int]]:
    """Table 4's models: name, millions of parameters in the paper, and how many ours has.

    An LSTM has two biases here, as in PyTorch; the softmax is under the embedding and has a bias.
    """
    found = []
    for width, units, printed in ((400, 1150, 24.22), (200, 575, 7.07), (133, 383, 3.59)):
        for kind, layers in networks(((width, units), width, 1150)).items():
            second = sum(4 * part.outputs for layer in layers for part in layer)
            total = TOKENS * (width + 1) + sum(map(parameters, layers)) + second
            found.append((f"{printed} M, {kind}", printed, total))
    return [found[0], *found[2:]]  # the largest is dense alone


def draw_lengths(path: Path) -> Path:
    """Draws Figure 2: a panel for each density."""
    figure = require("matplotlib.figure", "plot").Figure(figsize=(9.6, 3.0), layout="constrained")
    panels = figure.subplots(1, len(DENSITIES), sharex=True, sharey=True)
    for axes, density in zip(panels, DENSITIES, strict=True):
        words, entries = lengths(density, None)
        axes.fill_between(
            [0, *words], [entries[0], *entries], step="pre", color=COLOURS[0], alpha=0.35,
            linewidth=0, label=f"{WIDTH} bins",
        )  # fmt: skip
        if density * BINS > 1:
            words, entries = lengths(density, BINS)
            label = f"{BINS} bins"
            axes.step(
                [0, *words], [entries[0], *entries], where="pre", color=COLOURS[1], label=label
            )
        axes.set_xlabel("rank of the word")
        axes.set_xticks([0, 20_000, 40_000])
        plots.plain(axes, f"density {density:g}")
    panels[0].set_ylabel("length of its vector")
    return plots.save(figure, path)


def draw_networks(path: Path) -> Path:
    """Draws Figure 4: each LSTM between the inputs that it reads, below, and its outputs."""
    figure = require("matplotlib.figure", "plot").Figure(figsize=(9.6, 4.2), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    most = max(SIZES[2], SIZES[0][1])
    for axes, (name, layers) in zip(panels, networks().items(), strict=True):
        for level, layer in enumerate(layers):
            inputs = max(part.first_input + part.inputs for part in layer)
            outputs = sum(part.outputs for part in layer)
            below, above = (most - inputs) / 2, (most - outputs) / 2
            for number, part in enumerate(layer):
                left, start = below + part.first_input, above + part.first_output
                corners = (left, left + part.inputs, start + part.outputs, start)
                heights = (level, level, level + 0.7, level + 0.7)
                axes.fill(corners, heights, alpha=0.3, color=COLOURS[number % 2], linewidth=0)
                axes.plot(
                    corners[2:],
                    heights[2:],
                    color=COLOURS[number % 2],
                    linewidth=4,
                    solid_capstyle="butt",
                )
            axes.text(most / 2, level + 0.78, _words(layer), ha="center", fontsize=9)
        axes.set_yticks([])
        axes.set_xticks([])
        axes.set_ylim(-0.1, len(layers) + 0.1)
        axes.set_title(f"{name}: {sum(map(parameters, layers)):,} parameters", loc="left")
        axes.spines[:].set_visible(False)
    return plots.save(figure, path)


def _words(layer: Sequence[Part]) -> str:
    kinds = dict.fromkeys((part.inputs, part.outputs) for part in layer)
    count = f"{len(layer)} LSTMs, " if len(layer) > 1 else ""
    shapes = " and ".join(f"{inputs} → {outputs}" for inputs, outputs in kinds)
    return f"{count}{shapes}: {parameters(layer):,} par."


PICTURES = {"lengths.svg": draw_lengths, "networks.svg": draw_networks}


def main(argv: list[str] | None = None) -> int:
    """Draws both pictures into the folder that the pages show, or another."""
    parser = argparse.ArgumentParser("python -m benchmarks.sparseness.shapes", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="a folder")
    folder = parser.parse_args(argv).out
    for name, draw in PICTURES.items():
        print(draw(folder / name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
