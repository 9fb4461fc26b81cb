"""Every `>>>` example runs, and the docstrings of public names are complete."""

import doctest
import importlib
import inspect
import pkgutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import few_settings
import kerascompact
from docstring_parts import lacks
from kerascompact.core import checks

NAMES = {"np": np, "tf": tf, "keras": keras, "kerascompact": kerascompact}
MODULES = [
    "kerascompact",
    *(module.name for module in pkgutil.walk_packages(kerascompact.__path__, "kerascompact.")),
]
# Their examples search, train or convert for 0.15 CPU seconds and more; shorter tests of the same
# calls are in the folders of these rooms. Each room and sub-package has others that are run.
SLOW = (
    "compress.clusters",
    "compress.compositional",
    "compress.k_svd",
    "compress.kd_codes",
    "compress.models",
    "compress.nearest_anchors",
    "compress.product_codes",
    "export.converter",
    "export.freezing",
    "export.generation",
    "export.saving",
    "export.states",
    "export.traced_operators",
    "export.verification.examples",
    "export.verification.report",
    "export.verification.verifier",
    "forms.sparse_table",
    "keras_graph.copies",
    "keras_graph.kinds",
    "keras_graph.wiring",
    "layers.embeddings.dpq",
    "layers.embeddings.group_lasso",
    "layers.embeddings.plain",
    "layers.embeddings.projection",
    "layers.embeddings.tensor_train",
    "layers.recurrent.sparse_gru",
    "layers.recurrent.sparse_lstm",
    "layers.recurrent.weight_drop",
    "layers.text_to_pieces",
    "models.awd_lstm",
    "models.bit_input",
    "models.fit_projection",
    "models.projection_lstm",
    "models.skip_gram",
    "ops.code_autoencoder",
    "ops.cross_entropy",
    "ops.projection",
    "optimizers.lazy",
    "runtime.causal_lm",
    "runtime.classifier",
    "runtime.interpreter",
    "runtime.tagger",
    "search.compact",
    "search.parts",
    "search.plan",
    "search.sizes",
    "search.text_classifier",
    "search.tuning",
    "text.augment_steps",
    "text.bit_pipeline",
    "text.character_map",
    "text.perturb_step",
    "text.stream",
    "tflite.checksum",
    "tflite.constants",
    "tflite.metadata",
    "tflite.smallest",
    "tools.bench",
    "tools.differences",
    "tools.doctor",
    "tools.float_constants",
    "tools.id_counts",
    "tools.inspector",
    "tools.random_inputs",
    "tools.shrink",
    "tools.treemap",
    "training.code_statistics",
    "training.distiller",
    "training.losses",
    "training.metrics",
    "training.noise_contrastive",
    "training.soft",
    "training.weight_averages",
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * name.endswith(SLOW))
        for name in MODULES
        if not name.endswith("__main__")
    ],
)
def test_examples(name, tmp_path, monkeypatch):
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)  # an example may write files
    monkeypatch.setattr("kerascompact.search.training.LEAST", 500)  # or it would train for long
    few_settings.try_every(8, monkeypatch)  # an example of `compact` would try all
    # doctest would look for changes of all files whose lines are cached, before each docstring.
    monkeypatch.setattr("linecache.checkcache", lambda *args: None)
    failed, _ = doctest.testmod(module, extraglobs=NAMES)
    assert failed == 0, "the examples that failed are in the captured output"


def public_names():
    """Classes and functions that a room exports, by their names."""
    found = {}
    for room in dir(kerascompact):
        if room[0] == "_":
            continue
        module = importlib.import_module(f"kerascompact.{room}")
        own = [name for name, value in vars(module).items() if is_own(name, value, module)]
        for name in getattr(module, "__all__", own):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{room}.{name}"] = value
    return found


def is_own(name, value, module):
    return name[0] != "_" and getattr(value, "__module__", None) == module.__name__


def test_docstrings_of_public_names_are_full():
    """At least 95 % of them describe every argument, the result, the errors, and show a call."""
    names = public_names()
    missing = {name: lacking for name, value in names.items() if (lacking := lacks(value))}
    assert len(names) > 100
    assert len(missing) <= 0.05 * len(names), missing


def test_finds_what_a_docstring_lacks():
    def vague(size: int, seed: int, scale: float) -> int:
        """Rounds.

        Args:
            size: Number of bits.
            seed: Of the noise.
            scale: Largest number
                that is kept.
        """
        return checks.integer_in("size", size, 1)

    vague.__module__ = "kerascompact.ops"
    assert lacks(vague) == ["seed", "Returns", "Raises", "Example"]

    class Undescribed(keras.layers.Layer):
        """Doubles.

        Shapes: any -> the same.
        >>> Undescribed()
        """

        def __init__(self, factor=2):
            super().__init__()

    Undescribed.__init__.__module__ = "kerascompact.layers"
    assert lacks(Undescribed) == ["factor", "Reference"]
