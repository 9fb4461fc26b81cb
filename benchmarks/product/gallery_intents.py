"""Intents of the gallery: files of a search within three budgets, and one of misspelt words."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras

from benchmarks.projections.misspelt import Encoder, MisspeltBatches, misspelt_tokens
from kerascompact import export, layers, models
from kerascompact.datasets.base import Dataset
from kerascompact.search import text_classifier
from kerascompact.search.corpus import ids_of_a_text
from kerascompact.search.finishing import Best
from kerascompact.tasks.classification import fit

BUDGETS = (16, 32, 64)  # KiB
MAX_BYTES = 192  # of a text; runtimes for browsers take no file of any length
EXAMPLES = (
    "how much money is in my savings account",
    "please wake me up at seven tomorrow",
    "what's the weather like in lisbon",
)
MISSPELT = (
    "how muhc mnoey is in my savigns acount",
    "plaese wkae me up at sevven tommorrow",
    "waht's the weahter liek in lisbon",
)


class Settings(NamedTuple):
    """What decides the files.

    `minutes`, `trials`: limits of the search. `versions`: how often the training texts are
    misspelt, one epoch each. `width`, `num_projections`: of the projection, whose file is to be of
    about 64 KiB, as the largest of the others.
    """

    minutes: float = 10
    trials: int | None = None
    versions: int = 12
    width: int = 60
    num_projections: int = 40


def intents(data: Dataset, settings: Settings) -> list[tuple[dict[str, Any], bytes]]:
    """Files of a search within three budgets, of as many bytes of text as a browser can give."""
    limits: dict[str, Any] = {}
    if settings.trials is not None:
        limits = {"trials": settings.trials, "workers": 1}
    budgets = [1024 * budget for budget in BUDGETS]
    found = text_classifier(data, budgets, settings.minutes, **limits)
    made = []
    for budget, best in zip(BUDGETS, found.by_budget.values(), strict=True):
        file = in_browsers(best, data, found.facts["sequence_length"])
        about = (
            f"What does a person want? {len(data.label_names)} intents of CLINC150, in the best "
            f"file of at most {budget} KiB that a search found."
        )
        entry = entry_of(f"intents, {budget} KiB", f"intents_{budget}.tflite", about)
        made.append(({**entry, "setting": best.setting.label}, file))
    return made


def in_browsers(best: Best, data: Dataset, words: int) -> bytes:
    """The file of a search again, with a fixed number of bytes.

    Raises: ValueError, if it disagrees with Keras, or is larger than the budget.
    """
    setting = best.setting
    file = export.convert(
        best.model,
        setting.recipe,
        text=best.vocabulary,
        labels=data.label_names,
        names=False,
        fingerprint_bits=setting.fingerprint_bits,
        sequence_length=ids_of_a_text(words, setting.rules),
        max_bytes=MAX_BYTES,
    )
    texts = data.dev.texts[:: max(1, len(data.dev.texts) // 300)]
    export.verify(best.model, file, list(texts), vocabulary=best.vocabulary)
    if len(file) > best.budget:
        raise ValueError(f"The file must have {best.budget} bytes. Received: {len(file)}.")
    return file


def spelling(data: Dataset, settings: Settings, length: int = 24) -> tuple[dict[str, Any], bytes]:
    """A classifier without a list of words, trained on texts that are misspelt in each epoch."""
    keras.utils.set_random_seed(0)
    encode = Encoder(None, length)
    versions = [
        encode(misspelt_tokens(data.train.texts, 0.3 if number else 0.0, number, length))
        for number in range(settings.versions)
    ]
    dev = encode(misspelt_tokens(data.dev.texts, 0.2, 999, length))
    embedding = layers.ProjectionEmbedding(
        settings.width,
        (),
        num_projections=settings.num_projections,
        mask_zero=True,
        name="embedding",
    )
    cache = layers.BitCache.from_words([*encode.numbers], embedding.projection)
    model = models.mean_classifier(
        lambda ids: embedding(cache(ids)), len(data.label_names), dropout=0.3
    )
    batches = MisspeltBatches(versions, data.train.labels, 64)
    fit(model, batches, (dev, data.dev.labels), epochs=len(versions), learning_rate=4e-3)
    file = export.convert(
        model, "int8", text="wordpunct", labels=data.label_names, names=False,
        sequence_length=length, max_bytes=MAX_BYTES,
    )  # fmt: skip
    texts = data.dev.texts[:: max(1, len(data.dev.texts) // 300)]
    export.verify(model, file, list(texts))
    about = (
        "The same intents, without a list of words: a hash turns the letters of a word into bits, "
        "so a misspelt word stays near the right one. Trained on misspelt words as well."
    )
    return entry_of("intents, misspelt", "intents_misspelt.tflite", about, MISSPELT), file


def entry_of(
    name: str,
    file: str,
    about: str,
    examples: Sequence[str] = EXAMPLES,
    kind: str = "classifier",
) -> dict[str, Any]:
    """A file in `gallery.json`, but for what its bytes say."""
    given = [{"text": text} for text in examples]
    return {"name": name, "file": file, "kind": kind, "about": about, "examples": given}
