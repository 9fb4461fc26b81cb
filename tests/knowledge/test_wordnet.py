"""WordNet from a tiny database in the format of the real one, through nltk's own reader."""

import shutil
from pathlib import Path

import pytest

from kerascompact.knowledge import wordnet, wordnet_graph
from kerascompact.knowledge.wordnet import DEBIAN, open_wordnet, related_names

pytest.importorskip("nltk")
pytest.importorskip("scipy")

# synset: names, then (symbol, synset) of pointers, or (symbol, synset, from name, to name)
NOUNS = {
    "security": (["security", "certificate"], [("@", "asset")]),
    "bond": (["bond", "bond_certificate"], [("@", "security")]),
    "asset": (["asset", "plus"], [("!", "liability", 1, 1)]),
    "liability": (["liability"], [("!", "asset", 1, 1)]),
    "tie": (["bond", "attachment"], []),
    "city": (["city"], []),
    "New_York": (["New_York"], [("@i", "city")]),
}
ADJECTIVES = {
    "hot": (["hot", "warm"], [("!", "cold", 1, 1)]),
    "cold": (["cold", "cool"], [("!", "hot", 1, 1)]),
}
BACK = {"@": "~", "@i": "~i"}


def write_part(folder, suffix, kind, synsets):
    """`data.*` and `index.*` as wndb(5WN) describes them: offsets are places in the file."""
    pointers = {name: list(found) for name, (_, found) in synsets.items()}
    for name, (_, found) in synsets.items():
        for symbol, other, *names in found:
            if symbol in BACK:
                pointers[other].append((BACK[symbol], name, *names))
    offsets = {}

    def line(name):
        names = synsets[name][0]
        words = " ".join(f"{word} 0" for word in names)
        found = []
        for symbol, other, *ends in pointers[name]:
            ends = "".join(f"{end:02x}" for end in ends) or "0000"
            found.append(f"{symbol} {offsets.get(other, 0):08d} {kind} {ends}")
        fields = [f"{offsets.get(name, 0):08d} 00 {kind} {len(names):02x} {words}"]
        return " ".join([*fields, f"{len(found):03d}", *found]) + " | a gloss  \n"

    for name in synsets:  # every line has its length, whatever the offsets in it are
        offsets[name] = sum(len(line(before)) for before in list(synsets)[: len(offsets)])
    (folder / f"data.{suffix}").write_text("".join(line(name) for name in synsets))
    index = {}
    for name, (names, _) in synsets.items():
        for word in names:
            index.setdefault(word.lower(), []).append(f"{offsets[name]:08d}")
    lines = [
        f"{word} {kind} {len(found)} 0 {len(found)} 0 {' '.join(found)}  \n"
        for word, found in sorted(index.items())
    ]
    (folder / f"index.{suffix}").write_text("".join(lines))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("wordnet")
    for suffix in ("noun", "verb", "adj", "adv"):
        for name in (f"data.{suffix}", f"index.{suffix}", f"{suffix}.exc"):
            (made / name).write_text("")
    (made / "lexnames").write_text("00\tnoun.all\t1\n")
    (made / "cntlist.rev").write_text("")
    (made / "index.sense").write_text("")
    write_part(made, "noun", "n", NOUNS)
    write_part(made, "adj", "a", ADJECTIVES)
    return made


TEXT = "<pad> <unk> bonds security certificate bond asset assets liability new_york city hot warm"
WORDS = [*TEXT.split(), "cold", "cool", "attachment"]


def named(graph):
    return {tuple(sorted((WORDS[u], WORDS[v]))) for u, v in graph.pairs()}


