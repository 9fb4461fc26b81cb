"""What every compact embedding keeps; called from each method's own test file.

Each promise is one function, so that a failure names it. All run on the layer that `cls.EXAMPLE`
builds, many on the same one. `check_embedding` checks what a method's own code can break:

- its config holds every argument, survives JSON and makes an equal layer;
- ids of any rank, length and integer type, ragged or dense; none out of range;
- sizes and `mask_zero` are checked; masked steps change nothing behind the embedding;
- every trainable weight gets a finite gradient that is not zero, sparse if it has a row a word, and
  the same from a graph and from XLA; float16 works;
- the loss falls, and every weight moves in a step of an optimizer;
- it is built behind an `Input`, in a copy of the model, or by the first batch;
- no two weights start with the same draw;
- its form evaluates as it does, refuses NaN, and rounds to int8 and int4 within a step;
- the size table counts what the form stores;
- frozen (`trainable = False`), it computes in training as in inference;
- a converted file gives the same numbers, in built-in operators.

XLA and the file cost seconds. `xla=False` is for classes whose ops another short test compiles or
that have no gradient of their own, `file=False` for those whose form another short test converts.

`check_base` checks on two classes what only their base class can break: `fit` under XLA, with a
scaled loss, and in every kind of model. `check_files` is for tests marked slow: XLA and `fit` with
optimized graphs, every recipe, and all models loaded in another process.
"""

import json
import subprocess
import sys
from contextlib import contextmanager

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export, tools
from kerascompact.core.storage import total_bits
from kerascompact.export.recipe import TABLE_RECIPES
from kerascompact.forms import CodebookForm, DenseForm, Form, PackedTableForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.optimizers import Proximal
from kerascompact.optimizers.pending import pending_of
from kerascompact.size import summary

# The file and Keras add the same float32 numbers; softmax and mean may do it in another order.
TOLERANCE = 1e-6


def check_embedding(cls, xla=True, file=True):
    """Runs every promise that a method's own code can break; `xla`, `file`: the long ones too."""
    assert issubclass(cls, CompactEmbedding)
    for promise in (
        keeps_its_config,
        refuses_wrong_sizes,
        computes_in_mixed_float16,
    ):
        promise(cls)
    layer = example(cls)
    for promise in (
        takes_ids_of_any_rank_and_type,
        refuses_ids_out_of_range,
        starts_differently_in_every_weight,
        refuses_to_freeze_nan,
        computes_as_in_inference_once_frozen,
    ):
        promise(layer)
    trains_in_a_graph(layer, xla)
    model = trained(cls, mask_zero=True)
    for promise in (
        masks_zero,
        takes_any_batch_and_length,
        is_built_in_models,
        freezes_to_what_it_evaluates,
        counts_what_it_stores,
    ):
        promise(model)
    if file:
        exports_what_it_evaluates(model, ("int8_tables",))


def check_base(cls):
    """Runs the promises of the base class that need one `fit` after the other."""
    trains_in_fit(cls, jit_compile=True)
    trains_in_fit_with_a_scaled_loss(cls)
    masks_zero_in_a_network(cls)
    lives_in_every_kind_of_model(cls)


def check_files(cls, tmp_path):
    """The promises that take long: XLA, `fit`, every recipe, and another process."""
    masks_zero_in_a_network(cls)
    trains_in_a_graph(example(cls), xla=True)
    trains_in_fit(cls)
    loads_in_a_fresh_process(cls, tmp_path)
    for overrides in ({}, {"mask_zero": True}):
        exports_what_it_evaluates(trained(cls, **overrides), TABLE_RECIPES)


def example(cls, **overrides):
    return cls(**{**cls.EXAMPLE, **overrides})


def optimizer(cls, plain):
    """An optimizer that may train the layer: with the proximal step, if it has a rule."""
    layer = example(cls)
    layer.build()
    ruled = any(pending_of(weight) for weight in layer.trainable_weights)
    return Proximal(plain) if ruled else plain


def some_ids(cls, shape=(6, 5), seed=0):
    return np.random.default_rng(seed).integers(0, cls.EXAMPLE["input_dim"], shape, np.int32)


