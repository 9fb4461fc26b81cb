"""Models of keras-hub: a row of the benchmark, and keras-hub's own test on a broken file."""

import keras
import numpy as np
import pytest

from benchmarks.data import keras_hub_models as hub
from benchmarks.lib import hub_export_test
from benchmarks.product import keras_hub

pytest.importorskip("keras_hub", "0.32", reason="pip install 'kerascompact[hub]'")


def test_a_row():
    model = hub.as_if_trained(hub.models()["RobertaMaskedLM"]())
    row = {"spec": {"model": "RobertaMaskedLM"}, "passes": True, **keras_hub.by_us(model)}
    assert row["difference"] < 1e-5 and row["compressed_difference"] < 1e-5
    assert row["bytes"] > row["int8_bytes"] > row["compressed_bytes"]
    row["keras_open"] = row["keras_fixed"] = {"bytes": None, "error": "none"}
    assert keras_hub.table([row]).splitlines()[-1].startswith("| RobertaMaskedLM | none | none |")


def test_their_test_can_fail(monkeypatch):
    pytest.importorskip("grain", reason="keras-hub's own tests import it")
    model = hub.models()["BertTextClassifier"]()
    assert keras_hub.passes_their_test(model)
    save = hub_export_test.export.save

    def broken(model, path, **options):
        kept = [keras.ops.convert_to_numpy(weight) + 0 for weight in model.weights]
        for weight in model.weights:
            weight.assign(weight + 0.1)
        save(model, path, **options)
        for weight, before in zip(model.weights, kept, strict=True):
            weight.assign(before)

    monkeypatch.setattr(hub_export_test.export, "save", broken)
    assert not keras_hub.passes_their_test(model)


def test_models_have_all_inputs():
    for name in ("T5Backbone", "XLNetBackbone", "BertMaskedLM"):
        model = hub.models()[name]()
        inputs = hub.inputs_of(model, 2)
        assert set(inputs) == {tensor.name for tensor in model.inputs}
        outputs = keras.tree.flatten(model(inputs))
        assert all(np.all(np.isfinite(output)) for output in outputs)
