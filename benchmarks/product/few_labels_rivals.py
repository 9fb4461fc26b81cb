"""What users pick instead where labels are few, at full size; the same samples as `few_labels`.

- tfidf: words and pairs weighted by TF-IDF, logistic regression (scikit-learn);
- tfidf_axes: the same of the 40,000 most frequent, beside their numbers on 128 principal axes of
  the texts with and without labels;
- fasttext: `pretrainedVectors`, GloVe of 50 numbers, rates and epochs by dev, the file not
  quantized;
- static: means of GloVe's and WordLlama's vectors side by side, weighted as `WordVectors.table`
  does, logistic regression;
- teacher: vectors of a sentence encoder of 22.9 MB, logistic regression.

Penalties are chosen by cross-validation on train and dev together, as the final model is fitted;
fastText's settings by dev, then it is trained on both.
"""

import argparse
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data.few_labels import COUNTS, LABELS, SETS, Sample, sample
from benchmarks.lib import results, runner
from benchmarks.lib.sentence_encoder import SentenceEncoder
from benchmarks.product.fasttext_files import PREFIX, Files
from benchmarks.product.few_labels import CACHE, RIVALS, VECTORS, regression
from kerascompact.core.extras import require
from kerascompact.datasets.base import Dataset, Split
from kerascompact.search.pretrained import means
from kerascompact.text import Vocabulary, WordVectors

RATES, EPOCHS = (0.05, 0.1, 0.25, 0.5), (10, 40)
LENGTH = 512  # tokens of a text
AXES, WEIGHT, MOST = 128, 3.0, 40_000  # as the search's own teacher has them


