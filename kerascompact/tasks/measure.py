"""What one trained model is worth: three accuracies, three sizes, one latency."""

from collections.abc import Sequence
from typing import Any

import keras

from kerascompact import export
from kerascompact.core.storage import kib
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.size import summary
from kerascompact.tasks.classification import Coded, TextData
from kerascompact.training.scores import score
from kerascompact.training.soft import soft_copy


def accuracy(model: keras.Model, split: Coded) -> float:
    """Share of rows whose largest output is the label, or with exactly the right set of labels."""
    return score(model.predict(split.ids, batch_size=500, verbose=0), split.labels)


def parameters(embedding: keras.layers.Layer) -> int:
    """Numbers of an embedding as its paper counts them, codes apart: `K D d' + C` of KD codes.

    >>> from kerascompact import layers
    >>> parameters(layers.KDCodeEmbedding(50, 300, 32, 32, batch_norm=True))  # + 2 * 300 of it
    307800
    """
    if not isinstance(embedding, CompactEmbedding):
        return int(embedding.count_params())
    if not embedding.built:
        embedding.build()
    stored = embedding.to_form().storage()  # columns of sparse rows are in no paper's count
    codes = sum(array.total_bits for array in stored if array.name.split("/")[-1] == "codes")
    return (embedding.paper_bits() - codes) // 32


def size_up(
    model: keras.Model,
    data: TextData,
    recipe: str,
    sequence_length: int | None = None,
    text_in: bool = False,
) -> tuple[dict[str, Any], export.Frozen]:
    """Exports a trained model and counts bytes; looks at no data.

    With `text_in`, the file of a projection takes text, and has neither ids nor a vocabulary.

    Returns: What ships, with its `file`, and a row with
        paper_bytes: embedding by the paper's formula; stored_bytes: as the file stores it;
        other_weight_bytes: all other layers; file_bytes: the file;
        vocabulary_bytes: the word list that must lie beside it;
        embedding_mb, model_mb: by the paper's formula, in its MB of 2^20 bytes;
        embedding_parameters: the numbers in the paper's formula, codes apart.
    """
    frozen = export.freeze(model, recipe)
    file = frozen.convert(
        labels=data.label_names,
        sequence_length=sequence_length,
        **({"text": data.vocabulary.rules} if text_in else {"vocabulary": data.vocabulary}),
    )
    trained, ships = summary(model), frozen.summary()
    paper = next(row.paper_bits for row in trained.layers if row.layer == "embedding")
    stored = next(row.stored_bits for row in ships.layers if row.layer == "embedding")
    ids = sum(row.stored_bits for row in ships.layers if text_in and row.kind == "BitCache")
    row = {
        "recipe": recipe,
        "paper_bytes": paper / 8,
        "stored_bytes": stored / 8,
        "other_weight_bytes": (ships.stored_bits - stored - ids) / 8,
        "file_bytes": len(file),
        "vocabulary_bytes": 0 if text_in else data.vocabulary.num_bytes,
        "embedding_mb": kib(paper) / 1024,
        "model_mb": kib(trained.paper_bits) / 1024,
        "embedding_parameters": parameters(model.get_layer("embedding")),
    }
    return row, frozen


def measure(
    model: keras.Model,
    data: TextData,
    recipe: str = "float32",
    sequence_length: int | None = None,
    progress: bool = False,
    texts: Sequence[str] | None = None,
) -> tuple[dict[str, Any], export.Frozen]:
    """Exports a trained model and measures it on the test split, every row of it.

    Without test rows, on dev. With the `texts` of that split, the file of a projection takes text,
    see `size_up`. Accuracies of several labels a text are shares of exactly right sets.

    Raises `ValueError`, if the file and the frozen model, or the frozen model before rounding and
    the trained one, disagree on the argmax of a row that is no tie, see `export.verify`.

    Returns: What ships, with its `file`, and the row of `size_up` with
        soft_accuracy: with relaxed codes (of clusters: soft random Gumbel samples, as the paper's
            code tests; training sees one-hot ones); `None` for other layers;
        hard_accuracy: of the trained Keras model, float32, hard assignments;
        keras_accuracy: of the Keras model that ships (tables rounded by the recipe);
        file_accuracy: of the `.tflite` file; file_micro_f1, too, if a text may have several labels;
        argmax_agreement, argmax_ties, largest_difference: Keras that ships against the file;
        frozen_difference: the largest of the trained model against the frozen one, before rounding;
        trained_agreement, trained_difference: the trained model against the file;
        microseconds: median of one run of the file on one thread.
    """
    row, frozen = size_up(model, data, recipe, sequence_length, texts is not None)
    split = data.test if len(data.test.labels) else data.dev
    given = split.ids if texts is None else texts
    report = frozen.verify(given, split.labels, progress=progress)
    has_soft = model.get_layer("embedding").get_config().get("inference") == "hard"
    if data.multi_label:
        row["file_micro_f1"] = score(report.outputs, split.labels, "micro_f1")
    row |= {
        "soft_accuracy": accuracy(soft_copy(model), split) if has_soft else None,
        "hard_accuracy": accuracy(model, split),
        "keras_accuracy": report.keras_accuracy,
        "file_accuracy": report.file_accuracy,
        "argmax_agreement": report.agreement,
        "argmax_ties": report.ties,
        "largest_difference": report.largest_difference,
        "frozen_difference": report.trained_frozen.largest,
        "trained_agreement": report.trained_file.agreement,
        "trained_difference": report.trained_file.largest,
        "test_rows": report.examples,
        "microseconds": round(report.microseconds, 1),
    }
    return row, frozen