SYNONYMS = {
    ("certificate", "security"),
    ("asset", "assets"),  # an inflected word has the synsets of its base
    ("bond", "bonds"),
    ("hot", "warm"),
    ("cold", "cool"),
    ("attachment", "bond"),
    ("attachment", "bonds"),
}
ABOVE = {
    ("bond", "security"),
    ("bonds", "security"),
    ("bond", "certificate"),
    ("bonds", "certificate"),
    ("asset", "security"),
    ("asset", "certificate"),
    ("city", "new_york"),
}
# from the other side: what is right below "assets" is below "asset"
BELOW = (ABOVE - {("bonds", "security"), ("bonds", "certificate")}) | {
    ("assets", "security"),
    ("assets", "certificate"),
}
# of the words themselves: not of "warm" and "cool", which are in those synsets
ANTONYMS = {("asset", "liability"), ("assets", "liability"), ("cold", "hot")}


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("synonyms", SYNONYMS),
        ("hypernyms", ABOVE),
        ("hyponyms", BELOW),
        ("antonyms", ANTONYMS),
    ],
)
def test_each_relation(folder, relation, expected):
    assert named(wordnet_graph(WORDS, folder, [relation])) == expected


def test_all_relations_from_a_path_or_a_reader(folder):
    expected = SYNONYMS | ABOVE | BELOW | ANTONYMS
    assert named(wordnet_graph(WORDS, str(folder))) == expected
    import nltk

    before = list(nltk.data.path)
    with open_wordnet(folder) as reader:
        assert named(wordnet_graph(WORDS, reader)) == expected
        assert related_names(reader, "new york", ["hypernyms"]) == {"city"}
        assert related_names(reader, "street") == set()
    assert nltk.data.path == before


def test_an_inflected_word_that_is_a_word_of_its_own_has_the_antonyms_of_its_base(tmp_path, folder):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    find = {"find": (["find"], [("!", "lose", 1, 1)]), "lose": (["lose"], [("!", "find", 1, 1)])}
    write_part(tmp_path, "verb", "v", {**find, "found": (["found", "establish"], [])})
    (tmp_path / "verb.exc").write_text("found find\n")
    with open_wordnet(tmp_path) as reader:
        assert related_names(reader, "found", ["antonyms"]) == {"lose"}
        assert related_names(reader, "establish", ["antonyms"]) == set()


def test_says_where_to_get_it(tmp_path):
    with pytest.raises(ValueError, match=r"no data.noun in .*wordnet-base.*`download=True`"):
        wordnet_graph(WORDS, tmp_path)
    (tmp_path / "data.noun").write_text("")
    (tmp_path / "index.noun").write_text("")
    with pytest.raises(ValueError, match="is an incomplete WordNet database: .*lexnames"):
        wordnet_graph(WORDS, tmp_path)


def test_downloads_only_if_asked(monkeypatch):
    import nltk

    asked = []
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(nltk, "download", lambda *names, **options: asked.append(names))
    for download in (False, True):
        with pytest.raises(ValueError, match="nltk finds no WordNet on this machine. Name the"):
            wordnet_graph(WORDS, download=download)
        assert asked == [("wordnet",)] * download


def test_refuses(folder):
    with pytest.raises(ValueError, match="`relations` must be one of 'synonyms', 'antonyms'"):
        wordnet_graph(WORDS, folder, ["meronyms"])
    for relations in ("synonyms", []):
        with pytest.raises(ValueError, match="`relations` must be a list of at least one"):
            wordnet_graph(WORDS, folder, relations)
    with pytest.raises(ValueError, match="`source` must be a WordNet reader of nltk, or the path"):
        wordnet_graph(WORDS, 3)
    with pytest.raises(ValueError, match="`download` must be True or False"):
        wordnet_graph(WORDS, download="yes")


@pytest.mark.skipif(not Path(DEBIAN).is_dir(), reason="needs Debian's package wordnet-base")
def test_the_database_of_debian():
    words = ["stock", "security", "hot", "cold", "billion", "street"]
    graph = wordnet.wordnet_graph(words, DEBIAN)
    assert {(0, 1), (2, 3)} <= {tuple(pair) for pair in graph.pairs().tolist()}
