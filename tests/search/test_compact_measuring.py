"""What `search.compact` measures: its examples, and the loss on data alone, whatever the loss."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.search import measuring, tuning

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.integers(0, 9, (40, 3)), RANDOM.integers(0, 2, 40)


def classifier(loss="sparse_categorical_crossentropy", penalty=None, **options):
    ids = keras.Input((3,), dtype="int32")
    table = keras.layers.Embedding(9, 4, embeddings_regularizer=penalty, name="words")
    head = keras.layers.Dense(2, "softmax", activity_regularizer=penalty, name="head")
    model = keras.Model(ids, head(keras.layers.Flatten()(table(ids))))
    if loss is not None:
        model.compile("adam", loss, jit_compile=False, **options)
    return model


def cross_entropy(y_true, y_pred):
    return keras.losses.sparse_categorical_crossentropy(y_true, y_pred)


class CrossEntropy(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return cross_entropy(y_true, y_pred)


OBJECTS = [
    cross_entropy,
    CrossEntropy(),
    keras.losses.SparseCategoricalCrossentropy(),
    {"head": CrossEntropy()},
]


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", OBJECTS)
def test_the_loss_is_that_on_data_without_penalties(loss):
    model = classifier(loss, keras.regularizers.L2(1.0))
    outputs = model(X).numpy()
    expected = -np.log(outputs[np.arange(len(Y)), Y]).mean()
    assert measuring.loss_of(model, model, X, Y) == pytest.approx(expected, rel=1e-5)


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", OBJECTS)
def test_a_copy_has_the_loss_of_the_model(loss):
    options = dict(loss_weights={"head": 2.0}, metrics=["accuracy"])
    model = classifier(loss, **(options if isinstance(loss, dict) else {"metrics": ["accuracy"]}))
    copy = classifier(None)
    copy.set_weights(model.get_weights())
    tuning.compile_with_loss(model, copy, "sgd")
    model.run_eagerly = copy.run_eagerly = True
    expected = model.test_on_batch(X, Y, return_dict=True)
    assert copy.test_on_batch(X, Y, return_dict=True) == pytest.approx(expected)


def test_a_copy_of_a_model_without_a_loss_has_the_squared_distance():
    model, copy = classifier(None), classifier(None)
    model.compile("adam")  # no loss: all candidates would be as good
    tuning.compile_with_loss(model, copy, "sgd")
    assert copy.loss == "mse"
    (_, y), _ = measuring.sample(model, (X, None), 40, 0)
    assert y.shape == (40, 2)


def test_lists_are_arrays():
    for given in ((X.tolist(), Y.tolist()), (list(X), list(Y)), ([X], Y.tolist())):
        (x, y), rest = measuring.sample(classifier(), given, 10, 0)
        (expected_x, expected_y), _ = measuring.sample(classifier(), (X, Y), 10, 0)
        np.testing.assert_array_equal(x[0] if isinstance(x, list) else x, expected_x)
        np.testing.assert_array_equal(y, expected_y)
        assert len(rest[1]) == 30


def test_lists_for_each_of_several_inputs():
    ports = [keras.Input((3,), name=name) for name in "ab"]
    model = keras.Model(ports, keras.layers.Add()(ports))
    model.compile("sgd", "mse")
    for given in ([X, X.tolist()], (X, X), {"a": X.tolist(), "b": X}):
        (x, y), _ = measuring.sample(model, (given, X), 10, 0)
        assert type(x) is type(given)
        for one in keras.tree.flatten(x):
            np.testing.assert_array_equal(one, y)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((X, Y[:30]), r"targets as many as inputs\. Received: arrays of 40, 30 rows\."),
        ((X[:30], Y), r"targets as many as inputs\. Received: arrays of 30, 40 rows\."),
        ((X[:0], Y[:0]), "`data` must be arrays of at least one example"),
        ((X, 1), "`data` must be arrays of at least one example"),
        ((X, None), "`data` must be a pair with targets"),
        (([[1, 2, 3], [4, 5]], [0, 1]), "`data` must be arrays, or lists whose rows have one len"),
        ([X, Y], r"`data` must be a pair \(inputs, targets\), as a tuple\. Received: data=\[array"),
        (
            tf.data.Dataset.from_tensors((X, Y)),
            r"`data` must be a pair .* Received: data=<_TensorDataset .*\(of type _TensorDataset\)",
        ),
    ],
)
def test_refuses_data(data, message):
    with pytest.raises(ValueError, match=message):
        measuring.sample(classifier(), data, 10, 0)
