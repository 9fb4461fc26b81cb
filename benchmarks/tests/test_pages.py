"""The pages: every table is printed from committed rows, stands once, and has a short caption."""

import re

import pytest

from benchmarks.lib import paper, results
from benchmarks.lib.experiments import MODULES, ROOT, module_of, rows_path
from benchmarks.projections import misspelt_words, projection_fit, word_similarity
from kerascompact.tasks.methods import METHODS

PAGES = {path.parent.name: path.read_text("utf-8") for path in ROOT.glob("benchmarks/*/RESULTS.md")}
INDEX = (ROOT / "RESULTS.md").read_text("utf-8")
BLOCK = re.compile(r"<!-- results: (\w+) -->\n(.*?)\n?<!-- end -->", re.DOTALL)
TABLES = {name: (page, table) for page in PAGES for name, table in BLOCK.findall(PAGES[page])}
SECTIONS = [section for text in PAGES.values() for section in text.split("\n## ")[1:]]


@pytest.mark.parametrize("name", TABLES)
def test_table_is_that_of_the_committed_rows(name):
    assert TABLES[name][1] == module_of(name).table(results.rows(name))


def test_every_experiment_with_rows_has_its_table_once_and_on_its_page():
    assert len(TABLES) == sum(len(BLOCK.findall(text)) for text in PAGES.values())
    committed = {path.stem: path for path in ROOT.glob("benchmarks/*/rows/*.jsonl")}
    assert all(rows_path(name) == path for name, path in committed.items())
    assert set(TABLES) == {name for name in set(MODULES) & set(committed) if name[-4:] != "_dev"}
    assert all(page == MODULES[name].split(".")[1] for name, (page, _) in TABLES.items())
    assert all(f"benchmarks/{page}/RESULTS.md" in INDEX for page in PAGES)


@pytest.mark.parametrize("page", sorted({*PAGES} - {"product"}))
def test_paper_is_beside_ours(page):
    (table,) = re.findall(rf"<!-- paper: {page} -->\n(.*?)\n<!-- end -->", PAGES[page], re.DOTALL)
    assert table == paper.table(paper.benchmark(f"{page}_paper"))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.split("\n")[0])
def test_caption_is_a_question_an_answer_and_a_command(section):
    heading, caption = section.split("\n\n")[:2]
    assert "make bench ARGS=" in caption and len(re.sub("`[^`]*`", "x", caption).split()) <= 40
    assert heading in INDEX
    assert all(name in caption for name, _ in BLOCK.findall(section)[:1])


def test_abbreviations_are_those_of_the_registry():
    (table,) = re.findall(r"<!-- methods -->\n(.*?)\n<!-- end -->", INDEX, re.DOTALL)
    lines = ["| in tables | `--method` | layer |", "|---|---|---|"]
    for method in METHODS.values():
        keras = "keras." if method.layer == "Embedding" else ""
        lines.append(
            f"| {method.abbreviation} | `{method.name}` | `{keras}layers.{method.layer}` |"
        )
    assert table == "\n".join(lines)


def test_neighbours_are_those_of_the_committed_rows():
    shown = {word_similarity.label(row["spec"]): row for row in results.rows("word_similarity")}
    shown["begun at a table"] = results.find("projection_fit", projection_fit.BEGUN._asdict())
    assert word_similarity.neighbour_table(shown) in PAGES["projections"]
    assert misspelt_words.neighbours(results.rows("misspelt_words")) in PAGES["projections"]


@pytest.mark.parametrize("page", [*PAGES, ""])
def test_every_link_leads_somewhere(page):
    folder = ROOT / "benchmarks" / page if page else ROOT
    for target in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", PAGES.get(page, INDEX)):
        assert (folder / target).exists(), target
