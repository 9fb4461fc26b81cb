"""Preparation of a search: what it is resumed with, and texts that are no list."""

from dataclasses import replace

import numpy as np
import pytest

from kerascompact.search.beyond_labels import Beyond
from kerascompact.search.preparing import folder_of, held_out, prepare
from kerascompact.search.task import Task
from kerascompact.text import WordVectors
from tiny_task import dataset

NAMES = ("good", "bad", "odd")
NUMBERS = np.random.default_rng(1).normal(size=(300, 5)).astype(np.float32)
WORDS = [*NAMES, *(f"word{number}" for number in range(297))]


def begin(folder, resume=False, data=None, beyond=None, storage=""):
    return prepare(
        data or dataset(60), beyond or Beyond(), folder, resume, budgets=(20_000,),
        metric="accuracy", seed=0, distil=None, storage=storage,
    )  # fmt: skip


def answers(texts, sure=0.9):
    right = np.array([[name in text.split() for name in NAMES] for text in texts], float)
    return right * sure + (1 - sure) / 3


def test_a_search_goes_on_in_its_storage(tmp_path):
    address = f"sqlite:///{tmp_path}/mine.db"
    begin(tmp_path, storage=address)
    for given in ("", address):
        assert begin(tmp_path, True, storage=given).storage == address
        assert Task.load(tmp_path).storage == address
    with pytest.raises(
        ValueError, match=r"`storage` must be the one.*Received: storage='/.*o.log'"
    ):
        begin(tmp_path, True, storage="o.log")
    begin(tmp_path / "journal")
    with pytest.raises(ValueError, match="`storage` must be the one that the search began with"):
        begin(tmp_path / "journal", True, storage=address)  # its trials are in the folder


@pytest.mark.parametrize("address", ["sqlite:///{}a.db", "{}a.log"])
def test_a_search_goes_on_in_its_storage_from_another_folder(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begin(tmp_path / "search", storage=address.format(""))
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    entire = address.format(f"{tmp_path}/")
    assert begin(tmp_path / "search", True).storage == entire
    begin(tmp_path / "search", True, storage=entire)


@pytest.mark.parametrize("other", ["numbers", "words"])
def test_vectors_of_the_same_size_are_others(other, tmp_path):
    begin(tmp_path, beyond=Beyond((WordVectors(NUMBERS, WORDS),)))
    kept = (tmp_path / "vectors.npz").read_bytes()
    saved = WordVectors.load(WordVectors(NUMBERS, WORDS).save(tmp_path / "saved"))
    begin(tmp_path, True, beyond=Beyond((saved,)))  # the same from a file
    changed = -NUMBERS if other == "numbers" else NUMBERS, WORDS
    changed = WordVectors(changed[0], WORDS[::-1] if other == "words" else WORDS)
    with pytest.raises(ValueError, match="not of this data, these vectors"):
        begin(tmp_path, True, beyond=Beyond((changed,)))
    assert (tmp_path / "vectors.npz").read_bytes() == kept


def test_a_teacher_with_other_answers_is_another(tmp_path):
    data, asked = dataset(60), []
    texts = [*data.train.texts, *data.dev.texts]

    def teacher(texts):
        asked.append(len(texts))
        return answers(texts)

    begin(tmp_path, beyond=Beyond(teacher=teacher))
    for same in (teacher, lambda texts: answers(texts, 0.91), answers(texts)):
        begin(tmp_path, True, beyond=Beyond(teacher=same))
    assert asked == [120, 20]  # all texts once, and few to see that it is the same
    for other in (lambda texts: answers(texts, 0.5), answers(texts)[::-1]):
        with pytest.raises(ValueError, match="`teacher` must be the one .* differ by up to 0"):
            begin(tmp_path, True, beyond=Beyond(teacher=other))


def test_other_label_names_are_other_data(tmp_path):
    begin(tmp_path)
    renamed = replace(dataset(60), label_names=("gut", "schlecht", "seltsam"))
    with pytest.raises(
        ValueError, match="not of this data.*label names, the seed, --dev and --test"
    ):
        begin(tmp_path, True, data=renamed)


def test_of_two_searches_that_begin_at_once_one_is_refused(tmp_path):
    with folder_of(tmp_path, resume=False) as first:
        kept = [first / name for name in ("tokens-0", "token-hashes-0")]
        for path in kept:  # what it has so far, before its task
            path.touch()
        with (
            pytest.raises(ValueError, match="holds a search already"),
            folder_of(tmp_path, resume=False),
        ):
            pass
        assert all(path.exists() for path in kept)
    with folder_of(tmp_path, resume=False):  # the first ended without a task
        assert not any(path.exists() for path in kept)


def test_texts_may_be_a_generator_and_must_be_a_list():
    texts, labels = ["up", "down"] * 300, [0, 1] * 300
    assert len(held_out(((text for text in texts), labels), 0).dev.texts) == 180
    for bad in (None, 3, "text", np.array("text")):
        with pytest.raises(ValueError, match="`texts` must be a list. Received: texts="):
            held_out((bad, labels), 0)
