"""A trained model within a budget: never over, near the model, refused when impossible."""

import io
import itertools

import keras
import numpy as np
import pytest
import rich.console
import tensorflow as tf

import few_settings
from kerascompact import export, layers, models, search
from kerascompact.core.keras_graph import copy_with, parts_of
from kerascompact.search import parts, plan, tuning
from kerascompact.search.compacted import Choice
from kerascompact.search.parts import Candidate
from kerascompact.search.plan import combinations

RANDOM = np.random.default_rng(0)
V, LENGTH = 300, 6


@pytest.fixture
def every_fourth(monkeypatch):
    few_settings.try_every(4, monkeypatch)


@pytest.fixture
def every_twelfth(monkeypatch):
    few_settings.try_every(12, monkeypatch)


def next_word():
    """A masked table, an LSTM and a softmax over all words."""
    ids = keras.Input((LENGTH,), dtype="int32")
    table = keras.layers.Embedding(V, 16, mask_zero=True, name="words")
    states = keras.layers.LSTM(16, return_sequences=True)(table(ids))
    out = keras.layers.Dense(V, activation="softmax", name="head")(states)
    return keras.Model(ids, out)


def two_inputs():
    """Two inputs with a table each, one of them read twice, and a batch normalization."""
    left, right = (keras.Input((LENGTH,), dtype="int32", name=n) for n in ("left", "right"))
    shared = keras.layers.Embedding(V, 16, name="shared")
    other = keras.layers.Embedding(V, 8, name="other")
    pool = keras.layers.GlobalAveragePooling1D()
    both = [pool(shared(left)), pool(shared(right)), pool(other(right))]
    joined = keras.layers.BatchNormalization()(keras.layers.Concatenate()(both))
    return keras.Model([left, right], keras.layers.Dense(3, name="out")(joined))


def ids(count=48):
    return RANDOM.integers(1, V, (count, LENGTH))


@pytest.mark.slow
def test_a_language_model_fits_and_its_file_agrees(tmp_path, every_twelfth):
    model = next_word()
    model.compile("adam", "sparse_categorical_crossentropy")
    before = [weight.copy() for weight in model.get_weights()]
    x = ids()
    found = search.compact(model, "24KiB", data=(x, x), joint=1, verbose=False)
    assert len(found.file) <= 24 * 1024
    assert [row.part for row in found.choices] == ["words", "head", "lstm"]
    found.save(tmp_path)
    assert (tmp_path / "model.tflite").read_bytes() == found.file
    loaded = keras.models.load_model(tmp_path / "model.keras")
    run = tf.lite.Interpreter(model_content=found.file).get_signature_runner()
    (name,) = run.get_input_details()
    (answer,) = run(**{name: x[:1].astype("int32")}).values()
    np.testing.assert_allclose(answer, loaded(x[:1]), atol=1e-5)  # float32 sums of 16 products
    # The loss, computed without Keras' evaluate:
    outputs = found.model.predict(x, verbose=0)
    picked = np.take_along_axis(outputs, x[..., None], -1)
    np.testing.assert_allclose(found.loss, -np.log(picked).mean(), rtol=1e-4)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    assert found.table().row_count == 4


def test_a_save_that_fails_leaves_the_former_model(tmp_path, monkeypatch):
    """And a name in brackets is no markup of its table."""
    rows = [Choice("[bold]words", "int8", 5, 0.1)]
    found = search.Compacted(b"file", next_word(), rows, 0.5, 0.4, 8, None)
    monkeypatch.setattr(export, "save", lambda *args: None)  # which has tests of its own
    found.save(tmp_path)
    former = (tmp_path / "model.keras").read_bytes()

    def half(self, path):
        path.write_bytes(b"half")
        raise OSError("no space")

    monkeypatch.setattr(keras.Model, "save", half)
    with pytest.raises(OSError, match="no space"):
        found.save(tmp_path)
    assert (tmp_path / "model.keras").read_bytes() == former
    terminal = rich.console.Console(file=io.StringIO(), width=80)
    terminal.print(found.table())
    assert "[bold]words" in terminal.file.getvalue()


