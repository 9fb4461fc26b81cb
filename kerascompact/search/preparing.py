"""Preparation of a search: its folder, its data, and what it learns from besides."""

import contextlib
import itertools
import operator
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from kerascompact import datasets
from kerascompact.core import checks
from kerascompact.core.arrays import load_npz, save_npz
from kerascompact.datasets.base import Dataset
from kerascompact.search import pretrained, tf_idf
from kerascompact.search.beyond_labels import Beyond, answers_of, check_same_teacher
from kerascompact.search.guides import TEACHER
from kerascompact.search.locks import exclusive
from kerascompact.search.studies import absolute
from kerascompact.search.task import TASK, Task, digest_of
from kerascompact.search.tokens import MOST_IDS

# What is kept of the data of a search, by which one of other data would go wrong.
KEPT = ("tokens-*", "token-hashes-*", "graphs_*.json", "guides/*", TEACHER, pretrained.FILE)
DEV = 200  # rows that are held out of few, but for three tenths of them at most


def held_out(data: Any, seed: int) -> Dataset:
    """A data set of texts and labels: a tenth is dev, of fewer than 2,000 texts more.

    >>> data = held_out((["up", "down"] * 100, [0, 1] * 100), 0)
    >>> len(data.train.texts), len(data.dev.texts)
    (140, 60)
    """
    if not isinstance(data, tuple) or len(data) != 2:
        checks.fail("data", "a Dataset, or a tuple of texts and labels", type(data))
    texts, labels = data
    if isinstance(texts, Iterator):  # such as a generator, which has no length yet
        texts = list(texts)
    rows = operator.length_hint(texts)  # 0, if it has none: `from_texts` says what is wrong
    return datasets.from_texts(texts, labels, dev=dev_share(rows), seed=seed)


def dev_share(rows: int) -> float:
    """Share of some rows that is held out as dev.

    >>> dev_share(100), dev_share(1000), dev_share(50_000)
    (0.3, 0.2, 0.1)
    """
    return min(max(DEV / max(rows, 1), 0.1), 0.3)


@contextlib.contextmanager
def folder_of(folder: str | os.PathLike[str] | None, resume: bool) -> Iterator[Path]:
    """The folder of a search: a new one, or one to go on with."""
    if folder is None:
        if resume:
            checks.fail("folder", "the folder of the search to resume", folder)
        with tempfile.TemporaryDirectory(prefix="kerascompact-search-") as made:
            yield Path(made)
        return
    path = Path(folder)
    if resume:
        if not (path / TASK).exists():
            raise ValueError(f"{path} holds no search to resume: there is no {TASK}.")
        yield path
        return
    with contextlib.ExitStack() as held:
        try:  # so that of two searches that begin at once one is refused
            held.enter_context(exclusive(path / "search.lock", wait=False))
        except BlockingIOError:
            busy = True
        else:
            busy = (path / TASK).exists()
        if busy:
            raise ValueError(
                f"{path} holds a search already. Go on with it (`resume=True`, --resume), name "
                "another folder, or remove it."
            )
        for left in itertools.chain(*(path.glob(pattern) for pattern in KEPT)):
            left.unlink()  # of a search that ended before its task was written
        yield path


def prepare(dataset: Dataset, beyond: Beyond, folder: Path, resume: bool, **options: Any) -> Task:
    """Writes the task and what it takes into its folder, or checks that they are there already.

    Args:
        dataset: The data.
        beyond: Vectors, a teacher, and texts without a label.
        folder: The folder.
        resume: Whether the folder has a search already.
        **options: Of the `Task`; `distil` may be None, see `text_classifier`.

    Raises: ValueError, if the search in the folder is another one or has another storage, or
        vectors or a teacher do not fit the data; OSError.
    """
    texts = [*dataset.train.texts, *dataset.dev.texts, *beyond.unlabelled]
    labels = np.concatenate([dataset.train.labels, dataset.dev.labels])
    num_train, names = len(dataset.train.texts), tuple(dataset.label_names)
    given = options["distil"]
    distil = beyond.is_more or num_train < tf_idf.FEW if given is None else given
    options["distil"] = distil and not dataset.multi_label
    options["storage"] = absolute(options["storage"])
    digest = digest_of(texts, labels, num_train, *names, *beyond.facts())
    task = Task(dataset.name, label_names=names, num_train=num_train, digest=digest, **options)
    if resume:
        before = Task.load(folder)
        if (before.digest, before.metric) != (digest, task.metric):
            raise ValueError(
                f"{folder} holds a search of {before.name!r} by {before.metric}, not of this data, "
                "these vectors and this teacher (label names, the seed, --dev and --test count as "
                f"well): its fingerprint is {before.digest}. Received: "
                f"{dataset.name!r} by {task.metric}, {digest}."
            )
        if task.storage not in ("", absolute(before.storage)):  # would have none of its trials
            own = f"the one that the search began with (`storage` in {folder / TASK}), or left out"
            checks.fail("storage", own, task.storage)
        if task.dev_alone != before.dev_alone:  # scores of other rows would be among those of dev
            checks.fail("dev_alone", f"{before.dev_alone}, as begun", task.dev_alone)
        distil = before.distil if given is None else task.distil
        if beyond.unlabelled and distil != before.distil:
            expected = f"{before.distil}, as begun: with texts without a label scores depend on it"
            checks.fail("distil", expected, distil)
        task = replace(task, used=before.used, distil=distil, storage=before.storage)
    answers = folder / TEACHER
    if beyond.teacher is not None and answers.exists():
        check_same_teacher(beyond.teacher, load_npz(answers)["outputs"], texts, names)
    elif beyond.teacher is not None:
        save_npz(answers, outputs=answers_of(beyond.teacher, texts, names))
    if beyond.vectors:
        words = [one.most_frequent(MOST_IDS) for one in beyond.vectors]
        in_turn = [word for same in zip_longest(*words) for word in same if word is not None]
        corpus = task.corpus_of(folder, texts, labels, in_turn)
        coverage = pretrained.write(folder, corpus, beyond.vectors)
        vectors = " and ".join(repr(one) for one in beyond.vectors)
        task = replace(task, vectors=f"{vectors}, for {coverage:.1%} of the words")
    task.save(folder, texts, labels)
    return task