def classifier(embedding, length=None):
    ids = keras.Input((length,), dtype="int32", name="ids")
    mean = keras.layers.GlobalAveragePooling1D()(embedding(ids))
    return keras.Model(ids, keras.layers.Dense(3, activation="softmax", name="p")(mean))


def trained(cls, **overrides):
    """A classifier with weights that no initializer draws."""
    model = classifier(example(cls, **overrides))
    random = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(random.normal(size=weight.shape))
    return model


def keeps_its_config(cls):
    layer = example(cls, name="compact", mask_zero=True, embeddings_initializer="ones")
    config = json.loads(json.dumps(layer.get_config()))
    again = cls.from_config(config)
    assert again.get_config() == layer.get_config()
    assert (again.name, again.mask_zero) == ("compact", True)
    assert cls.EXAMPLE.items() <= config.items(), "every argument must be in the config"


def takes_ids_of_any_rank_and_type(layer):
    width = layer.output_dim
    for shape in ((), (5,), (2, 5), (2, 3, 4)):
        ids = some_ids(type(layer), shape)
        reference = layer(ids)
        assert reference.shape == (*shape, width) == layer.compute_output_shape(shape)
    for dtype in ("int8", "uint8", "int16", "uint16", "int64", "float32"):
        np.testing.assert_array_equal(layer(ids.astype(dtype)), reference)
    ragged = tf.ragged.constant([[1, 2], [], [3]], dtype=tf.int32)
    np.testing.assert_array_equal(layer(ragged).flat_values, layer(np.array([1, 2, 3])))
    sparse = tf.sparse.from_dense([[1, 0, 2]])
    np.testing.assert_array_equal(layer(sparse), layer(np.array([[1, 0, 2]])))
    assert layer.compute_output_shape((None, 5)) == (None, 5, width)


def refuses_ids_out_of_range(layer):
    vocabulary = layer.input_dim
    for bad in (-1, vocabulary):
        with pytest.raises(ValueError, match=rf"`ids` must lie in \[0, {vocabulary}\).* {bad}\."):
            layer(np.array([[0, bad]]))


def refuses_wrong_sizes(cls):
    for name in ("input_dim", "output_dim"):
        for bad in (0, -3, 2.5, True, "7", None):
            with pytest.raises(ValueError, match=rf"`{name}` must be an integer"):
                example(cls, **{name: bad})
    with pytest.raises(ValueError, match="`mask_zero` must be True or False"):
        example(cls, mask_zero="yes")


def masks_zero(model):
    ids, layer = np.array([[3, 0, 2, 0]]), model.layers[1]
    assert example(type(layer)).compute_mask(ids) is None
    for given in (ids, tf.sparse.from_dense(ids)):
        assert np.asarray(layer.compute_mask(given)).tolist() == [[1, 0, 1, 0]]
    longer = np.array([[3, 2, 0, 0, 0]])
    # the mean over the masked sequence is the mean over the sequence without padding
    np.testing.assert_allclose(model(longer), model(longer[:, :2]), atol=TOLERANCE)


def masks_zero_in_a_network(cls):
    longer = np.array([[3, 2, 0, 0, 0]])
    model = keras.Sequential([keras.Input((None,)), example(cls, mask_zero=True)])
    model.add(keras.layers.SimpleRNN(2))
    np.testing.assert_allclose(model(longer), model(longer[:, :2]), atol=TOLERANCE)


def takes_any_batch_and_length(model):
    """One graph for all of them, as `predict` and the converter trace it."""
    spec = tf.TensorSpec((None, None), tf.int32)
    predict = tf.function(model, input_signature=[spec], autograph=False)
    for shape in ((1, 1), (4, 7), (3, 2)):
        assert predict(some_ids(type(model.layers[1]), shape)).shape == (shape[0], 3)