@pytest.mark.slow
def test_several_inputs_without_a_compiled_loss(every_fourth):
    model, x = two_inputs(), [ids(), ids()]
    found = search.compact(model, 16_000, data=(x, None), joint=1, verbose=False)
    assert len(found.file) <= 16_000
    assert [row.part for row in found.choices] == ["shared", "other", "out"]
    lost = found.model.predict(x, verbose=0) - model.predict(x, verbose=0)
    np.testing.assert_allclose(found.loss, np.square(lost).mean(), rtol=1e-3, atol=1e-9)
    with pytest.raises(ValueError, match=r"`budget` must be at least .* bytes \(shared "):
        search.compact(model, 1000, data=(x, None), joint=1, verbose=False)


def test_fine_tuning_leaves_frozen_layers_as_they_are():
    fixed = keras.layers.Embedding(V, 16, name="fixed", trainable=False)
    tail = [layers.MaskedMean(), keras.layers.Dense(2, "softmax", name="out")]
    model = keras.Sequential([keras.Input((LENGTH,), dtype="int32"), fixed, *tail])
    model.compile(keras.optimizers.Adam(0.1), "sparse_categorical_crossentropy")
    x, (part,) = ids(64), parts.parts_of(model)
    form = parts.settings_of(part, 0, None)["8 bits"]()
    made = plan.Plan(model, [part], [], [], others=(x, x[:, 0] % 2))
    _, frozen, _ = made._tuned((Candidate("8 bits", form, 5_000, 0.0),), epochs=2)
    after = frozen.model.get_layer("fixed")(np.arange(V))
    np.testing.assert_allclose(after, fixed.embeddings, atol=0.001)  # a step of 8 bits
    before, after = (one.get_layer("out").kernel.numpy() for one in (model, frozen.model))
    assert np.abs(before - after).max() > 0.05


class OwnLoss(keras.Model):
    """Its loss is of labels, and none is compiled."""

    def compute_loss(self, x, y, y_pred, *args, **kwargs):
        return keras.ops.mean(keras.losses.sparse_categorical_crossentropy(y, y_pred))


def test_fine_tuning_of_a_class_with_its_own_loss_is_to_the_outputs_of_the_model():
    inputs, x = keras.Input((4,)), RANDOM.normal(size=(64, 4))
    outputs = {"label": keras.layers.Dense(3, name="head")(inputs)}
    model = OwnLoss(inputs, outputs)
    model.compile(keras.optimizers.Adam(0.1))
    y, copy = model(x), copy_with(model, lambda layer: None)
    copy.get_layer("head").bias.assign([1.0, -1.0, 0.0])
    before = np.abs(copy(x)["label"] - y["label"]).max()
    made = tuning.tuned(model, copy, export.Recipe("compact", "float32"), x, y, epochs=10)
    assert made is copy and isinstance(made, OwnLoss)
    assert np.abs(made(x)["label"] - y["label"]).max() < 0.5 * before


@pytest.mark.parametrize("headed", [False, True])
def test_the_error_names_compact_layers_and_those_with_heads_that_stay(headed):
    own = layers.ClusterEmbedding(V, 16, 8, name="own")
    if headed:
        own = keras.layers.ReversibleEmbedding(V, 16, tie_weights=False, name="own")
    inner = [own, layers.MaskedMean()]
    head = keras.layers.Dense(2, name="out")
    model = keras.Sequential([keras.Input((LENGTH,), dtype="int32"), *inner, head])
    least = plan.Plan(model, [], ["out"], [[Candidate("float32", None, 128, 0.0)]])
    with pytest.raises(ValueError, match=r"\(out 128, the rest .* with 'own' in float32, which a"):
        least.within(1000)


