"""Test vectors of a tagger: text -> the places of its words -> the label of each.

`python -m benchmarks.product.tagger_vectors` trains a small tagger in a minute, on the data set
in the package, and writes `tagger.tflite` and `tagger.json`. Its labels need no treebank: a
mark, the first or the last word of its text, or another word. So what a word gets depends on the
words before and behind it.
"""

import sys
from typing import Any

import numpy as np

from benchmarks.product.vectors import given, run, texts
from kerascompact.core import files
from kerascompact.runtime import encoding
from kerascompact.runtime.interpreter import Interpreter

MODEL, VECTORS = "tagger.tflite", "tagger.json"
LABELS = ("first", "last", "mark", "word")
MAX_BYTES, LENGTH = 128, 24
# Words that other rules would cut elsewhere.
MORE = (
    "\x01\x1c\x1d\x1e\x1f\x7f\x80\x85", "no\u00a0break \u2003em\u3000ideographic \u200bzero",
    "\ufeffbom I\u0130\u0131i \u00c9\u00df\u1e9e \u03a3\u03c2 \u212a e\u0301 n\u0303",
    "' '' \" ` `` 's s' n't 'LL can't've I'd've !?(),'re n' 'v 'l", "line \u2028 \u2029 \v \f end",
    "<pad> <unk> \\1 %s {0} <br />", "first, last", "Only", "why?",
    "it's 3.50, e-mail me: a@b.org!",
)  # fmt: skip


def labels_of(words: list[str]) -> list[int]:
    """The label of each word of a text.

    >>> [LABELS[label] for label in labels_of(["turn", "it", "up", "!"])]
    ['first', 'word', 'last', 'mark']
    """
    found = [LABELS.index("word" if word[0].isalnum() else "mark") for word in words]
    spoken = [place for place, label in enumerate(found) if label == LABELS.index("word")]
    if spoken:
        found[spoken[-1]] = LABELS.index("last")
        found[spoken[0]] = LABELS.index("first")
    return found


def model_file(epochs: int = 6, rows: int | None = None) -> bytes:
    """Trains the tagger and converts it into a file that takes text.

    Args:
        epochs: Of training.
        rows: Only so many texts to train on.
    """
    import keras

    from kerascompact import datasets, export, layers, models
    from kerascompact.text.rules import tokenize
    from kerascompact.text.vocabulary import Vocabulary

    keras.utils.set_random_seed(0)
    # a third of them with the marks that queries lack
    ends = ("", "?", " , please !", "", ".", "")
    queries = datasets.load("clinc150").train.texts[:rows]
    said = [query + ends[place % len(ends)] for place, query in enumerate(queries)]
    vocabulary = Vocabulary.build(said, size=400)
    ids = vocabulary.encode_all(said, LENGTH)
    tags = np.zeros(ids.shape, np.int32)
    for row, text in enumerate(said):
        found = labels_of(tokenize(text))[:LENGTH]
        tags[row, : len(found)] = found
    embedding = layers.PredefinedSparseEmbedding(len(vocabulary), 8, 0.5, mask_zero=True)
    model = models.tagger(embedding, len(LABELS), units=8, hidden=8)
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
    model.optimizer.learning_rate = 0.01
    model.fit(ids, tags, batch_size=64, epochs=epochs, sample_weight=ids != 0, verbose=0)
    return export.convert(
        model, labels=LABELS, text=vocabulary, max_bytes=MAX_BYTES, sequence_length=LENGTH
    )


def vectors(file: bytes) -> dict[str, Any]:
    """What `tagger.json` holds: every text, and what the file makes of it.

    `words`: for each word its first byte, the byte after its last one, its label and the
    probability of this label.
    """
    interpreter, rows = Interpreter(file), []
    assert interpreter.text is not None and interpreter.metadata is not None
    size, labels = interpreter.text["max_bytes"], interpreter.metadata["labels"]
    for vector in (*texts(), *({"text": text} for text in MORE)):
        numbers = encoding.encode(given(vector), size).numbers
        found = interpreter.run({interpreter.text["input"]: numbers})
        rows.append({**vector, "words": [
            [start, end, labels[int(np.argmax(row))], round(float(row.max()), 6)]
            for (start, end), row in zip(
                found["spans"][0].tolist(), found["probabilities"][0], strict=True
            )
            if end
        ]})  # fmt: skip
    return {"file": MODEL, "sha256": files.sha256(file), "max_bytes": size, "vectors": rows}


def main(argv: list[str] | None = None) -> int:
    """The vectors of a tagger."""
    return run(sys.modules[__name__], argv)


if __name__ == "__main__":
    sys.exit(main())
