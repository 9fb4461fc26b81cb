"""Distillation: the loss by NumPy and SciPy, its limits, and what a fit with it meets."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy.special import log_softmax, rel_entr, softmax

from kerascompact.layers import ClusterEmbedding
from kerascompact.models import mean_classifier
from kerascompact.training import Distiller, LabelAccuracy

RANDOM = np.random.default_rng(0)
ROWS, CLASSES = 12, 4
TEACHER = RANDOM.normal(size=(ROWS, CLASSES)).astype(np.float32)
STUDENT = RANDOM.normal(size=(ROWS, CLASSES)).astype(np.float32)
LABELS = np.array([0, 1, 2, 3, -1, -1] * 2)


def by_hand(weight, temperature):
    """The formula, a row at a time."""
    found = []
    for student, teacher, label in zip(STUDENT, TEACHER, LABELS, strict=True):
        soft = rel_entr(softmax(teacher / temperature), softmax(student / temperature)).sum()
        soft *= temperature**2
        hard = -log_softmax(student)[label]
        found.append(soft if label < 0 else (1 - weight) * hard + weight * soft)
    return np.array(found)


@pytest.mark.parametrize("pair", [(0.5, 2.0), (0.0, 1.0), (1.0, 4.0), (0.3, 0.7)])
@pytest.mark.parametrize("from_logits", [True, False])
def test_equals_the_formula(pair, from_logits):
    loss = Distiller(*pair, from_logits, reduction="none")
    targets = loss.targets(TEACHER, labels=LABELS, logits=True)
    outputs = STUDENT if from_logits else softmax(STUDENT, axis=1)
    np.testing.assert_allclose(loss(targets, outputs), by_hand(*pair), atol=2e-6)


def test_without_weight_it_is_keras_cross_entropy():
    labels = np.abs(LABELS)
    loss = Distiller(0.0)
    targets = loss.targets(softmax(TEACHER, axis=1), labels=labels)
    keras_loss = keras.losses.SparseCategoricalCrossentropy()(labels, softmax(STUDENT, axis=1))
    for own in (loss, tf.function(loss, jit_compile=True, autograph=False)):
        found = float(own(targets, softmax(STUDENT, axis=1)))
        assert found == pytest.approx(float(keras_loss), 1e-5)


def test_probabilities_and_logits_are_one_teacher():
    loss = Distiller()
    one = loss(loss.targets(TEACHER, logits=True), softmax(STUDENT, axis=1))
    other = loss(loss.targets(softmax(TEACHER, axis=1)), softmax(STUDENT, axis=1))
    assert float(one) == pytest.approx(float(other), rel=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_probabilities_of_half_precision_are_a_teacher(dtype):
    """The sum of a row may be above 1 by the rounding of each number."""
    logits = np.random.default_rng(0).normal(size=(32, 6))
    half = keras.ops.convert_to_numpy(keras.ops.cast(softmax(logits, axis=1), dtype))
    targets = Distiller().targets(half)
    np.testing.assert_allclose(softmax(targets[:, 1], axis=1), softmax(logits, axis=1), rtol=0.01)


def student(clusters=5):
    keras.utils.set_random_seed(1)
    return mean_classifier(ClusterEmbedding(30, 8, clusters, mask_zero=True), CLASSES)


def texts(count=64):
    return np.random.default_rng(2).integers(1, 30, (count, 6)).astype("int32")


@pytest.mark.parametrize("jit_compile", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_student_learns_what_its_teacher_knows(jit_compile):
    """Of no label at all, from a model, a function and an array alike."""
    keras.utils.set_random_seed(0)
    x = texts(128)
    ids = keras.Input((6,), dtype="int32")
    pooled = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(30, CLASSES)(ids))
    teacher = keras.Model(ids, keras.layers.Dense(CLASSES, "softmax")(pooled * 30))
    loss = Distiller(temperature=1.5)
    targets = loss.targets(teacher, x)
    np.testing.assert_allclose(targets, loss.targets(lambda rows: teacher(rows), x), atol=1e-5)
    taught = teacher(x).numpy()
    np.testing.assert_allclose(targets, loss.targets(taught), atol=1e-5)
    model = student(clusters=20)
    model.compile(
        keras.optimizers.Adam(0.1), loss, metrics=[LabelAccuracy()], jit_compile=jit_compile
    )
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    model.fit(x, targets, epochs=12, batch_size=64, verbose=0)
    same = model(x).numpy().argmax(1) == taught.argmax(1)
    assert same.mean() > 0.8


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_weights_of_the_accuracy(shape):
    metric, weights = LabelAccuracy(), np.arange(1.0, ROWS + 1)
    targets = Distiller().targets(TEACHER, labels=LABELS, logits=True)
    metric.update_state(targets, STUDENT, weights.reshape(shape))
    labelled = LABELS >= 0
    right = STUDENT.argmax(axis=1) == LABELS
    assert 0 < right.sum() < labelled.sum()
    expected = weights[right].sum() / weights[labelled].sum()
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)


def test_goes_on_after_saving(tmp_path):
    x, loss = texts(), Distiller(0.3, 3.0)
    targets = loss.targets(softmax(RANDOM.normal(size=(64, CLASSES)), axis=1), labels=x[:, 0] % 4)
    model = student()
    model.compile("sgd", loss, metrics=[LabelAccuracy()], run_eagerly=True)
    model.train_on_batch(x, targets)
    model.save(tmp_path / "student.keras")
    loaded = keras.models.load_model(tmp_path / "student.keras")
    assert (loaded.loss.weight, loaded.loss.temperature) == (0.3, 3.0)
    found, wanted = (m.test_on_batch(x, targets, return_dict=True) for m in (loaded, model))
    assert found == pytest.approx(wanted) and 0 <= found["accuracy"] <= 1
    loaded.train_on_batch(x, targets)


def test_mixed_precision_and_sample_weights():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = student()
    finally:
        keras.config.set_dtype_policy("float32")
    x, loss = texts(), Distiller()
    targets = loss.targets(softmax(RANDOM.normal(size=(64, CLASSES)), axis=1))
    model.compile("adam", loss, run_eagerly=True)
    weights = np.arange(64) % 2
    found = model.evaluate(x, targets, batch_size=64, sample_weight=weights, verbose=0)
    rows = weights == 1  # Keras divides by the number of rows, weighted or not
    wanted = float(loss(targets[rows], model(x[rows]))) / 2
    assert found == pytest.approx(wanted, rel=5e-3)  # half precision


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(weight=1.5), r"`weight` must be"),
        (dict(temperature=0), "`temperature` must be"),
        (dict(from_logits=1), "`from_logits` must be"),
    ],
)
def test_rejects_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        Distiller(**change)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(teacher=TEACHER), "`teacher` must be probabilities; of logits their softmax"),
        (dict(teacher=TEACHER[0]), r"`teacher` must be answers of shape \(examples, classes\)"),
        (dict(teacher=np.full((2, 2), np.nan)), "`teacher`"),
        (dict(teacher=np.eye(2), labels=[0]), "`labels` must be an integer for each of 2"),
        (dict(teacher=np.eye(2), labels=[0, 2]), r"`labels` must be integers in \[-1, 1\]"),
        (dict(teacher=np.eye(2), labels=[0.0, 1.0]), "`labels` must be an integer"),
    ],
)
def test_rejects_targets(given, message):
    with pytest.raises(ValueError, match=message):
        Distiller().targets(**given)


def test_plain_labels_are_refused_by_name():
    with pytest.raises(ValueError, match=r"`y_true` must be those of `targets`, \(batch, 2, 4\)"):
        Distiller()(np.eye(4)[:2], softmax(STUDENT[:2], axis=1))
