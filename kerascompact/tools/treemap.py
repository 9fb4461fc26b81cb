"""Treemap of a `.tflite` file: its constants, metadata and graph as rectangles by size."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kerascompact.core import checks, extras, files
from kerascompact.tools.inspector import Inspection, inspect

# The hue says what a constant is: float, quantized, or codes and ids; all else is grey.
COLOURS = {
    "float32": "#e4705e", "float16": "#f2a490", "int8": "#4f8fc0", "int4": "#9cc7e4",
    "uint8": "#5aa872", "int16": "#8cc39a", "int32": "#c9b04f", "int64": "#a98a2b",
    "metadata": "#9a9a9a", "graph": "#cfcfcf",
}  # fmt: skip
OTHER = "#b08fc7"
SMALL = 0.004  # constants below this share of the file are drawn as one rectangle


class Rectangle(NamedTuple):
    """Position and size of a rectangle."""

    x: float
    y: float
    width: float
    height: float


class Piece(NamedTuple):
    """Piece of a file; `colour` is a key of `COLOURS` or the name of another type."""

    label: str
    colour: str
    num_bytes: int


def squarified(sizes: Sequence[float], width: float, height: float) -> list[Rectangle]:
    """Cuts a rectangle into smaller ones whose areas are proportional to `sizes`.

    Rectangles fill a row along the shorter side as long as this makes them more square.

    Args:
        sizes: Positive numbers, the largest first.
        width: Width of the rectangle that is cut.
        height: Height of the rectangle that is cut.

    Returns: A rectangle for each size.

    Raises: ValueError, if a size is not positive.

    Reference: [Bruls, Huizing and van Wijk, VisSym 2000](https://doi.org/10.1007/978-3-7091-6783-0_4).

    >>> squarified([3, 1], 4, 1)
    [Rectangle(x=0.0, y=0.0, width=3.0, height=1.0), Rectangle(x=3.0, y=0.0, width=1.0, height=1.0)]
    """
    if any(not size > 0 for size in sizes):
        checks.fail("sizes", "positive numbers", [*sizes])
    scale = width * height / sum(sizes) if sizes else 1.0
    areas, x, y, found = [size * scale for size in sizes], 0.0, 0.0, []
    while areas:
        side = min(width, height)
        count = 1
        while count < len(areas) and _worst(areas[: count + 1], side) <= _worst(
            areas[:count], side
        ):
            count += 1
        row, areas = areas[:count], areas[count:]
        depth, along = sum(row) / side, 0.0
        for area in row:
            length = area / depth
            if height <= width:  # a column at the left
                found.append(Rectangle(x, y + along, depth, length))
            else:
                found.append(Rectangle(x + along, y, length, depth))
            along += length
        if height <= width:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
    return found


def _worst(row: Sequence[float], side: float) -> float:
    """The largest ratio of the sides of the rectangles in a row."""
    total = sum(row)
    return max(side**2 * max(row) / total**2, total**2 / (side**2 * min(row)))


def pieces(found: Inspection) -> list[Piece]:
    """Pieces that a file is made of, largest first; their bytes add up to those of the file.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> found = inspect(kerascompact.export.convert(model))
    >>> sum(piece.num_bytes for piece in pieces(found)) == found.num_bytes
    True
    """
    large = [tensor for tensor in found.tensors if tensor.share >= SMALL]
    small = found.tensors[len(large) :]
    cut = [
        Piece(f"{t.name}\n{t.dtype}{list(t.shape)}".strip(), t.dtype, t.num_bytes) for t in large
    ]
    cut.append(Piece(f"{len(small)} small constants", "small", sum(t.num_bytes for t in small)))
    cut.append(Piece("metadata", "metadata", found.metadata_bytes))
    operators = sum(found.operators.values())
    cut.append(Piece(f"graph\n{operators} operators", "graph", found.overhead))
    return sorted((piece for piece in cut if piece.num_bytes), key=lambda piece: -piece.num_bytes)


def draw(file: bytes | str | Path, picture: str | os.PathLike[str]) -> Path:
    """Draws a file as a treemap; needs the extra `plot`.

    Args:
        file: Path or bytes of any `.tflite` file.
        picture: Path of the picture to write: a .png, .svg or .pdf.

    Returns: The path of the picture.

    Raises: ValueError, if the file is not a TFLite file or is damaged, or the picture has another
        ending; ImportError, without matplotlib; OSError, if a path cannot be read or written.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> draw(kerascompact.export.convert(model), "treemap.png").name
    'treemap.png'
    """
    picture = Path(picture)
    ending = picture.suffix.lower().removeprefix(".")
    checks.choice("picture", ending, ("png", "svg", "pdf"))
    found = inspect(file)
    figures = extras.require("matplotlib.figure", "plot")
    patches = extras.require("matplotlib.patches", "plot")
    figure = figures.Figure(figsize=(10, 6.4), layout="constrained")
    axes = figure.subplots()
    shown = pieces(found)
    places = squarified([piece.num_bytes for piece in shown], 100, 60)
    for piece, place in zip(shown, places, strict=True):
        colour = COLOURS.get(piece.colour, OTHER)
        axes.add_patch(patches.Rectangle(place[:2], *place[2:], fc=colour, ec="white", lw=1.5))
        label = f"{piece.label}\n{piece.num_bytes:,} B, {piece.num_bytes / found.num_bytes:.1%}"
        _write(axes, label, place)
    name = f"{Path(file).name}: " if isinstance(file, str | Path) else ""
    axes.set_title(f"{name}{found.num_bytes:,} bytes", loc="left", parse_math=False)
    axes.set(xlim=(0, 100), ylim=(60, 0), aspect="equal")
    axes.axis("off")
    kinds = dict.fromkeys(piece.colour for piece in shown)
    handles = [patches.Patch(color=COLOURS.get(kind, OTHER), label=kind) for kind in kinds]
    figure.legend(handles=handles, loc="outside lower left", ncols=len(kinds), frameon=False)
    content = io.BytesIO()
    # Without a date, so that drawing twice gives the same bytes.
    about = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(content, format=ending, dpi=150, metadata=about[ending])
    return files.write_bytes(picture, content.getvalue())


def _write(axes: object, label: str, place: Rectangle) -> None:
    """Writes a label in the largest letters that fit; none if only tiny ones would."""
    lines = label.split("\n")
    # A letter of size 1 is 0.088 units wide and a line 0.19 high, on a figure of 10 inches.
    wide = place.width * 0.94 / (0.088 * max(map(len, lines)))
    size = min(11.0, wide, place.height * 0.9 / (0.19 * len(lines)))
    if size >= 4.5:
        middle = place.x + place.width / 2, place.y + place.height / 2
        how = dict(size=size, ha="center", va="center", parse_math=False)  # a name may have "$"
        axes.text(*middle, label, **how)  # type: ignore[attr-defined]
