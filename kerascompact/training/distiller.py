"""Distiller: a loss by which a small classifier learns from labels and from a teacher."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from kerascompact.core import checks
from kerascompact.core.registration import register

LEAST = 1e-7  # probability, as in Keras' own losses: its logarithm is finite
UNLABELLED = -1


@register
class Distiller(keras.losses.Loss):
    """Cross entropy of labels and of a teacher's softer answers.

    `(1 - w) CE(y, p) + w T^2 KL(q_T || p_T)`, with `q_T = softmax(t / T)` of the teacher's logits
    `t`, and `p_T` the same of the student's, which has `p = p_1`. A text without a label has the
    second term alone, with the weight 1.

    `distiller = Distiller(weight=0.8, temperature=2.0)`, `student.compile("adam", distiller,
    metrics=[training.LabelAccuracy()])`, `student.fit(x, distiller.targets(teacher, x, labels))`.
    Everything else is as with any loss: callbacks, `jit_compile`, saving and loading; but Keras
    has `class_weight` for labels alone: give `sample_weight` here.

    Args:
        weight: Weight `w` of the teacher, in [0, 1].
        temperature: Temperature `T`, above 0.
        from_logits: Whether the student's outputs are logits; else probabilities.
        name: Name of the loss.
        reduction: Reduction of the losses, a name that `keras.losses.Loss` takes.

    Shapes: targets `(batch, 2, classes)` of `targets`, outputs `(batch, classes)` -> `(batch,)`.
    Raises: ValueError, if an argument is out of its range, or the shapes do not fit.
    Example:
    >>> student = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, "softmax")])
    >>> distiller, x = Distiller(), np.eye(3)
    >>> student.compile("adam", distiller)
    >>> teacher = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    >>> history = student.fit(x, distiller.targets(teacher, x, [0, 1, -1]), verbose=0)

    Reference: [Hinton et al., 2015](https://arxiv.org/abs/1503.02531), sec. 2.
    """

    def __init__(
        self,
        weight: float = 0.5,
        temperature: float = 2.0,
        from_logits: bool = False,
        name: str = "distiller",
        reduction: Any = "sum_over_batch_size",
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype="float32")
        self.weight = checks.number("weight", weight, at_least=0, up_to=1)
        self.temperature = checks.number("temperature", temperature, above=0)
        self.from_logits = checks.boolean("from_logits", from_logits)

    def targets(
        self,
        teacher: keras.Model | Callable[[Any], Any] | np.ndarray,
        inputs: Any = None,
        labels: Any = None,
        logits: bool = False,
    ) -> np.ndarray:
        """What a student is fitted to: its labels and the teacher's answers.

        Args:
            teacher: A Keras model of `inputs`, a function of them (such as of a list of texts), or
                its answers.
            inputs: What the teacher reads, an example a row.
            labels: Class of each example, -1 where there is none. Default: none has one.
            logits: Whether the teacher's answers are logits; else probabilities.

        Returns: float32 `(examples, 2, classes)`: one-hot labels, or zeros; and logits.

        Raises: ValueError, if answers are no matrix of numbers, or labels do not fit them.
        """
        if isinstance(teacher, keras.Model):
            teacher = teacher.predict(inputs, verbose=0)
        answers = np.asarray(teacher(inputs) if callable(teacher) else teacher)
        # Probabilities of half precision add up to 1 but for a rounding of each.
        above = 1e-3 if answers.dtype.itemsize > 2 else 0.02
        answers = answers.astype(np.float32)
        if answers.ndim != 2:
            checks.fail("teacher", "answers of shape (examples, classes)", answers.shape)
        checks.finite("teacher", answers)
        if not logits:
            if (answers < 0).any() or (answers.sum(axis=1) > 1 + above).any():
                expected = "probabilities; of logits their softmax, or `targets(logits=True)`"
                checks.fail("teacher", expected, answers[0])
            answers = np.log(np.maximum(answers, LEAST))
        count, classes = answers.shape
        given = np.full(count, UNLABELLED) if labels is None else np.asarray(labels)
        if given.shape != (count,) or not np.issubdtype(given.dtype, np.integer):
            checks.fail("labels", f"an integer for each of {count} examples", given.shape)
        if given.min(initial=0) < UNLABELLED or given.max(initial=0) >= classes:
            expected = f"integers in [-1, {classes - 1}], -1 for none"
            checks.fail("labels", expected, (int(given.min()), int(given.max())))
        hard = np.eye(classes + 1, dtype=np.float32)[given][:, :classes]
        return np.stack([hard, answers], axis=1)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        if len(y_true.shape) != 3 or y_true.shape[1:] != (2, y_pred.shape[-1]):
            expected = f"those of `targets`, (batch, 2, {y_pred.shape[-1]})"
            checks.fail("y_true", expected, tuple(y_true.shape))
        hard, teacher = y_true[:, 0], y_true[:, 1]
        own = ops.cast(y_pred, "float32")
        own = own if self.from_logits else ops.log(ops.clip(own, LEAST, 1.0))
        labelled = ops.sum(hard, axis=-1)
        entropy = -ops.sum(hard * ops.log_softmax(own), axis=-1)
        softer = ops.log_softmax(teacher / self.temperature)
        apart = softer - ops.log_softmax(own / self.temperature)
        divergence = self.temperature**2 * ops.sum(ops.exp(softer) * apart, axis=-1)
        share = 1 - labelled * (1 - self.weight)
        return (1 - share) * entropy + share * divergence

    def get_config(self) -> dict[str, Any]:
        own = {"weight": self.weight, "temperature": self.temperature}
        config = {k: v for k, v in super().get_config().items() if k != "dtype"}
        return {**config, **own, "from_logits": self.from_logits}


@register
class LabelAccuracy(keras.metrics.MeanMetricWrapper):
    """Accuracy on the labelled examples of a `Distiller`'s targets; also of plain labels.

    Args:
        name: Name of the metric.
        **kwargs: Arguments of `keras.metrics.Metric`.

    Example:
    >>> targets = Distiller().targets(np.eye(2), labels=[0, -1])
    >>> metric = LabelAccuracy()
    >>> metric.update_state(targets, np.array([[0.9, 0.1], [0.9, 0.1]]))
    >>> float(metric.result())
    1.0
    """

    def __init__(self, name: str = "accuracy", **kwargs: Any) -> None:
        super().__init__(_is_right, name=name, **kwargs)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        if len(y_true.shape) == 3:
            labelled = ops.cast(ops.sum(y_true[:, 0], axis=-1), self.dtype)
            y_true = ops.argmax(y_true[:, 0], axis=-1)
            if sample_weight is not None:
                labelled *= _flat(ops.convert_to_tensor(sample_weight, dtype=self.dtype))
            sample_weight = labelled
        return super().update_state(y_true, y_pred, sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype}


def _flat(weights: Any) -> Any:
    """Weights `(batch,)`, also if they are given as `(batch, 1)`."""
    return ops.squeeze(weights, axis=-1) if weights.shape[1:] == (1,) else weights


def _is_right(labels: Any, outputs: Any) -> Any:
    labels = ops.reshape(ops.cast(labels, "int32"), (-1,))
    return ops.cast(ops.equal(labels, ops.argmax(outputs, axis=-1)), "float32")
