"""Tagger of the gallery: parts of speech for words as the file cuts them, learned from a treebank.

A treebank has words of its own, such as "ca" and "n't" in "can't", where the token rules make
"can", "'" and "t". So a word of the file gets the tag of the treebank's word at its first letter.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.data.tagged import TaggedText
from benchmarks.product.gallery_intents import entry_of
from benchmarks.sparseness.sentences import SentenceBatches, TagIds
from kerascompact import export, layers, models
from kerascompact.runtime import TextTagger
from kerascompact.text import byte_words
from kerascompact.text.byte_rules import byte_rules
from kerascompact.text.rules import named
from kerascompact.text.vocabulary import Vocabulary

# Of Universal Dependencies, with the names that a reader knows.
NAMES = {
    "ADJ": "adjective", "ADP": "preposition", "ADV": "adverb", "AUX": "auxiliary verb",
    "CCONJ": "conjunction", "DET": "determiner", "INTJ": "interjection", "NOUN": "noun",
    "NUM": "number", "PART": "particle", "PRON": "pronoun", "PROPN": "name", "PUNCT": "mark",
    "SCONJ": "subordinator", "SYM": "symbol", "VERB": "verb", "X": "other",
}  # fmt: skip
LABELS = tuple(NAMES.values())
SENTENCES = (
    "Does anyone know a good place to eat near Boston?",
    "The quick brown fox jumps over the lazy dog.",
    "Can't you record this new record?",
)
CHECKED = 200  # sentences of dev that the file is verified on


class Settings(NamedTuple):
    """Everything that decides the tagger, chosen on dev.

    `density`: share of the entries that words have of `width`, frequent words more than rare ones.
    """

    words: int = 5000
    width: int = 48
    density: float = 0.25
    units: int = 32
    length: int = 64
    max_bytes: int = 384
    epochs: int = 7
    batch_size: int = 50
    learning_rate: float = 1e-2
    recipe: str = "int4"
    rules: str = "wordpunct"


class Cut(NamedTuple):
    """The words of a sentence as a file cuts them, and the numbers of their labels."""

    words: list[str]
    labels: list[int]


def cut(sentence: TaggedText, rules: str = "wordpunct") -> Cut:
    """Cuts a sentence by token rules.

    >>> found = cut(TaggedText("I can't.", [0, 2, 4, 7], ["PRON", "AUX", "PART", "PUNCT"]))
    >>> found.words, [LABELS[label] for label in found.labels]
    (['i', 'can', "'", 't', '.'], ['pronoun', 'auxiliary verb', 'particle', 'particle', 'mark'])
    """
    first = byte_words.split([sentence.text.encode()], byte_rules(rules)).first
    starts = [len(sentence.text[:start].encode()) for start in sentence.starts]
    owners = np.maximum(np.searchsorted(starts, first, "right") - 1, 0)
    labels = [LABELS.index(NAMES[sentence.tags[owner]]) for owner in owners]
    return Cut(named(rules).tokens(sentence.text), labels)


def numbers(split: Sequence[Cut], vocabulary: Vocabulary, length: int) -> TagIds:
    """Ids and labels, `(sentences, length)`, zeros behind a sentence; further words are cut."""
    ids, tags = np.zeros((2, len(split), length), np.int32)
    for row, (words, labels) in enumerate(split):
        words = words[:length]
        ids[row, : len(words)] = [vocabulary.id_of(word) for word in words]
        tags[row, : len(words)] = labels[:length]
    return TagIds(ids, tags)


def train(
    splits: Mapping[str, Sequence[TaggedText]], settings: Settings | None = None, verbose: int = 0
) -> bytes:
    """Trains the tagger on the split `train`, keeps the epoch that is best on `dev`, and converts.

    Raises: ValueError, if the file labels words of `dev` in another way than Keras.
    """
    settings = settings or Settings()
    keras.utils.set_random_seed(0)
    train, dev = ([cut(one, settings.rules) for one in splits[name]] for name in ("train", "dev"))
    counts = Counter(word for words, _ in train for word in words)
    vocabulary = Vocabulary.from_counts(counts, size=settings.words, rules=settings.rules)
    # words that are as rare as those outside of the vocabulary teach what those are
    fewest = min(counts[word] for word in vocabulary.words)
    rare = np.array([False, False, *(counts[word] <= fewest for word in vocabulary.words)])
    embedding = layers.PredefinedSparseEmbedding(
        len(vocabulary), settings.width, settings.density, bins=8, mask_zero=True, name="embedding"
    )
    model = models.tagger(embedding, len(LABELS), settings.units, settings.units)
    batches = SentenceBatches(
        numbers(train, vocabulary, settings.length), settings.batch_size, rare
    )
    steps = settings.epochs * len(batches)
    model.compile(
        keras.optimizers.Adam(
            keras.optimizers.schedules.PolynomialDecay(settings.learning_rate, steps, 0.0)
        ),
        keras.losses.SparseCategoricalCrossentropy(reduction="mean_with_sample_weight"),
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        jit_compile=False,  # a loop over words of any number is slower with it, on CPU
    )
    ids, tags = held = numbers(dev, vocabulary, settings.length)
    keep = keras.callbacks.EarlyStopping(
        "val_accuracy", mode="max", patience=settings.epochs, restore_best_weights=True
    )
    model.fit(
        batches,
        epochs=settings.epochs,
        validation_data=(ids, tags, held.words.astype(np.float32)),
        validation_batch_size=500,
        callbacks=[keep],
        verbose=verbose,
    )
    file = export.convert(
        model,
        settings.recipe,
        text=vocabulary,
        labels=LABELS,
        sequence_length=settings.length,
        max_bytes=settings.max_bytes,
        names=False,
    )
    texts = [one.text for one in splits["dev"][:: max(1, len(splits["dev"]) // CHECKED)]]
    # probabilities after some sixty steps of float32 in another order
    export.verify(model, file, texts, vocabulary=vocabulary, tolerance=1e-4)
    return file


def accuracy(file: bytes, sentences: Sequence[TaggedText], rules: str = "wordpunct") -> float:
    """Share of the words that a file labels right; words that it does not read are wrong."""
    reader, right, total = TextTagger(file), 0, 0
    for sentence in sentences:
        expected = [LABELS[label] for label in cut(sentence, rules).labels]
        found = [one.label for one in reader.predict(sentence.text).words]
        right += sum(one == other for one, other in zip(found, expected, strict=False))
        total += len(expected)
    return right / total


def tagger(
    splits: Mapping[str, Sequence[TaggedText]], settings: Settings
) -> tuple[dict[str, Any], bytes]:
    """A part of speech for each word; its accuracy is that of the test split."""
    file = train(splits, settings)
    about = (
        "A part of speech for each word, by an LSTM in both directions over words of which the "
        "frequent ones have longer vectors. Trained on UD English EWT, CC BY-SA 4.0."
    )
    entry = entry_of("parts of speech", "tagger.tflite", about, SENTENCES, "tagger")
    share = accuracy(file, splits["test"], settings.rules)
    return {**entry, "accuracy": round(share, 4)}, file
