"""Open English WordNet from tiny tables, and from the real ones where they are."""

import gzip

import pytest

from kerascompact.datasets.base import data_dir
from kerascompact.knowledge import open_wordnet_graph
from kerascompact.knowledge.open_wordnet import OpenWordNet

pytest.importorskip("scipy")

SYNSETS = """\
synset\tpos\tlexname\tili\tmembers\thypernym\tsimilar\tmero_part\tmero_member\tdefinition
1-n\tn\tnoun.all\ti1\tsecurity|certificate\t3-n\t\t\t\ta "quote
2-n\tn\tnoun.all\ti2\tbond|bond certificate\t1-n,4-n\t\t\t\tx
3-n\tn\tnoun.all\ti3\tasset\t\t\t\t\tx
4-n\tn\tnoun.all\ti4\tPaper\t\t\t\t\tx
5-n\tn\tnoun.all\ti5\ttree\t\t\t6-n\t\tx
6-n\tn\tnoun.all\ti6\ttrunk\t\t\t\t\tx
7-n\tn\tnoun.all\ti7\tforest\t\t\t\t5-n\tx
8-s\ts\tadj.all\ti8\ttorrid\t\t9-a\t\t\tx
9-a\ta\tadj.all\ti9\thot\t\t\t\t\tx
"""
SENSES = """\
lemma\tpos\tsynsets
security\tn\t1-n
certificate\tn\t1-n
bond\tn\t2-n
bond\tv\t
asset\tn\t3-n
Paper\tn\t4-n
tree\tn\t5-n
trunk\tn\t6-n
forest\tn\t7-n
torrid\ta\t8-s
hot\ta\t9-a
"""


def write(folder, synsets=SYNSETS, senses=SENSES, packed=True):
    for name, text in (("synsets", synsets), ("senses", senses)):
        if packed:
            (folder / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
        else:
            text = "\ufeff" + (text + "\n").replace("\n", "\r\n")  # as saved by an editor
            (folder / f"{name}.tsv").write_bytes(text.encode())
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_relations(tmp_path, packed):
    long = SYNSETS.replace("trunk", "trunk" + "|a" * 70_000)  # more than `csv` takes
    wordnet = OpenWordNet(write(tmp_path, long, packed=packed))
    assert wordnet.related("bond", ["hypernyms"]) == {"security", "certificate", "Paper"}
    assert wordnet.related("Bond") == {
        "bond", "bond certificate", "security", "certificate", "Paper",
    }  # fmt: skip
    assert wordnet.related("security", ["hyponyms"]) == {"bond", "bond certificate"}
    assert wordnet.related("security", ["synonyms"]) == {"security", "certificate"}
    assert wordnet.related("tree", ["parts"]) == {"trunk", "a"}
    assert wordnet.related("tree", ["wholes"]) == {"forest"}
    assert wordnet.related("hot", ["similar"]) == {"torrid"}
    assert wordnet.related("torrid", ["similar"]) == {"hot"}
    assert wordnet.related("street") == set()


def test_graph(tmp_path):
    words = ["<pad>", "bond", "paper", "security", "asset", "certificate", "tree"]
    graph = open_wordnet_graph(words, write(tmp_path))
    assert {tuple(pair) for pair in graph.pairs().tolist()} == {
        (1, 2), (1, 3), (1, 5), (3, 5), (3, 4), (4, 5),
    }  # fmt: skip
    wordnet = OpenWordNet(tmp_path)
    assert open_wordnet_graph(words, wordnet, ["synonyms"]).pairs().tolist() == [[3, 5]]


def test_refuses(tmp_path):
    with pytest.raises(ValueError, match=r"no synsets.tsv or synsets.tsv.gz in .*english-wordnet"):
        OpenWordNet(tmp_path)
    write(tmp_path)
    with pytest.raises(ValueError, match="`relations` must be one of 'synonyms', 'hypernyms'"):
        open_wordnet_graph(["a"], tmp_path, ["antonyms"])
    with pytest.raises(ValueError, match="`relations` must be a list"):
        open_wordnet_graph(["a"], tmp_path, "synonyms")
    with pytest.raises(ValueError, match="`folder` must be the path of a folder"):
        OpenWordNet(3)
    write(tmp_path, synsets=SYNSETS.replace("\tsimilar", "\tlike"))
    with pytest.raises(ValueError, match="synsets.tsv.gz, line 1: there is no column 'similar'"):
        OpenWordNet(tmp_path)
    write(tmp_path, senses=SENSES + "half\n")
    with pytest.raises(ValueError, match="senses.tsv.gz, line 13: 3 columns expected. Received: 1"):
        OpenWordNet(tmp_path)
    (tmp_path / "synsets.tsv.gz").write_bytes(b"text")
    with pytest.raises(ValueError, match="synsets.tsv.gz cannot be read: the file is damaged"):
        OpenWordNet(tmp_path)


@pytest.mark.slow
def test_the_real_tables():
    try:
        folder = data_dir() / "open_english_wordnet"
    except ValueError as error:
        pytest.skip(str(error))
    if not folder.is_dir():
        pytest.skip(f"there is no {folder.name}")
    wordnet = OpenWordNet(folder)
    assert len(wordnet._members) == 107_525
    assert wordnet.related("Nimbleness", ["hypernyms"]) == {"gracefulness", "intelligence"}
    words = ["stock", "security", "year", "month", "agility", "nimbleness", "street"]
    graph = open_wordnet_graph(words, wordnet)
    assert [4, 5] in graph.pairs().tolist() and 6 not in graph.pairs()
