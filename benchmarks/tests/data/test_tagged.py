"""Readers and loaders of tagged sentences, from tiny files in their formats, and the real ones."""

import hashlib
import io
import zipfile

import numpy as np
import pytest

from benchmarks.data import conll2000, tagged, treebank, ud_english_ewt
from kerascompact.datasets.base import Known

CONLLU = """# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tgone\tgo\tVERB\tVBN\t_\t_\t_\t_\t_

# text = .
1\t.\t.\tPUNCT\t.\t_\t0\troot\t_\t_
"""
TREES = """
( (S (NP-SBJ (NNP Kent) )
    (VP (VBZ sells) (NP (-NONE- *T*-1) )) (. .) ))
(X (LS 1) )
"""


def test_reads_conllu():
    found = tagged.read_conllu(CONLLU, "a")
    assert found == [[("Do", "VB"), ("n't", "RB"), ("go", "VB")], [(".", ".")]]
    universal = tagged.read_conllu(CONLLU, "a", tags="upos")
    assert [tag for _, tag in universal[0]] == ["AUX", "PART", "VERB"]
    with pytest.raises(ValueError, match="a.conllu, line 3: must have 10 columns. Received: 2"):
        tagged.read_conllu("\n\n1\tDo\n", "a.conllu")
    with pytest.raises(ValueError, match="line 1: an empty word or tag"):
        tagged.read_conllu("1\t\tdo\tAUX\tVB\t_\t3\taux\t_\t_\n", "a.conllu")
    with pytest.raises(ValueError, match="`tags` must be one of 'upos', 'xpos'"):
        tagged.read_conllu(CONLLU, "a", tags="pos")


def test_reads_texts_as_they_were_written():
    first, mark = tagged.read_texts(CONLLU, "a", "upos")
    assert first == ("Don't go.", [0, 2, 6], ["AUX", "PART", "VERB"])
    assert mark == (".", [0], ["PUNCT"])
    put_in = CONLLU.replace("# text = Don't go.", "# text = Don't.")
    assert tagged.read_texts(put_in, "a")[0] == ("Don't.", [0, 2], ["VB", "RB"])
    with pytest.raises(ValueError, match="a.conllu: a sentence has no line '# text = ...'"):
        tagged.read_texts(CONLLU.replace("# text", "# said"), "a.conllu")


def test_reads_columns_and_trees():
    assert tagged.read_columns("He PRP B\nran VBD I\n\n\nNo UH O", "a") == [
        [("He", "PRP"), ("ran", "VBD")],
        [("No", "UH")],
    ]
    with pytest.raises(ValueError, match="a.txt, line 2: must have a word and a tag"):
        tagged.read_columns("He PRP\nran\n", "a.txt")
    found = tagged.read_brackets(TREES, "a")
    assert found == [[("Kent", "NNP"), ("sells", "VBZ"), (".", ".")], [("1", "LS")]]
    for damaged in (TREES[:-4], TREES + ")"):
        with pytest.raises(ValueError, match="a.mrg: brackets do not match"):
            tagged.read_brackets(damaged, "a.mrg")


def test_numbers_tags_of_all_splits():
    one, other = [[("it", "B"), ("is", "A")]], [[("so", "C")]]
    corpus = tagged.make_corpus("x", {"train": one, "dev": one, "test": other}, "about")
    assert corpus.tag_names == ("A", "B", "C")
    assert corpus.train.words == [["it", "is"]] and corpus.train.num_words == 2
    np.testing.assert_array_equal(corpus.train.tags[0], [1, 0])
    assert corpus.test.tags[0].dtype == np.int32 and corpus.test.tags[0].tolist() == [2]
    with pytest.raises(ValueError, match="`dev` must be sentences, at least one"):
        tagged.make_corpus("x", {"train": one, "dev": [], "test": one}, "about")


def test_ewt_from_files(store):
    for split in ("train", "dev"):
        store(ud_english_ewt, split, CONLLU.encode(), 2)
    folder = store(ud_english_ewt, "test", CONLLU.encode(), 3)
    with pytest.raises(ValueError, match="test.conllu.gz must have 3 sentences. Received: 2"):
        ud_english_ewt.load(folder)
    store(ud_english_ewt, "test", CONLLU.encode(), 2)
    assert ud_english_ewt.load(folder, tags="upos").tag_names == ("AUX", "PART", "PUNCT", "VERB")
    assert ud_english_ewt.load_texts(folder)["dev"][0].tags == ["AUX", "PART", "VERB"]


