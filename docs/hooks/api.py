"""mkdocs hook: pages of the API, and the measured and reference parts of the pages of methods.

A page of docs/methods/ whose title names layers in backticks gets what committed results say of
them, as pictures and tables, and their docstrings.
"""

import ast
import re
import sys
from pathlib import Path

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))
from figures import draw, figures_of, table  # noqa: E402

ROOT = Path(__file__).parents[2]


def rooms():
    """Names of the public rooms, as the package lists them."""
    return _assigned(ROOT / "kerascompact" / "__init__.py", "_PACKAGES")


def public_names(room):
    """What a room exports: classes and functions, and modules of such."""
    names = _assigned(_module(room), "__all__")
    if names is None:
        parsed = ast.parse(_module(room).read_text("utf-8")).body
        kinds = (ast.FunctionDef, ast.ClassDef)
        names = [node.name for node in parsed if isinstance(node, kinds) and node.name[0] != "_"]
    return names


def layers_of(markdown):
    """The layers that the title of a page names."""
    return re.findall(r"`(\w+)`", markdown.splitlines()[0])


def on_files(files, config):
    described = {}
    for file in [file for file in files if file.src_uri.startswith("methods/")]:
        layers = layers_of(file.content_string)
        described |= dict.fromkeys(layers, file.src_uri)
        for source, everything, ours in figures_of(layers):
            picture = File.generated(
                config, _picture(file.src_uri, source), content=draw(everything, ours)
            )
            files.append(picture)
    for room in rooms():
        docstring = ast.get_docstring(ast.parse(_module(room).read_text("utf-8"))) or ""
        lines = [f"# kerascompact.{room}", "", docstring.split("\n>>>")[0].strip(), ""]
        for name in public_names(room):
            if room == "layers" and name in described:
                lines += [f"## [`{name}`](../{described[name]})", ""]
            else:
                lines += [f"::: kerascompact.{room}.{name}", ""]
        files.append(File.generated(config, f"api/{room}.md", content="\n".join(lines)))
    return files


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    if not here.startswith("methods/"):
        return markdown
    layers, lines = layers_of(markdown), [markdown]
    for number, (source, everything, ours) in enumerate(figures_of(layers)):
        picture = Path(_picture(here, source)).name
        results = f"../../benchmarks/{source.page}/RESULTS.md#{source.anchor}"
        lines += [
            "" if number else "## Accuracy over bytes",
            f"**{source.what}** ([all rows, and what they mean]({results})):",
            f"![Accuracy over bytes of the file]({picture})",
            table(everything, ours),
        ]
    named = [name for name in layers if name in public_names("layers")]
    lines += ["## Reference"] * bool(named)
    lines += [
        f"::: kerascompact.layers.{name}\n    options:\n      heading_level: 3" for name in named
    ]
    return "\n\n".join(lines)


def _picture(page, source):
    return f"{page.removesuffix('.md')}-{source.name}.svg"


def _module(room):
    folder = ROOT / "kerascompact" / room
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def _assigned(path, name):
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    return None