def computes_in_mixed_float16(cls):
    layer, ids = example(cls, dtype="mixed_float16"), some_ids(cls)
    assert layer(ids).dtype == tf.float16
    assert {weight.dtype for weight in layer.trainable_weights} == {"float32"}
    assert layer.to_form()(ids).dtype == tf.float16
    with tf.GradientTape() as tape:
        vectors = layer(ids, training=True)
        loss = tf.reduce_mean(tf.cast(vectors, tf.float32)) + sum(layer.losses)
    weights = [weight.value for weight in layer.trainable_weights]
    for gradient in tape.gradient(loss, weights, unconnected_gradients="zero"):
        assert gradient.dtype == tf.float32
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


def trains_in_fit_with_a_scaled_loss(cls):
    model = classifier(example(cls, dtype="mixed_float16"))
    inner = optimizer(cls, keras.optimizers.SGD(0.1))
    model.compile(keras.mixed_precision.LossScaleOptimizer(inner), "mse")
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    history = model.fit(some_ids(cls), np.ones((6, 3)), epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def classes_of_the_first_id(cls, shape=(24, 3)):
    """Ids, and labels that the first of them tells."""
    ids = some_ids(cls, shape)
    return ids, (ids[:, 0] * 3 // cls.EXAMPLE["input_dim"]).astype(np.int32)


def trains_in_a_graph(layer, xla=False):
    """Gradients of a graph, by XLA or not, are those without, and a few steps along them train.

    They reach every weight, in rows where it has a row a word. The steps are not in the graph: Adam
    for a few weights is traced longer than their layer.
    """
    cls, (ids, labels) = type(layer), classes_of_the_first_id(type(layer))
    layer(ids)
    normal = np.random.default_rng(0).normal(size=(3 * layer.output_dim, 3))
    head = keras.Variable(0.3 * normal, dtype="float32", name="head")
    weights = [*layer.trainable_weights, head]
    assert len(weights) > 1

    def loss_and_gradients(ids, labels):
        with tf.GradientTape() as tape:
            vectors = layer(ids, training=True)
            logits = tf.matmul(tf.reshape(vectors, (ids.shape[0], -1)), head.value)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            # some weights learn from the layer's own loss
            loss = tf.reduce_sum(losses) + sum(layer.losses)
        return loss, tape.gradient(loss, [weight.value for weight in weights])

    state = [variable.numpy() for variable in layer.variables]
    batch = tf.constant(ids), tf.constant(labels)
    _, plain = loss_and_gradients(*batch)
    for weight, gradient in zip(weights, plain, strict=True):
        assert gradient is not None, f"no gradient reaches {weight.path}"
        values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
        assert np.isfinite(values).all() and np.any(values), f"{weight.path}: a gradient of zeros"
        if weight.shape[0] == layer.input_dim:
            assert isinstance(gradient, tf.IndexedSlices), f"{weight.path}: gradient is not rows"
    for variable, value in zip(layer.variables, state, strict=True):  # the seed of noise as well
        variable.assign(value)
    traced = tf.function(loss_and_gradients, jit_compile=xla, autograph=False)
    first, gradients = traced(*batch)
    for found, expected in zip(gradients, plain, strict=True):
        found, expected = tf.convert_to_tensor(found), tf.convert_to_tensor(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

    before = [weight.numpy() for weight in layer.trainable_weights]
    optimizer(cls, keras.optimizers.SGD(0.01)).apply(gradients, weights)
    for old, weight in zip(before, layer.trainable_weights, strict=True):
        assert np.any(old != weight.numpy()), f"{weight.path} does not move"
    for _ in range(12):
        last, gradients = traced(*batch)
        for weight, gradient in zip(weights, gradients, strict=True):  # as Adam's first steps
            weight.assign_sub(0.1 * np.sign(tf.convert_to_tensor(gradient)))
    assert last < 0.9 * first, "the loss does not fall"


def trains_in_fit(cls, jit_compile=False):
    ids, labels = classes_of_the_first_id(cls, (48, 6))
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((6,), dtype="int32"), example(cls)])
    model.add(keras.layers.Flatten())
    model.add(keras.layers.Dense(3, activation="softmax"))
    embedding, adam = model.layers[0], optimizer(cls, keras.optimizers.Adam(0.03))
    model.compile(adam, "sparse_categorical_crossentropy", jit_compile=jit_compile)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    before = [weight.numpy() for weight in embedding.trainable_weights]
    with optimized_graphs():
        fit = model.fit(ids, labels, batch_size=16, epochs=12, verbose=0, shuffle=False)
    first, *_, last = fit.history["loss"]
    assert last < 0.9 * first, f"the loss does not fall with jit_compile={jit_compile}"
    for old, weight in zip(before, embedding.trainable_weights, strict=True):
        assert np.any(old != weight.numpy()), f"{weight.path} does not move"


@contextmanager
def optimized_graphs():
    """Graphs are optimized as they are for users; `conftest` turns it off."""
    options = tf.config.optimizer
    options.set_experimental_options({"disable_meta_optimizer": False})
    yield
    options.set_experimental_options({"disable_meta_optimizer": True})


def is_built_in_models(model):
    layer = model.layers[1]
    cls, ids = type(layer), some_ids(type(layer))
    copy = keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    np.testing.assert_array_equal(copy(ids), model(ids))
    floats = keras.Sequential([keras.Input((5,)), copy.layers[1]])  # the dtype that Input has
    np.testing.assert_array_equal(floats(ids), layer(ids))
    deferred = keras.Sequential([example(cls)])
    with tf.__internal__.FuncGraph("first_batch").as_default():  # as `fit` builds it
        assert deferred(tf.constant(ids)).shape == (6, 5, cls.EXAMPLE["output_dim"])
    assert len(deferred.weights) == len(layer.weights)


def lives_in_every_kind_of_model(cls, subclassed_only=False):
    """Or in a subclassed one only, which is not built of an `Input`."""
    ids = some_ids(cls)

    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = example(cls), keras.layers.Dense(2)

        def call(self, ids, training=None):  # without the argument Keras trains as it evaluates
            return self.head(keras.ops.mean(self.embedding(ids, training=training), axis=1))

    functional = classifier(example(cls))
    sequential = keras.Sequential([keras.Input((5,), dtype="int32"), example(cls)])
    deferred = keras.Sequential([example(cls)])
    others = () if subclassed_only else (functional, sequential, deferred)
    for model in (*others, Subclassed()):
        output = model(ids)
        model.compile(optimizer(cls, "sgd"), "mse")
        model.optimizer.build(model.trainable_variables)  # or the step is traced twice
        model.fit(ids, np.zeros(output.shape), verbose=0)
        assert model.predict(ids, verbose=0).shape == output.shape


def starts_differently_in_every_weight(layer):
    numbers = [weight.numpy().ravel() for weight in layer.trainable_weights]
    for i, one in enumerate(numbers):
        for other in numbers[i + 1 :]:
            size = min(one.size, other.size)
            assert np.any(one[:size] != other[:size]), "two weights start with the same draw"


def freezes_to_what_it_evaluates(model):
    layer = model.layers[1]
    with pytest.raises(ValueError, match="has no weights yet"):
        example(type(layer)).to_form()
    form, every = layer.to_form(), np.arange(layer.input_dim)
    assert isinstance(form, Form) and form.name == layer.name and not form.trainable_weights
    found, expected = np.asarray(form(every)), np.asarray(layer(every, training=False))
    if only_gathers(form):
        np.testing.assert_array_equal(found, expected)
    else:
        # Products and sums of float32 in another order, and with normalization multiplied into
        # them before: a few roundings of 2**-24 for each of some tens of terms.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert np.asarray(form.compute_mask(np.array([0, 1]))).tolist() == [False, True]
    for precision, largest in (("int8", 127), ("int4", 7)):
        small = form.stored_as(precision)
        assert small.stored_as(precision) is small
        if isinstance(form, PackedTableForm):  # nothing left to round
            assert small is form
            continue
        assert small is not form and total_bits(small.storage()) < total_bits(form.storage())
        # A step is a column's largest entry / 127 (or 7), below 4 deviations / 127 for the normal
        # numbers of `trained`. Rounding to it is off by a step / sqrt(12), root mean square, in
        # tables and in what multiplies them: a sum of D rounded rows is off by sqrt(D) such errors,
        # and is sqrt(D) times as large.
        error = np.asarray(small(every)) - found
        assert rms(error) <= 2 * 4 / largest / 12**0.5 * rms(found)
        if only_gathers(form) and precision == "int8":
            assert np.abs(error).max() <= 0.5001 * np.abs(found).max() / largest


def only_gathers(form):
    """Whether a form reads its numbers and adds none of them."""
    if isinstance(form, CodebookForm):
        return form.code_length == 1 or form.combine == "concat"
    parts = getattr(form, "parts", None)
    return all(map(only_gathers, parts)) if parts else isinstance(form, DenseForm | PackedTableForm)


def rms(numbers):
    return np.sqrt(np.mean(np.square(numbers)))


def refuses_to_freeze_nan(layer):
    trained = layer.trainable_weights
    layer.trainable = False  # what is checked is no matter of what is trained
    for weight in trained:
        good = weight.numpy()
        weight.assign(np.full(weight.shape, np.nan))
        with pytest.raises(ValueError, match="must hold finite numbers only"):
            layer.to_form()
        weight.assign(good)
    layer.trainable = True


def computes_as_in_inference_once_frozen(layer):
    """Or what is trained behind it would be trained on vectors that do not ship."""
    ids = some_ids(type(layer))
    layer.trainable = False
    np.testing.assert_allclose(layer(ids, training=True), layer(ids), atol=TOLERANCE)
    assert not layer.losses
    again = type(layer).from_config(layer.get_config())
    again(ids, training=True)
    assert not any(weight.trainable for weight in again.weights)
    layer.trainable = True


def counts_what_it_stores(model):
    row, layer = summary(model).layers[0], model.layers[1]
    form = layer.to_form()
    assert row.stored_bits == total_bits(form.storage())
    assert row.paper_bits == layer.paper_bits() == form.paper_bits
    layer.trainable = False
    assert layer.paper_bits() == row.paper_bits
    layer.trainable = True
    assert row.float32_bits == 32 * layer.input_dim * layer.output_dim
    assert all(array.bits >= 1 and array.total_bits > 0 for array in form.storage())


_FRESH = """
import sys
import keras, numpy as np
import kerascompact.layers
ids = np.load(sys.argv[1] + "/ids.npy")
for name in ("trained", "float32", "int8_tables", "int4_tables"):
    model = keras.models.load_model(f"{sys.argv[1]}/{name}.keras")
    model.evaluate(ids, np.zeros(len(ids)), verbose=0)
    np.save(f"{sys.argv[1]}/{name}.npy", model.predict(ids, verbose=0))
"""


def loads_in_a_fresh_process(cls, tmp_path):
    """The trained model and all frozen ones load, evaluate and predict the same elsewhere."""
    model, ids = trained(cls, mask_zero=True), some_ids(cls)
    model.compile(optimizer(cls, "sgd"), "sparse_categorical_crossentropy")
    models = {"trained": model}
    models |= {recipe: export.freeze(model, recipe).model for recipe in TABLE_RECIPES}
    np.save(tmp_path / "ids.npy", ids)
    for name, each in models.items():
        each.save(tmp_path / f"{name}.keras")
    subprocess.run([sys.executable, "-c", _FRESH, str(tmp_path)], check=True)
    for name, each in models.items():
        loaded = np.load(tmp_path / f"{name}.npy")
        here = each.predict(ids, verbose=0)  # compiled anew: the last digit may differ
        np.testing.assert_allclose(loaded, here, rtol=2e-6, atol=1e-7, err_msg=name)


def exports_what_it_evaluates(model, recipes):
    ids = some_ids(type(model.layers[1]), (32, 6))
    ids[:, 4:] = 0  # the last ones are padding
    gathers = only_gathers(model.layers[1].to_form())
    for recipe in recipes:
        frozen = export.freeze(model, recipe)
        file = frozen.convert()
        # sums of codes are logits of size 10 before the softmax, rounded at 2**-24 of that
        report = frozen.verify(ids, tolerance=TOLERANCE * (1 if gathers else 10))
        assert report.agreement == 1.0
        assert not tools.inspect(file).custom