@pytest.mark.slow
def test_fine_tuning_lowers_the_loss_within_the_budget(every_fourth):
    """Tables of few bits, a tied one, and the optimizer that the model was trained with."""
    tokens = keras.Input((LENGTH,), dtype="int32")
    table = keras.layers.ReversibleEmbedding(V, 16, name="tied", logit_soft_cap=9.0)
    mixed = keras.layers.Dense(16, activation="tanh", name="dense")(table(tokens))
    model = keras.Model(tokens, keras.layers.Softmax()(table(mixed, reverse=True)))
    rate = keras.optimizers.schedules.PolynomialDecay(1e-2, 60, 0.0)
    model.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy")
    x = ids(128)
    model.fit(x, x, epochs=15, verbose=0)
    options = dict(budget="7KiB", data=(x, x), samples=32, joint=1, verbose=False)
    plain = search.compact(model, **options)
    found = search.compact(model, **options, epochs=5)
    assert len(found.file) <= 7 * 1024 and found.loss < 0.98 * plain.loss
    assert [row.part for row in found.choices] == ["tied", "dense"]
    assert [row.chosen for row in found.choices] == [row.chosen for row in plain.choices]
    measured = model.evaluate(x, x, verbose=0)
    assert found.loss_before == pytest.approx(measured, rel=0.3)  # of the sample


@pytest.mark.few(1)
@pytest.mark.parametrize("scaled", [False, True])
def test_fine_tuning_with_several_optimizers_falls_from_the_rate_of_each(scaled):
    K = keras.optimizers
    falling = K.schedules.PolynomialDecay(0.5, 60, 0.1)
    both = K.MultiOptimizer(K.OptimizerMap(K.SGD(0.25), {".*/bias": K.Adam(falling)}))
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(K.LossScaleOptimizer(both) if scaled else both, "mse")
    copy = keras.models.clone_model(model)
    tuning.compile_with_loss(model, copy, tuning.optimizer_of(model, steps=4))
    copy.run_eagerly = True
    for _ in range(2):
        copy.train_on_batch(np.ones((3, 2)), np.ones(3))
    inner = parts_of(copy.optimizer)
    rates = {type(one).__name__: float(one.learning_rate) for one in inner}
    assert rates == pytest.approx({"SGD": 0.125, "Adam": 0.25})  # half of the way
    assert float(both.optimizers[0].iterations) == 0  # the model's own are left alone


@pytest.mark.parametrize("by", ["var_list", "var_names"])
def test_fine_tuning_decays_no_weight_that_the_optimizer_excludes(by):
    head = keras.layers.Dense(2, name="head", bias_initializer="ones")
    model = keras.Sequential([keras.Input((3,)), head])
    optimizer = keras.optimizers.AdamW(0.1, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(**{by: [head.bias] if by == "var_list" else ["bias"]})
    model.compile(keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=8.0), "mse")
    copy = copy_with(model, lambda layer: None)
    tuned = tuning.optimizer_of(model, 1, copy)
    assert tuned.initial_scale == 8.0
    weights = copy.trainable_weights
    tuned.apply([tf.zeros(weight.shape) for weight in weights], weights)
    kernel, bias = weights
    np.testing.assert_allclose(kernel, 0.95 * head.kernel.numpy(), rtol=1e-6)
    np.testing.assert_array_equal(bias, head.bias)


@pytest.mark.slow
def test_each_kernel_has_a_precision_of_its_own():
    """One kernel has a number so large that int8 leaves nothing of the others beside it."""
    x = keras.Input((40,))
    fragile = keras.layers.Dense(20, name="fragile")
    model = keras.Model(x, keras.layers.Dense(20, name="sturdy")(fragile(x)))
    kernel = fragile.kernel.numpy()
    kernel[0] = 1000.0
    fragile.kernel.assign(kernel)
    rows = RANDOM.normal(size=(64, 40)).astype("float32")
    rows[:, 0] = 0
    made = plan.Plan.of(model, (rows, None))
    found = made.within(5500, joint=1)
    assert [(one.part, one.chosen) for one in found.choices] == [
        ("fragile", "float32"),
        ("sturdy", "int8"),
    ]
    assert [one.bytes for one in found.choices] == [4 * 800, 400]
    np.testing.assert_array_equal(found.model.get_layer("fragile").kernel, kernel)
    assert found.loss < 1e-3
    small = made.within(len(found.file) - 1000, joint=2)
    assert small.choices[0].chosen == "int8" and small.loss > 100 * found.loss


