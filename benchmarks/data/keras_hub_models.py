"""Small models of keras-hub with random weights: every text backbone, and tasks over them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import numpy as np

from kerascompact.core.extras import require

VOCABULARY, WIDTH, LAYERS, HEADS, LENGTH = 1000, 64, 2, 4, 32
SIZES = {
    "vocabulary_size": VOCABULARY,
    "num_layers": LAYERS,
    "hidden_dim": WIDTH,
    "intermediate_dim": 2 * WIDTH,
}
PLAIN = {**SIZES, "num_heads": HEADS}
POSITIONS = {**PLAIN, "max_sequence_length": 2 * LENGTH}
GROUPED = {**SIZES, "num_query_heads": HEADS, "num_key_value_heads": 2}
GEMMA = {**GROUPED, "head_dim": 16, "use_post_ffw_norm": True, "use_post_attention_norm": True}
SLIDING = {"use_sliding_window_attention": True, "sliding_window_size": 8}
SMOL_LM = {
    "num_attention_heads": HEADS,
    "num_key_value_heads": 2,
    "attention_bias": False,
    "attention_dropout": 0.0,
    "rope_layer_enabled_list": [True, False],
    "layer_types": ["full_attention"] * LAYERS,
    "mlp_bias": False,
    "layer_norm_epsilon": 1e-5,
    "max_position_embeddings": 2 * LENGTH,
    "rope_theta": 10000.0,
    "partial_rotary_factor": 1.0,
}
ELECTRA = {key: value for key, value in POSITIONS.items() if key != "vocabulary_size"}
BACKBONES: dict[str, dict[str, Any]] = {
    "Albert": {**POSITIONS, "embedding_dim": 32},
    "Bart": POSITIONS,
    "Bert": POSITIONS,
    "Bloom": PLAIN,
    "DebertaV3": {**POSITIONS, "bucket_size": 16},
    "DistilBert": POSITIONS,
    "Electra": {**ELECTRA, "vocab_size": VOCABULARY, "embedding_dim": 32},
    "Falcon": {**SIZES, "num_attention_heads": HEADS},
    "FNet": {key: value for key, value in POSITIONS.items() if key != "num_heads"},
    "GPT2": POSITIONS,
    "GPTNeoX": POSITIONS,
    "Gemma": GEMMA,
    "Gemma3": {**GEMMA, **SLIDING, "image_size": None},
    "Llama": GROUPED,
    "Llama3": GROUPED,
    "Mistral": GROUPED,
    "OPT": POSITIONS,
    "Phi3": GROUPED,
    "Qwen": GROUPED,
    "Qwen3": {**GROUPED, "head_dim": 16},
    "Roberta": POSITIONS,
    "RoformerV2": {**PLAIN, "head_size": 16},
    "SmolLM3": {**SIZES, **SMOL_LM},
    "T5": PLAIN,
    "XLMRoberta": POSITIONS,
    "XLNet": PLAIN,
}
CLASSIFIERS = ("Albert", "Bert", "DebertaV3", "DistilBert", "FNet", "Roberta", "XLMRoberta")
MASKED = ("Albert", "Bert", "DebertaV3", "DistilBert", "FNet", "Roberta", "XLMRoberta")
EMBEDDERS = ("Bert", "Gemma3", "Qwen3", "XLMRoberta")
LANGUAGE = (
    "Bloom",
    "Falcon",
    "GPT2",
    "GPTNeoX",
    "Gemma",
    "Gemma3",
    "Llama",
    "Llama3",
    "Mistral",
    "OPT",
    "Phi3",
    "Qwen",
    "Qwen3",
    "SmolLM3",
)
TASKS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "TextClassifier": (CLASSIFIERS, {"num_classes": 3}),
    "MaskedLM": (MASKED, {}),
    "TextEmbedder": (EMBEDDERS, {}),
    "CausalLM": (LANGUAGE, {"preprocessor": None}),
}


def backbone(name: str, seed: int = 0, **options: Any) -> keras.Model:
    """A backbone by the name of its class, without "Backbone"."""
    hub = require("keras_hub", "hub").models
    keras.utils.set_random_seed(seed)
    return getattr(hub, f"{name}Backbone")(**{**BACKBONES[name], **options})


def task(name: str, kind: str, options: dict[str, Any]) -> keras.Model:
    """A task over a backbone, by the name of its class in two parts."""
    hub = require("keras_hub", "hub").models
    return getattr(hub, f"{name}{kind}")(backbone=backbone(name), **options)


def models() -> dict[str, Callable[[], keras.Model]]:
    """What builds each backbone and task, by its name."""
    found: dict[str, Callable[[], keras.Model]] = {}
    for name in BACKBONES:
        found[f"{name}Backbone"] = partial(backbone, name)
    for kind, (names, options) in TASKS.items():
        for name in names:
            found[f"{name}{kind}"] = partial(task, name, kind, options)
    return found


def as_if_trained(model: keras.Model, seed: int = 0) -> keras.Model:
    """Adds random numbers to all weights, so that no two of them are equal.

    In a new model gains are 1, shifts and biases 0, and kernels of one shape often equal, since
    they share an initializer with its seed: a file would be smaller than that of a trained model,
    and one that lost a gain, or took the keys' kernel for the values', would answer as Keras does.
    """
    random = np.random.default_rng(seed)
    for weight in model.weights:
        values = keras.ops.convert_to_numpy(weight)
        if np.issubdtype(values.dtype, np.floating) and values.size:
            size = 0.2 if np.ptp(values) == 0 else float(np.std(values))
            weight.assign(values + random.normal(0, size, values.shape))
    return model


def inputs_of(model: keras.Model, batch: int = 1, seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs of a model, of which the last examples end in padding."""
    random = np.random.default_rng(seed)
    made = {}
    for name, tensor in model.input.items():
        shape = [batch, *(LENGTH if size is None else size for size in tensor.shape[1:])]
        highest = 2
        if "token_ids" in name:
            highest = VOCABULARY
        elif name == "mask_positions":
            highest = LENGTH
        made[name] = random.integers(0, highest, shape).astype("int32")
        if "padding_mask" in name:
            ends = random.integers(LENGTH // 2, LENGTH, batch)
            made[name] = (np.arange(LENGTH) < ends[:, None]).astype("int32")
    return made
