"""mkdocs hook: pages from files outside of docs/, and links that lead to the right place.

Results, tutorials, CONTRIBUTING and others stay where they are, and become pages when the site is
built. Links in all pages are written as they work in the repository.
"""

import posixpath
import re
import sys
from pathlib import Path

from mkdocs.structure.files import File
from nbconvert import MarkdownExporter

sys.path.insert(0, str(Path(__file__).parent))
from api import rooms  # noqa: E402

ROOT = Path(__file__).parents[2]
TEXTS = {
    "RESULTS.md": "results/index.md",
    **{
        path.relative_to(ROOT).as_posix(): f"results/{path.parent.name}.md"
        for path in sorted(ROOT.glob("benchmarks/*/RESULTS.md"))
    },
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
NOTEBOOKS = {
    path.relative_to(ROOT).as_posix(): f"tutorials/{path.stem}.md"
    for path in sorted(ROOT.glob("colab/*.ipynb"))
}
PICTURES = {
    path.relative_to(ROOT).as_posix(): f"results/{path.relative_to(ROOT).parts[1]}-{path.name}"
    for folder in ("benchmarks/*", "benchmarks/*/rows")
    for path in sorted([*ROOT.glob(f"{folder}/*.svg"), *ROOT.glob(f"{folder}/*.png")])
}
PAGE_OF = {
    **TEXTS,
    **NOTEBOOKS,
    **PICTURES,
    **{f"kerascompact/{room}": f"api/{room}.md" for room in rooms()},
    "colab": "tutorials/index.md",
}
SOURCE_OF = {page: source for source, page in PAGE_OF.items()}
_FENCES = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config):
    """Fills in the navigation: pages of folders."""
    folders = {
        "results/": [page for page in TEXTS.values() if page.startswith("results/")],
        "tutorials/": ["tutorials/index.md", *NOTEBOOKS.values()],
        "api/": [f"api/{room}.md" for room in rooms()],
    }
    config.nav = [
        {title: inside if isinstance(inside, list) else folders.get(inside, inside)}
        for item in config.nav
        for title, inside in item.items()
    ]
    return config


def on_files(files, config):
    for source, page in TEXTS.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=_with_markdown_inside(text)))
    titles = []
    for source, page in NOTEBOOKS.items():
        text, outputs = _notebook(ROOT / source)
        titles.append((re.search(r"^# (.*)$", text, re.MULTILINE)[1], posixpath.basename(page)))
        files.append(File.generated(config, page, content=text))
        for name, data in outputs.items():
            files.append(File.generated(config, f"tutorials/{name}", content=data))
    lines = [f"{number}. [{title}]({name})" for number, (title, name) in enumerate(titles, 1)]
    lines = [
        "# Tutorials",
        "",
        "Notebooks of the folder `colab`; a test runs each of them.",
        "",
        *lines,
        "",
    ]
    files.append(File.generated(config, "tutorials/index.md", content="\n".join(lines)))
    for source, page in PICTURES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Turns links between files of the repository into links between pages.

    What is not on the site is a link into the repository if `repo_url` is set, and its text if not.
    """
    here = page.file.src_uri
    source = SOURCE_OF.get(here, f"docs/{here}")

    def lead(match):
        mark, text, link, anchor = match.groups(default="")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
        there = PAGE_OF.get(target) or (target[5:] if target.startswith("docs/") else None)
        if there is not None:  # mkdocs checks that it exists
            there = posixpath.relpath(there, posixpath.dirname(here) or ".")
            return f"{mark}[{text}]({there}{anchor})"
        if not (ROOT / target).exists():
            return match[0]  # mkdocs says that it leads nowhere
        return (
            f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{target})"
            if config.repo_url
            else text
        )

    parts = _FENCES.split(markdown)
    parts[::2] = [_LINK.sub(lead, part) for part in parts[::2]]
    return "".join(parts)


def _with_markdown_inside(text):
    """Tables in `<details>` are Markdown, too."""
    return text.replace("<details>", '<details markdown="1">')


def _notebook(path):
    """The Markdown of a notebook, and its pictures by name."""
    exporter = MarkdownExporter()
    resources = {"unique_key": path.stem, "output_files_dir": "."}
    text, resources = exporter.from_filename(str(path), resources=resources)
    outputs = {posixpath.basename(name): data for name, data in resources["outputs"].items()}
    return text.replace("](./", "]("), outputs