def test_ewt_unpacked(store, monkeypatch):
    for split in ("train", "dev", "test"):
        folder = store(ud_english_ewt, split, b"not read", 2)
        (folder / ud_english_ewt.FILES[split].path.removesuffix(".gz")).write_text(CONLLU)
    with pytest.raises(ValueError, match="train.conllu is damaged, or another version"):
        ud_english_ewt.load(folder)
    digest = hashlib.sha256(CONLLU.encode()).hexdigest()
    monkeypatch.setattr(ud_english_ewt, "UNPACKED", dict.fromkeys(ud_english_ewt.FILES, digest))
    assert len(ud_english_ewt.load(folder).test.words) == 2


def archive(folder, module, files, rows, monkeypatch):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    path = folder / module.FILES["corpus"].path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed.getvalue())
    known = Known(module.FILES["corpus"].path, hashlib.sha256(packed.getvalue()).hexdigest(), rows)
    monkeypatch.setitem(module.FILES, "corpus", known)


def test_conll2000_from_an_archive(tmp_path, monkeypatch):
    files = {
        "conll2000/train.txt": "a DT B\n\nb NN I\n\nc NN I\n",
        "conll2000/test.txt": "d NN I\n",
    }
    archive(tmp_path, conll2000, files, 4, monkeypatch)
    corpus = conll2000.load(tmp_path, dev=1)
    assert (corpus.train.words, corpus.dev.words) == ([["a"], ["b"]], [["c"]])
    with pytest.raises(ValueError, match=r"`dev` must be an integer in \[1, 2\]"):
        conll2000.load(tmp_path, dev=3)
    archive(tmp_path, conll2000, files, 5, monkeypatch)
    with pytest.raises(ValueError, match="must have 5 sentences. Received: 4"):
        conll2000.load(tmp_path, dev=1)


def test_the_treebanks_sample_from_an_archive(tmp_path, monkeypatch):
    files = {f"treebank/combined/wsj_000{n}.mrg": f"( (X (NN w{n}) ))" for n in range(5)}
    archive(tmp_path, treebank, files, 5, monkeypatch)
    corpus = treebank.load(tmp_path)
    assert corpus.train.words == [["w0"], ["w1"], ["w2"]]
    assert corpus.dev.words == [["w3"]] and corpus.test.words == [["w4"]]


def test_the_journal_from_a_folder(tmp_path):
    for section in (0, 1, 2):
        (tmp_path / f"0{section}").mkdir()
        (tmp_path / f"0{section}" / f"wsj_0{section}01.mrg").write_text(f"( (NN w{section}) )")
    sections = {"train": range(1), "dev": range(1, 2), "test": range(2, 3)}
    corpus = treebank.load_wsj(tmp_path, sections)
    assert [s.words for s in (corpus.train, corpus.dev, corpus.test)] == [
        [["w0"]],
        [["w1"]],
        [["w2"]],
    ]
    with pytest.raises(ValueError, match="There is no section 03 of .mrg files"):
        treebank.load_wsj(tmp_path)
    with pytest.raises(ValueError, match="`sections` must be the sections of 'train', 'dev'"):
        treebank.load_wsj(tmp_path, {"train": range(1)})


@pytest.mark.parametrize("load", [ud_english_ewt.load, conll2000.load, treebank.load])
def test_says_where_to_get_it(load, tmp_path):
    with pytest.raises(ValueError, match="There is no file .*. Get it from github.com/"):
        load(tmp_path)


def test_the_real_ones(real_data):
    corpus = ud_english_ewt.load(real_data)
    assert [s.num_words for s in (corpus.train, corpus.dev, corpus.test)] == [
        204_577,
        25_147,
        25_094,
    ]
    assert len(corpus.tag_names) == 49
    corpus = conll2000.load(real_data)
    assert corpus.train.num_words + corpus.dev.num_words == 211_727
    assert corpus.test.num_words == 47_377 and len(corpus.tag_names) == 44
    corpus = treebank.load(real_data)
    splits = (corpus.train, corpus.dev, corpus.test)
    assert sum(s.num_words for s in splits) == 94_084
    assert all(s.num_words > 5_000 for s in splits)
