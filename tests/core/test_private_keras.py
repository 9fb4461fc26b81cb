"""Private Keras API: each name that we use does what we rely on, and no other module uses any."""

import ast
import functools
import importlib.util
import re
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops
from keras.src.backend.common import global_state

import kerascompact
from kerascompact.core import keras_graph

PACKAGE = Path(kerascompact.__file__).parent
HOME = Path(keras_graph.__file__).parent
WITHOUT_KERAS = {"passes", "runtime", "tflite", "tools"}  # the contract forbids it
# Attributes of our own that have the name of a private one somewhere in Keras.
OURS = {"_axes", "_initializer", "_kernel", "_moments", "_regularizer", "_reset"}


def graph():
    x = keras.Input((3,), name="x")
    y = keras.layers.Dense(4, name="hidden")(x)
    return keras.Model(x, keras.layers.Dense(2, name="last")(y))


def built(kind, **options):
    """An optimizer with slots for one variable, which has made a step."""
    optimizer, variable = kind(**options), keras.Variable(np.ones((2, 3), "float32"))
    optimizer.build([variable])
    optimizer.apply([keras.ops.ones((2, 3))], [variable])
    return optimizer, variable


def flatten_layers():
    inner = keras.Sequential([keras.layers.Dense(2, name="deep")], name="inner")
    model = keras.Sequential([inner], name="outer")

    def names(**options):
        return [layer.name for layer in model._flatten_layers(**options)]

    assert names() == ["outer", "inner", "deep"]
    assert names(include_self=False) == ["inner", "deep"]
    assert names(include_self=False, recursive=False) == ["inner"]


def own_variables():
    norm = keras.layers.BatchNormalization()
    norm.build((None, 3))
    outer = keras.layers.TimeDistributed(norm)
    assert [one.name for one in norm._trainable_variables] == ["gamma", "beta"]
    assert {"moving_mean", "moving_variance"} == {v.name for v in norm._non_trainable_variables}
    assert not outer._trainable_variables + outer._non_trainable_variables


def keras_mask():
    vectors = keras.layers.Embedding(9, 2, mask_zero=True)(np.array([[1, 0]]))
    assert np.asarray(vectors._keras_mask).tolist() == [[True, False]]


def functional():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    assert isinstance(model._functional, keras.Model)
    assert model._functional.layers[-1] is model.layers[-1]


def inputs_struct():
    inputs = {name: keras.Input((3,), name=name) for name in ("a", "b")}
    model = keras.Model(inputs, keras.layers.Add()([*inputs.values()]))
    assert sorted(model._inputs_struct) == ["a", "b"]


def nodes_by_depth():
    model = graph()
    nodes = [node for depth in model._nodes_by_depth.values() for node in depth]
    last = [node for node in nodes if node.operation is model.get_layer("last")]
    assert [tensor.shape for node in last for tensor in node.input_tensors] == [(None, 4)]


def run_through_graph():
    model, seen = graph(), []

    def call(layer, *args, **kwargs):
        seen.append(layer.name)
        return layer(*args, **kwargs)

    def copy(layer):
        return keras.layers.Dense(7, name="other") if layer.name == "last" else layer

    out = model._run_through_graph(keras.Input((3,)), operation_fn=copy, call_fn=call)
    assert out.shape == (None, 7) and seen == ["hidden", "other"]