def test_kernels_of_one_name_are_stored_as_the_choices_say():
    """A recipe goes by names: both layers called dense are rounded, or none."""

    def part(name):
        x = keras.Input((64,))
        return keras.Model(x, keras.layers.Dense(64, name="dense")(x), name=name)

    x = keras.Input((64,))
    model = keras.Model(x, part("b")(part("a")(x)))
    made = plan.Plan.of(model, (RANDOM.normal(size=(64, 64)).astype("float32"), None))
    assert made.names == ["dense"]
    for kernels, one in zip((8 * 64 * 64, 2 * 64 * 64), made.choices[0], strict=True):
        assert kernels == one.bytes < len(made.built((one,))[2]) < kernels + 6000


def test_what_cannot_be_converted_is_refused_before_the_work(monkeypatch):
    monkeypatch.setattr(plan, "measured", None)  # is not reached
    x = keras.Input((4, 4))
    model = keras.Model(x, keras.layers.Lambda(tf.linalg.inv)(x))
    with pytest.raises(ValueError, match="`model` must use only operators that TFLite has"):
        search.compact(model, "9KiB", data=(np.ones((2, 4, 4)), None), verbose=False)


def test_a_length_for_a_model_that_leaves_it_open(monkeypatch):
    few_settings.try_every(24, monkeypatch)
    tokens = keras.Input((None,), dtype="int32")
    vectors = keras.layers.Embedding(V, 16, name="words")(tokens)
    model = keras.Model(tokens, keras.layers.GlobalAveragePooling1D()(vectors))
    options = dict(data=(ids(), None), joint=1, verbose=False)
    found = search.compact(model, "5KiB", sequence_length=LENGTH, **options)
    assert len(found.file) <= 5 * 1024  # 6 of int8
    (port,) = tf.lite.Interpreter(model_content=found.file).get_input_details()
    assert port["shape"].tolist() == port["shape_signature"].tolist() == [1, LENGTH]


def test_combinations_are_the_pareto_front_of_all():
    several = [
        [Candidate("", None, int(b), float(c)) for b, c in RANDOM.integers(1, 50, (5, 2))]
        for _ in range(3)
    ]
    every = [(sum(c.bytes for c in p), sum(c.loss for c in p)) for p in itertools.product(*several)]
    front = {a for a in every if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in every)}
    found = [(sum(c.bytes for c in p), sum(c.loss for c in p)) for p in combinations(several)]
    assert found == sorted(front)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(budget="much"), "`budget` must be"),
        (dict(data=np.ones(3)), "`data` must be a pair"),
        (dict(data=([ids() + V] * 2, None)), "`data` must be what the model takes"),
        (dict(joint=0), "`joint` must be"),
        (dict(samples=0), "`samples` must be"),
        (dict(seed=2**32), "`seed` must be"),
        (
            dict(
                model=keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]),
                data=(np.ones((4, 3)), None),
            ),
            "`model` must be a model with tables or kernels worth rounding",
        ),
    ],
)
def test_refuses(change, message):
    given = {
        "model": two_inputs(),
        "budget": 9000,
        "data": (ids(), None),
        "verbose": False,
        **change,
    }
    with pytest.raises(ValueError, match=message):
        search.compact(**given)


