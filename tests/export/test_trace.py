"""Names of a file's inputs and outputs are those of the model."""

import keras
import numpy as np

from kerascompact import export
from kerascompact.runtime.interpreter import Interpreter


def test_inputs_keep_names_that_tensorflow_does_not_take():
    """Nor two that differ in case only; each input counts differently."""
    names = ["my-input", "a b", "ids:0", "1x", "_ids", "größe", "class", "self", "x", "X"]
    given = [keras.Input((2,), name=name) for name in names]
    parts = [(place + 1) * one for place, one in enumerate(given)]
    model = keras.Model(given, keras.layers.Activation("tanh", name="out-put")(sum(parts)))
    rng = np.random.default_rng(0)
    data = {name: rng.uniform(-0.1, 0.1, (8, 2)).astype(np.float32) for name in names}
    one = {name: array[:1] for name, array in data.items()}
    plain = export.convert({"a model": model}, "float32")
    integers = export.convert(model, "full_int8", representative=data)
    # float32 of another runtime; sums of ten rounded products in steps of 2 / 256
    for made, signature, atol in ((plain, "a model", 1e-6), (integers, None, 0.1)):
        file = Interpreter(made, signature=signature)
        assert {*file.inputs} == {*names} and [*file.outputs] == ["out-put"]
        expected = model([one[name] for name in names])
        np.testing.assert_allclose(file.run(one)["out-put"], expected, atol=atol)


def test_outputs_in_nested_dictionaries_are_verified():
    ids = keras.Input((4,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(9, 2, name="vectors")(ids)
    scores = keras.layers.Dense(3, name="scores")(vectors)
    model = keras.Model(ids, {"a": vectors, "b": {"c": scores}})
    file = export.convert(model, "float32")
    assert {*Interpreter(file).outputs} == {"vectors", "scores"}
    report = export.verify(model, file, np.array([[1, 2, 3, 0]], np.int32))
    assert report.largest_difference < 1e-6