def build_shapes_dict():
    class Two(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def call(self, x):
            return self.dense(x)

    model = Two()
    assert not model._build_shapes_dict
    model(np.ones((1, 3), "float32"))
    assert [tuple(shape) for shape in model._build_shapes_dict.values()] == [(1, 3)]


@functools.cache  # the test of two names
def validation_iterator():
    """Exists while `fit` evaluates, and `evaluate` takes the data from it."""
    found = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            assert self.model._eval_epoch_iterator is not None
            again = self.model.evaluate(verbose=0, return_dict=True, _use_cached_eval_dataset=True)
            found.append((again["loss"], logs["val_loss"]))

    model = graph()
    model.compile("sgd", "mse", run_eagerly=True)
    assert getattr(model, "_eval_epoch_iterator", None) is None
    x, y = np.ones((2, 3), "float32"), np.ones((2, 2), "float32")
    model.fit(x, y, validation_data=(2 * x, y), verbose=0, callbacks=[Look()])
    assert getattr(model, "_eval_epoch_iterator", None) is None
    np.testing.assert_allclose(*found[0], rtol=1e-6)


def hook(name, **options):
    """A step of Keras' SGD calls this method of its own, on variables or their gradients."""

    def check():
        seen = []

        def method(self, given):
            seen.append(given)
            return getattr(keras.optimizers.SGD, name)(self, given)

        built(type("Look", (keras.optimizers.SGD,), {name: method}), **options)
        assert seen

    return check


def slots(kind, name, **options):
    """The slot of each variable, of its shape, and moved by a step."""

    def check():
        optimizer, variable = built(kind, **options)
        (slot,) = getattr(optimizer, name)
        assert slot.shape == variable.shape and np.all(np.asarray(slot) != 0)

    return check


def trained_variables():
    optimizer, variable = built(keras.optimizers.SGD)
    (known,) = optimizer._trainable_variables
    assert known is variable
    assert keras.optimizers.SGD()._trainable_variables == []


def averages():
    optimizer, variable = built(keras.optimizers.SGD, use_ema=True, ema_momentum=0.5)
    (average,) = optimizer._model_variables_moving_average
    np.testing.assert_array_equal(average, variable)  # that of the first step


def decay_exclusions():
    optimizer, variable = keras.optimizers.AdamW(), keras.Variable([1.0], name="bias")
    optimizer.exclude_from_weight_decay([variable])
    assert optimizer._exclude_from_weight_decay == {optimizer._var_key(variable)}
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    assert optimizer._exclude_from_weight_decay_pattern.search(variable.path)


def batches_of_an_optimizer():
    optimizer, _ = built(keras.optimizers.SGD, gradient_accumulation_steps=4)
    assert (int(optimizer._iterations), int(optimizer.iterations)) == (1, 0)


def graph_network():
    tf_keras = pytest.importorskip("tf_keras")
    layer = tf_keras.layers.Dense(2)
    assert tf_keras.Sequential([tf_keras.Input((3,)), layer])._is_graph_network
    assert not tf_keras.Sequential([tf_keras.layers.Dense(2)])._is_graph_network


def gpu_kernel():
    tf_keras = pytest.importorskip("tf_keras")
    for kind in (tf_keras.layers.LSTM, tf_keras.layers.GRU):
        assert kind(2)._could_use_gpu_kernel is True


def masks_of_attention():
    """Each writes a number that a caller can change, or takes scores that it can change."""
    from keras.src.backend.tensorflow import nn

    x, allowed = keras.ops.zeros((1, 1, 2, 2)), np.array([True, False])
    lowest = nn._apply_masks(x, allowed, False)[0, 0, 0]
    assert np.asarray(lowest).tolist() == [0, np.asarray(nn._get_large_negative("float32"))]
    seen = []

    class Look(keras.layers.Attention):
        def _apply_scores(self, scores, value, scores_mask=None, training=False):
            seen.append(scores_mask)
            return super()._apply_scores(scores, value, scores_mask, training)

    Look()([x[0], x[0]], mask=[None, allowed[None]])
    assert np.asarray(seen[0]).ravel().tolist() == [True, False]


def functions_of_nn():
    """What `keras.ops` and the layers compute with, by these names at each call."""
    from keras.src.ops import nn

    x, known = keras.ops.ones((1, 2)), ("_normalize", "_layer_normalization", "_rms_normalization")
    layers = (keras.layers.UnitNormalization(), keras.layers.LayerNormalization())
    for layer, name in zip((*layers, keras.layers.RMSNormalization()), known, strict=True):
        own = getattr(nn, name)
        setattr(nn, name, lambda x, *args, **kwargs: 0 * x)
        try:
            assert not np.asarray(layer(x)).any()
        finally:
            setattr(nn, name, own)
        assert np.asarray(layer(x)).any() or name == "_layer_normalization"


def parts_of_a_variable():
    variable = keras.Variable(np.zeros((3, 2), "float32"))
    assert (tuple(variable._shape), variable._ndim, variable._dtype) == ((3, 2), 2, "float32")
    variable._value = None
    variable._initialize(np.ones((3, 2), "float32"))
    np.testing.assert_array_equal(variable._value, np.ones((3, 2)))


def tracker():
    """The lists of a layer are those of its tracker, which knows their members by id."""

    class Outer(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner, self.seed = keras.layers.Dense(2), keras.random.SeedGenerator(0)

    layer = Outer()
    stores = [store for _, store in layer._tracker.config.values()]
    for kept in (layer._layers, layer._metrics, layer._seed_generators):
        assert any(store is kept for store in stores)
    assert [layer.inner] == layer._layers and [layer.seed] == layer._seed_generators
    assert {id(layer.inner)} in layer._tracker.stored_ids.values()


def losses_of_a_call():
    """A call drops the losses of the layer that is called, and of those inside."""

    class Outer(keras.Layer):
        def call(self, x):
            context = global_state.get_global_attribute("current_call_ctx")
            assert context.entry_layer is self and not self._losses
            self.add_loss(ops.sum(x))
            return x

    layer = Outer()
    layer(ops.ones(2))
    layer(ops.ones(3))
    assert [float(loss) for loss in layer._losses] == [3.0]


def nodes_of_a_layer():
    layer = graph().get_layer("hidden")
    assert len(layer._inbound_nodes) == len(layer._outbound_nodes) == 1


def scales_of_a_kernel():
    layer = keras.layers.EinsumDense("abc,dec->abde", (None, 2, 4))
    layer.build((None, 5, 3))
    kernel = np.asarray(layer.kernel)
    layer.quantize("int8")
    scale = layer._adjust_scale_for_dequant(layer.kernel_scale)
    np.testing.assert_allclose(np.asarray(layer.kernel) / np.asarray(scale), kernel, atol=0.02)


def kernel_without_lora():
    layer = keras.layers.Dense(4)
    layer.build((None, 3))
    layer.quantize("int8")
    integers = np.asarray(layer.kernel)
    layer.enable_lora(2)
    layer.lora_kernel_b.assign(np.ones((2, 4)))
    np.testing.assert_array_equal(layer._kernel, integers)
    assert np.any(np.asarray(layer.kernel) != integers)


def both_variable_lists():
    own_variables()
    trained_variables()


adam, rms, adadelta = keras.optimizers.Adam, keras.optimizers.RMSprop, keras.optimizers.Adadelta
USES = {
    "_adjust_scale_for_dequant": scales_of_a_kernel,
    **dict.fromkeys(("_dtype", "_initialize", "_ndim", "_shape", "_value"), parts_of_a_variable),
    **dict.fromkeys(("_inbound_nodes", "_outbound_nodes"), nodes_of_a_layer),
    **dict.fromkeys(("_layers", "_metrics", "_seed_generators", "_tracker"), tracker),
    "_losses": losses_of_a_call,
    "_accumulated_delta_vars": slots(adadelta, "_accumulated_delta_vars"),
    "_accumulated_grads": slots(adadelta, "_accumulated_grads"),
    "_kernel": kernel_without_lora,
    "_accumulators": slots(keras.optimizers.Adagrad, "_accumulators"),
    "_all_reduce_sum_gradients": hook("_all_reduce_sum_gradients"),
    "_apply_weight_decay": hook("_apply_weight_decay"),
    "_average_gradients": slots(rms, "_average_gradients", centered=True),
    **dict.fromkeys(("_apply_masks", "_apply_scores", "_get_large_negative"), masks_of_attention),
    **dict.fromkeys(("_layer_normalization", "_normalize", "_rms_normalization"), functions_of_nn),
    "_build_shapes_dict": build_shapes_dict,
    "_clip_gradients": hook("_clip_gradients"),
    "_could_use_gpu_kernel": gpu_kernel,
    "_eval_epoch_iterator": validation_iterator,
    **dict.fromkeys(
        ("_exclude_from_weight_decay", "_exclude_from_weight_decay_pattern", "_var_key"),
        decay_exclusions,
    ),
    "_flatten_layers": flatten_layers,
    "_functional": functional,
    "_get_variable_index": hook("_get_variable_index", momentum=0.5),
    "_inputs_struct": inputs_struct,
    "_is_graph_network": graph_network,
    "_iterations": batches_of_an_optimizer,
    "_keras_history": lambda: graph().output._keras_history.operation.name == "last",
    "_keras_mask": keras_mask,
    "_model_variables_moving_average": averages,
    "_nodes_by_depth": nodes_by_depth,
    "_non_trainable_variables": own_variables,
    "_operations_by_depth": lambda: len(graph()._operations_by_depth) == 3,
    "_run_through_graph": run_through_graph,
    "_trainable_variables": both_variable_lists,
    "_u": slots(keras.optimizers.Adamax, "_u"),
    "_update_model_variables_moving_average": hook(
        "_update_model_variables_moving_average", use_ema=True
    ),
    "_use_cached_eval_dataset": validation_iterator,
    "_use_weight_decay": hook("_use_weight_decay", weight_decay=0.1),
    "_velocities": slots(adam, "_velocities"),
    "_velocity_hats": slots(adam, "_velocity_hats", amsgrad=True),
}


@pytest.mark.parametrize("name", sorted(USES))
def test_keras_still_has(name):
    assert USES[name]() in (None, True), f"Keras {keras.__version__} changed {name}"


@pytest.mark.parametrize("kind", [keras.optimizers.Nadam, rms])
def test_second_moments_of_other_optimizers(kind):
    slots(kind, "_velocities")()


def private(name):
    return isinstance(name, str) and re.fullmatch(r"_[a-z]\w*", name) is not None


def is_of_self(node):
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in ("self", "cls")


def names_used(path, mixins=False):
    """Private names of a module: of attributes, of overriding methods, in `getattr` and calls.

    A class without a base has no private names of Keras, unless it is a mixin.
    """
    found, tree = {}, ast.parse(path.read_text())
    classes = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
    plain = [one for one in classes if not one.bases and not mixins]
    of_no_keras = {node for one in plain for node in ast.walk(one) if is_of_self(node)}
    for node in ast.walk(tree):
        names = []
        if node in of_no_keras:
            continue
        if isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.Constant):
            names = [node.value]
        elif isinstance(node, ast.keyword):
            names = [node.arg]
        elif isinstance(node, ast.ClassDef):
            names = [getattr(one, "name", getattr(one, "target", one)) for one in node.body]
            names = [name.id if isinstance(name, ast.Name) else name for name in names]
        found |= {name: getattr(node, "lineno", 0) for name in names if private(name)}
    return found


@functools.cache
def names_of_keras():
    """Private names of methods and attributes anywhere in Keras, and those of tf_keras in `USES`.

    They are read from the sources, since an attribute may be made in any method.
    """
    folder = Path(importlib.util.find_spec("keras").origin).parent / "src"
    pattern = re.compile(
        r"(?:^    def |\b(?:self|obj)\.|(?:attr\(\w+, |pop\()\")(_[a-z]\w*)", re.MULTILINE
    )
    found = {"_is_graph_network", "_could_use_gpu_kernel"}
    found |= {"_apply_masks", "_get_large_negative"}  # functions of a module
    found |= {"_layer_normalization", "_normalize", "_rms_normalization"}
    for path in folder.rglob("*.py"):
        if not path.name.endswith("_test.py"):
            found |= set(pattern.findall(path.read_text(encoding="utf-8")))
    return found


def test_every_private_name_has_its_use_above():
    used = set().union(*(names_used(path, mixins=True) for path in HOME.glob("*.py")))
    of_python = {"_fields"}  # of a named tuple
    # tf_keras' names are no names of Keras
    assert used & (names_of_keras() | set(USES)) - of_python == set(USES)


def test_no_other_module_uses_private_keras_api():
    known = names_of_keras()
    assert set(USES) <= known  # the scan knows what it looks for
    paths = [*PACKAGE.rglob("*.py"), *(PACKAGE / "export").resolve().rglob("*.py")]
    found = [
        f"{path}:{line}: {name}"
        for path in paths
        if HOME not in path.parents and path.parent.name not in WITHOUT_KERAS
        # parsing takes long: only what has such a name somewhere
        if not (known - OURS).isdisjoint(re.findall(r"\b_[a-z]\w*", path.read_text()))
        for name, line in names_used(path).items()
        if name in known - OURS
    ]
    assert not found, "use or add a function of kerascompact.core.keras_graph"
