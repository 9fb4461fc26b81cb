"""The gallery, built from tiny data: files, what is said of them, what is not built again."""

import json

import numpy as np
import pytest

from benchmarks.data.tagged import TaggedText
from benchmarks.product import gallery, gallery_intents, gallery_tagger
from benchmarks.product.gallery_intents import Settings
from kerascompact.core import files
from kerascompact.datasets.base import DataWarning
from kerascompact.runtime import TextClassifier, TextTagger
from made_up_questions import DATA

SENTENCES = [
    TaggedText("He can't go.", [0, 3, 5, 8, 10], ["PRON", "AUX", "PART", "VERB", "PUNCT"]),
    TaggedText("Caf\u00e9s can fish", [0, 6, 10], ["NOUN", "AUX", "VERB"]),
] * 30
EXPECTED = (
    ["pronoun", "auxiliary verb", "particle", "particle", "verb", "mark"],
    ["noun", "auxiliary verb", "verb"],
)
TREEBANK = {"train": SENTENCES, "dev": SENTENCES[:4], "test": SENTENCES[:2]}
TINY = gallery_tagger.Settings(
    words=20, width=8, density=0.5, units=8, length=6, max_bytes=32, epochs=8, batch_size=4,
    learning_rate=0.03,
)  # fmt: skip
FEW = Settings(versions=6, width=8, num_projections=4)


def parts():
    return {
        "spelling": (1, lambda: [gallery_intents.spelling(DATA, FEW, length=6)]),
        "tagger": (1, lambda: [gallery_tagger.tagger(TREEBANK, TINY)]),
    }


def test_words_get_the_tag_of_the_treebanks_word_at_their_first_character():
    found = [gallery_tagger.cut(one) for one in SENTENCES[:2]]
    assert [one.words for one in found] == [
        ["he", "can", "'", "t", "go", "."], ["caf\u00e9s", "can", "fish"],
    ]  # fmt: skip
    for one, labels in zip(found, EXPECTED, strict=True):
        assert [gallery_tagger.LABELS[label] for label in one.labels] == labels


def test_builds_what_is_not_there(tmp_path, capsys):
    entries = gallery.build(tmp_path, parts(), DATA.test)
    assert [entry["part"] for entry in entries] == ["spelling", "tagger"]
    assert json.loads((tmp_path / gallery.INDEX).read_text("utf-8")) == {"files": entries}
    spelling, tagger = entries
    data = (tmp_path / spelling["file"]).read_bytes()
    assert (spelling["bytes"], spelling["sha256"]) == (len(data), files.sha256(data))
    reader = TextClassifier(data)
    found = [reader.labels.index(one.label) for one in reader.predict_many(DATA.test.texts)]
    assert spelling["accuracy"] == round(np.mean(found == DATA.test.labels), 4) > 0.8
    assert [one["share"] for one in spelling["misspelt"]] == list(gallery.SHARES)
    for example in spelling["examples"]:
        assert reader.predict(example["text"]).label == example["label"]
    assert reader.text["max_bytes"] == gallery_intents.MAX_BYTES  # runs in browsers
    tags = TextTagger(tmp_path / tagger["file"])
    words = [[one.word, one.label] for one in tags.predict(tagger["examples"][0]["text"]).words]
    assert tagger["examples"][0]["words"] == words and tagger["kind"] == "tagger"
    pairs = [
        (one.label == label)
        for sentence, labels in zip(SENTENCES[:2], EXPECTED, strict=True)
        for one, label in zip(tags.predict(sentence.text).words, labels, strict=True)
    ]
    assert tagger["accuracy"] == round(np.mean(pairs), 4) > 0.5
    # six words are read of twelve
    twice = TaggedText("He can't go. He can't go.", [0, 3, 5, 8, 10, 13, 16, 18, 21, 23],
                       2 * SENTENCES[0].tags)  # fmt: skip
    share = gallery_tagger.accuracy((tmp_path / tagger["file"]).read_bytes(), [twice])
    assert share == sum(pairs[:6]) / 12
    # what is there is kept, but for a file that has changed
    (tmp_path / spelling["file"]).write_bytes(data[:-1])
    of_spelling = {"spelling": parts()["spelling"], "tagger": (1, lambda: pytest.fail("built"))}
    assert gallery.build(tmp_path, of_spelling, DATA.test)[1] == tagger
    assert (tmp_path / spelling["file"]).read_bytes() == data
    assert "tagger: there already" in capsys.readouterr().out
    # without the treebank, the tagger of before stays
    again = gallery.build(tmp_path, {}, DATA.test)
    assert [entry["part"] for entry in again] == ["spelling", "tagger"]
    table = gallery.table(again)
    assert f"| intents, misspelt | {len(data):,} | {100 * spelling['accuracy']:.1f} |" in table
    assert "| parts of speech |" in table and table.endswith(" | - | - |")


def test_says_how_to_get_the_treebank(tmp_path, capsys, monkeypatch):
    built = {}
    monkeypatch.setattr(gallery, "build", lambda *given: built.update(given[1]) or [])
    arguments = ["--out", str(tmp_path), "--data", str(tmp_path / "none")]
    assert gallery.main(arguments) == 0
    out = capsys.readouterr().out
    assert list(built) == ["intents", "spelling"]
    assert "UD English EWT (CC BY-SA 4.0)" in out and "make gallery ARGS='--data DIR'" in out
    with pytest.raises(ValueError, match="`minutes` must be a finite number > 0"):
        gallery.main([*arguments, "--minutes", "0"])


@pytest.mark.slow
def test_a_search_fills_three_budgets():
    with pytest.warns(DataWarning, match="are in train"):  # made-up questions repeat
        made = gallery_intents.intents(DATA, Settings(minutes=5, trials=3))
    assert [entry["file"] for entry, _ in made] == [
        f"intents_{budget}.tflite" for budget in gallery_intents.BUDGETS
    ]
    for budget, (_, file) in zip(gallery_intents.BUDGETS, made, strict=True):
        assert len(file) <= 1024 * budget
        assert TextClassifier(file).text["max_bytes"] == gallery_intents.MAX_BYTES
