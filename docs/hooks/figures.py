"""Pictures of accuracy over bytes, drawn from the tables of committed results."""

import math
import re
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 680, 340, 52, 130, 14, 40
OURS, BASELINE, OTHERS = "#d1495b", "#2e86ab", "#9a9a9a"


class Source(NamedTuple):
    """A table of results that has files and their accuracy."""

    name: str
    page: str
    anchor: str
    what: str
    size: str  # column of the file's size
    unit: int  # bytes of its unit
    wanted: tuple[str, str] = ("", "")  # a column, and the value that rows must have in it


SOURCES = (
    Source("phone", "product", "every-form-on-the-phones-runtime", "CLINC150", "file B", 1),
    Source("ag_news", "clusters", "ag-news", "AG News, the cluster paper's models", "file B", 1),
    Source(
        "kd_text", "kd_codes", "text-classification", "AG News, fastText's classifier",
        "file KB", 1000, ("data set", "ag_news"),
    ),
    Source("ant_text", "anchors", "ag-news", "AG News, Kim's CNN", "file KB", 1000),
    Source(
        "tagging", "sparseness", "part-of-speech-tags", "part-of-speech tags", "file B", 1,
        ("epochs", "20"),
    ),
)  # fmt: skip
TAGS = {"dense": "SE", "sparse": "PS"}  # the table of tags has no abbreviations


class Point(NamedTuple):
    label: str
    method: str
    size: float
    shown: str
    accuracy: str

    @property
    def percent(self):
        return float(self.accuracy.split()[0])


def abbreviations():
    """From a layer's name to its method's in tables, as RESULTS.md lists them."""
    rows = re.findall(
        r"^\| ([\w-]+) \| `\w+` \| `layers\.(\w+)` \|$", (ROOT / "RESULTS.md").read_text("utf-8"),
        re.MULTILINE,
    )  # fmt: skip
    return {layer: short for short, layer in rows}


def points(source):
    text = (ROOT / "benchmarks" / source.page / "RESULTS.md").read_text("utf-8")
    table = re.search(rf"<!-- results: {source.name} -->\n(.*?)\n<!-- end -->", text, re.DOTALL)[1]
    head, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.split("\n")
    )
    for row in rows:
        cells = dict(zip(head, row, strict=True))
        column, value = source.wanted
        if column and cells[column] != value:
            continue
        label = cells.get("embedding") or cells["model"]
        if label.startswith(("Keras", "pairs")):
            continue
        method = re.match(r"[\w-]+", label)[0]
        method = TAGS[method] if source.name == "tagging" else method
        label += f", {cells['recipe']}" if "recipe" in cells else ""
        size = float(cells[source.size].replace(",", "")) * source.unit
        shown = f"{cells[source.size]} {source.size.removeprefix('file ')}"
        yield Point(label, method, size, shown, cells["file"])


def figures_of(layers):
    """The sources that have one of some layers, each with its points and those of the layers.

    Args:
        layers: Names of layers.
    """
    short = abbreviations()
    wanted = {short[layer] for layer in layers if layer in short}
    for source in SOURCES:
        everything = list(points(source))
        ours = [point for point in everything if point.method in wanted]
        if ours:
            yield source, everything, ours


def table(everything, ours):
    """The rows of the layers, and of the plain embedding."""
    baseline = [point for point in everything if point.method == "SE" and point not in ours]
    lines = ["| embedding | file | accuracy of the file, % |", "|---|---|---|"]
    lines += [f"| {p.label} | {p.shown} | {p.accuracy} |" for p in [*baseline, *ours]]
    return "\n".join(lines)


def draw(everything, ours):
    """An SVG of accuracy over the bytes of the file, on a logarithmic axis."""
    logs = [math.log10(point.size) for point in everything]
    low, high = min(logs) - 0.05, max(logs) + 0.05
    bottom = min(point.percent for point in everything)
    top = max(point.percent for point in everything)
    bottom, top = max(bottom, top - 30), top + 0.5
    bottom -= 0.04 * (top - bottom)

    def x(size):
        return LEFT + (math.log10(size) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(percent):
        return TOP + (top - percent) / (top - bottom) * (HEIGHT - TOP - BOTTOM)

    base = HEIGHT - BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="11" fill="#808080">',
        f'<path d="M{LEFT} {TOP}V{base}H{WIDTH - RIGHT}" stroke="{OTHERS}" fill="none"/>',
        f'<text x="{LEFT}" y="{HEIGHT - 6}">bytes of the file; % of the test set right</text>',
    ]
    for size in _ticks(low, high):
        name = f"{size // 1000} KB" if size < 10**6 else f"{size // 10**6} MB"
        parts.append(
            f'<path d="M{x(size):.1f} {base}v4" stroke="{OTHERS}"/>'
            f'<text x="{x(size):.1f}" y="{base + 16}" text-anchor="middle">{name}</text>'
        )
    step = 1 if top - bottom <= 8 else 5
    for percent in range(math.ceil(bottom / step) * step, math.floor(top) + 1, step):
        parts.append(
            f'<path d="M{LEFT - 4} {y(percent):.1f}h4" stroke="{OTHERS}"/>'
            f'<text x="{LEFT - 7}" y="{y(percent) + 4:.1f}" text-anchor="end">{percent}</text>'
        )
    known, names = set(abbreviations().values()), []
    for point in sorted(everything, key=lambda point: point in ours):
        if point.percent < bottom:
            continue
        colour = OURS if point in ours else BASELINE if point.method == "SE" else OTHERS
        place = f"{x(point.size):.1f}", f"{y(point.percent):.1f}"
        title = f"{point.label}: {point.shown}, {point.accuracy} %"
        parts.append(
            f'<circle cx="{place[0]}" cy="{place[1]}" r="{5 if point in ours else 4}" '
            f'fill="{colour}"><title>{escape(title)}</title></circle>'
        )
        short = point.method in known and point not in ours and point.method != "SE"
        name = point.method if short else point.label.split("(")[0]
        names.append((x(point.size) + 8, y(point.percent) + 4, name, colour))
    parts += [
        f'<text x="{left:.1f}" y="{base:.1f}" fill="{colour}">{escape(name)}</text>'
        for left, base, name, colour in _apart(names)
    ]
    return "\n".join([*parts, "</svg>\n"])


def _apart(names):
    """Names of points, the last first, without those that others would cover."""
    taken = []
    for left, base, name, colour in reversed(names):
        box = left, base - 9, left + 6.2 * len(name), base + 2
        if not any(
            box[0] < there[2] and there[0] < box[2] and box[1] < there[3] and there[1] < box[3]
            for there in taken
        ):
            taken.append(box)
            yield left, base, name, colour


def _ticks(low, high):
    """Round numbers of bytes between two powers of 10: at least two of them."""
    for digits in ((1, 2, 5), range(1, 10)):
        decades = range(math.floor(low), math.ceil(high) + 1)
        sizes = [digit * 10**decade for decade in decades for digit in digits]
        sizes = [size for size in sizes if low <= math.log10(size) <= high]
        if len(sizes) >= 2:
            break
    return sizes