class Spec(NamedTuple):
    """What decides a run."""

    dataset: str
    labels: int
    rival: str
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet; `--labels` and `--sets` choose among the samples."""
    specs = [
        Spec(dataset, labels, rival, seed)
        for seed in arguments.seeds or (0, 1, 2)
        for dataset in arguments.sets or SETS
        for labels in arguments.labels or LABELS.get(dataset, COUNTS)
        for rival in RIVALS
    ]

    def run(spec: Spec) -> dict[str, Any]:
        drawn = sample(spec.dataset, spec.labels, spec.seed, arguments.data)
        with tempfile.TemporaryDirectory() as folder:
            return RUN[spec.rival](drawn, Path(folder))

    return runner.run_all(name, specs, run, table)


def _both(data: Dataset) -> Split:
    labels = np.concatenate([data.train.labels, data.dev.labels])
    return Split([*data.train.texts, *data.dev.texts], labels)


def _accuracy(features: Any, tested: Any, data: Dataset) -> float:
    fitted = regression(features, _both(data).labels)
    return float(np.mean(fitted.predict(tested) == data.test.labels))


def tfidf(drawn: Sample, folder: Path) -> dict[str, Any]:
    """Words and pairs by TF-IDF."""
    data = drawn.labelled
    made = require("sklearn.feature_extraction.text", "bench").TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True
    )
    features = made.fit_transform(_both(data).texts)
    numbers = features.shape[1] * (1 if len(data.label_names) == 2 else len(data.label_names))
    accuracy = _accuracy(features, made.transform(data.test.texts), data)
    return {"accuracy": accuracy, "bytes": 4 * numbers}


def tfidf_axes(drawn: Sample, folder: Path) -> dict[str, Any]:
    """Words and pairs by TF-IDF, and on the principal axes of all texts but test."""
    data, sparse = drawn.labelled, require("scipy.sparse", "bench")
    made = require("sklearn.feature_extraction.text", "bench").TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, max_features=MOST
    )
    texts = _both(data).texts
    everything = made.fit_transform([*texts, *drawn.unlabelled])
    axes = require("sklearn.decomposition", "bench").TruncatedSVD(AXES, random_state=0)
    axes.fit(everything)

    def features(rows: Any) -> Any:
        return sparse.hstack([rows, WEIGHT * axes.transform(rows)]).tocsr()

    found = _accuracy(
        features(everything[: len(texts)]), features(made.transform(data.test.texts)), data
    )
    outputs = 1 if len(data.label_names) == 2 else len(data.label_names)
    return {"accuracy": found, "bytes": 4 * everything.shape[1] * outputs}  # linear in TF-IDF


def static(drawn: Sample, folder: Path) -> dict[str, Any]:
    """The mean of word vectors."""
    data = drawn.labelled
    both, size, found = _both(data), 0, []
    words = Vocabulary.build([*both.texts, *data.test.texts])  # of all words these are read
    ids = [words.encode_all(texts, LENGTH) for texts in (both.texts, data.test.texts)]
    counts = np.bincount(ids[0].ravel(), minlength=len(words))
    for name in VECTORS:
        vectors = WordVectors.installed(name)
        table = vectors.table(words, counts=counts).weights
        parts = [means(one, table) for one in ids]
        found.append([part / parts[0].std(axis=0).mean() for part in parts])
        size += int(np.prod(vectors.vectors.shape)) * vectors.vectors.dtype.itemsize
    features, tested = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    return {"accuracy": _accuracy(features, tested, data), "bytes": size}


def teacher(drawn: Sample, folder: Path) -> dict[str, Any]:
    """A sentence encoder."""
    data = drawn.labelled
    encoder = SentenceEncoder(CACHE / "minilm")
    features, tested = (encoder.vectors(one.texts) for one in (_both(data), data.test))
    return {"accuracy": _accuracy(features, tested, data), "bytes": 22_928_619}


def fasttext(drawn: Sample, folder: Path) -> dict[str, Any]:
    """fastText that starts at word vectors."""
    files = Files(drawn.labelled, (), folder)
    vectors = WordVectors.installed(VECTORS[0])
    parts = [(folder / f"{name}.txt").read_text("utf-8") for name in ("train", "dev")]
    seen = set(" ".join(parts).split())
    words = vectors.most_frequent(len(vectors.vectors))
    lines = {
        word: f"{word} {' '.join(f'{number:.5g}' for number in row)}\n"
        for word, row in zip(words, np.asarray(vectors.vectors), strict=True)
    }
    few = _written(folder / "few.vec", {w: line for w, line in lines.items() if w in seen})
    path = _written(folder / "vectors.vec", lines)
    tried = []
    for rate, epochs in product(RATES, EPOCHS):  # other words say nothing about dev
        model = _fasttext(files, folder / "train.txt", few, rate, epochs)
        tried.append((_right(model, folder / "dev.txt", files.rows["dev"]), rate, epochs))
    _, rate, epochs = max(tried)
    both = folder / "both.txt"
    both.write_text("".join(parts), "utf-8")
    model = _fasttext(files, both, path, rate, epochs)
    saved = folder / "model.bin"
    model.save_model(str(saved))
    accuracy = _right(model, folder / "test.txt", files.rows["test"])
    return {"accuracy": accuracy, "bytes": saved.stat().st_size, "rate": rate, "epochs": epochs}


def _written(path: Path, lines: dict[str, str]) -> Path:
    width = len(next(iter(lines.values())).split()) - 1
    path.write_text(f"{len(lines)} {width}\n" + "".join(lines.values()), "utf-8")
    return path


def _fasttext(files: Files, texts: Path, vectors: Path, rate: float, epochs: int) -> Any:
    return files.fasttext.train_supervised(
        str(texts),
        dim=50,
        wordNgrams=1,
        lr=rate,
        epoch=epochs,
        pretrainedVectors=str(vectors),
        label=PREFIX,
        thread=12,
        verbose=0,
    )


def _right(model: Any, texts: Path, rows: int) -> float:
    seen, precision, _ = model.test(str(texts))
    return float(precision * seen / rows)


RUN = {
    "tfidf": tfidf,
    "tfidf_axes": tfidf_axes,
    "fasttext": fasttext,
    "static": static,
    "teacher": teacher,
}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: test accuracy and size, mean and spread over seeds."""
    lines = ["| data set | labels | rival | seeds | MB | accuracy |", "|" + "---|" * 6]
    for group in results.by_seed(rows):
        spec = group[0]["spec"]
        size = f"{max(row['bytes'] for row in group) / 1e6:.1f}"
        cells = [spec["dataset"], f"{spec['labels']:,}", spec["rival"], str(len(group)), size]
        lines.append("| " + " | ".join([*cells, results.percent(group, "accuracy")]) + " |")
    return "\n".join(lines)