@pytest.mark.parametrize("weighted", [False, True])
def test_settings_of_every_compressor(weighted):
    model = next_word()
    table, head = parts.parts_of(model)
    counts = parts.counts_of(model, table, ids()) if weighted else None
    assert parts.counts_of(model, head, ids()) is None
    names = " ".join(parts.settings_of(table, 0, counts))
    for one in ("bits", "SVD", "PQ", "clusters", "KD", "k-SVD", "sparse code", "zeros"):
        assert one in names
    assert ("by frequency" in names) == weighted


@pytest.mark.parametrize("kind", [keras.layers.Embedding, keras.layers.ReversibleEmbedding])
def test_a_table_under_lora_is_a_part_with_what_was_trained(kind):
    layer = kind(40, 8)
    layer.build((None, 2))
    layer.enable_lora(2)
    layer.lora_embeddings_b.assign(np.random.default_rng(0).normal(size=(2, 8)))
    model = keras.Sequential([keras.Input((2,), dtype="int32"), layer])
    (part,) = parts.parts_of(model)
    ids = np.arange(40).reshape(20, 2)
    np.testing.assert_allclose(part.table[ids], layer(ids), atol=1e-6)
    for rows in (np.eye(40, 8), part.table):  # a candidate, then as before
        part.assign(rows)
        np.testing.assert_allclose(layer(ids), rows[ids], atol=1e-6)


def test_counts_are_those_of_the_first_call():
    model = two_inputs()
    shared, other = parts.parts_of(model)
    left, right = ids(), ids()
    for part, read in ((shared, left), (other, right)):
        counts = parts.counts_of(model, part, [left, right])
        np.testing.assert_array_equal(counts, 1 + np.bincount(read.ravel(), minlength=V))


def tagger():
    table = keras.layers.Embedding(V, 16, mask_zero=True, name="words")
    made = models.tagger(table, 5, units=8, hidden=8)
    return made, ids(64), RANDOM.integers(0, 5, (64, LENGTH))


def factorization():
    """Users and items, of which the answer is the product of the vectors."""
    user, item = (keras.Input((1,), dtype="int32", name=name) for name in ("user", "item"))
    left = keras.layers.Embedding(V, 8, name="users")(user)
    right = keras.layers.Embedding(200, 8, name="items")(item)
    out = keras.layers.Flatten()(keras.layers.Dot(axes=2)([left, right]))
    x = [RANDOM.integers(0, size, (256, 1)) for size in (V, 200)]
    return keras.Model([user, item], out), x, RANDOM.normal(size=(256, 1))


def mixed():
    """Mixed precision, whose file is float32."""
    with_policy = keras.layers.Embedding(V, 16, name="words", dtype="mixed_float16")
    tokens = keras.Input((LENGTH,), dtype="int32")
    pooled = keras.layers.GlobalAveragePooling1D(dtype="mixed_float16")(with_policy(tokens))
    head = keras.layers.Dense(3, activation="softmax", dtype="float32")
    return keras.Model(tokens, head(pooled)), ids(64), RANDOM.integers(0, 3, 64)


@pytest.mark.slow
@pytest.mark.parametrize("make", [tagger, factorization, mixed])
@pytest.mark.parametrize("epochs", [0, 1])
def test_other_models(make, epochs, every_fourth):
    model, x, y = make()
    loss = "mse" if make is factorization else "sparse_categorical_crossentropy"
    model.compile("adam", loss)
    whole = len(export.convert(model, "float32"))
    budget = int(0.6 * whole)
    found = search.compact(model, budget, (x, y), epochs=epochs, joint=2, verbose=False)
    assert len(found.file) <= budget
    assert found.loss < 1.05 * found.loss_before + 0.01
    assert found.report.examples == 32


def test_data_that_the_file_cannot_read_are_refused_before_the_work(monkeypatch):
    monkeypatch.setattr(plan, "measured", None)  # is not reached
    model, given = two_inputs(), {"left": ids(), "right": ids(), "zzz": ids()}
    with pytest.raises(ValueError, match="`data` must be arrays for the inputs"):
        search.compact(model, "9KiB", data=(given, None), verbose=False)
