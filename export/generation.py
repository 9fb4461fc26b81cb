"""Files that generate text: one step of a causal language model, with its cache in and out."""

import inspect
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.export.converter import convert
from kerascompact.export.freezing import freeze
from kerascompact.export.recipe import Recipe
from kerascompact.runtime.causal_lm import CACHE, LOGITS, POSITION, TOKENS


def convert_causal_lm(
    lm: Any,
    recipe: str | Recipe = "int8",
    *,
    max_length: int,
    prefill_length: int | None = None,
    names: bool | None = None,
) -> bytes:
    """Converts a causal language model of keras-hub into one file that generates text.

    The file has two signatures, which share all weights and hand each other the cache of keys and
    values as tensors:

    - `prefill` reads the first `prefill_length` tokens at once and writes them into the cache;
    - `decode` reads one token, writes it into the cache, and gives the logits of the next token.

    Both take `token_ids` int32 `(1, n)` and `cache_000`, `cache_001`, ... float32, zeros at first;
    `decode` also takes `position` int32 `(1,)`, the place of its token. An app fills up a shorter
    prompt with any tokens: what is behind the text is written over before it is read.
    `runtime.CausalLM` runs the file without TensorFlow; its greedy tokens are those of
    `lm.generate`.

    Args:
        lm: Language model with `call_with_cache`, such as `keras_hub.models.Gemma3CausalLM`, also
            one whose tables `compress.compress_model` compressed.
        recipe: Name of a recipe or a `Recipe`, as in `convert`.
        max_length: Most tokens of a text, prompt and continuation. The cache takes memory for all
            of them when the file runs, none in the file.
        prefill_length: Tokens that `prefill` reads; those of a longer prompt that are left go
            through `decode`. It takes as much time for a short prompt. Default: `max_length`, as in
            `lm.generate`.
        names: Names of inner tensors, as in `convert`.

    Returns: The bytes of the file.

    Raises: ValueError, if the model has no cache, is not built, or `max_length` is more than it
        can read.

    Example:
    >>> from keras_hub.models import GPT2Backbone, GPT2CausalLM
    >>> backbone = GPT2Backbone(50, 1, 2, 8, 16, max_sequence_length=9)
    >>> file = convert_causal_lm(GPT2CausalLM(backbone, None), max_length=8)
    >>> kerascompact.runtime.CausalLM(file).max_length
    8
    """
    if not isinstance(lm, keras.Model) or not hasattr(lm, "call_with_cache"):
        checks.fail("lm", "a causal language model with `call_with_cache`", lm)
    longest = getattr(getattr(lm, "backbone", None), "max_sequence_length", None)
    max_length = checks.integer_in("max_length", max_length, 1, longest)
    count = max_length if prefill_length is None else prefill_length
    count = checks.integer_in("prefill_length", count, 1, max_length)
    frozen = freeze(lm, recipe)
    cache = _cache_of(frozen.model, max_length)
    steps, inputs = {}, {}
    for name, tokens in (("prefill", count), ("decode", 1)):
        step = _Step(frozen.model, cache, name=name)
        given = {TOKENS: keras.Input((tokens,), dtype="int32")}
        if name == "decode":
            given[POSITION] = keras.Input((), dtype="int32")
        for place, one in enumerate(keras.tree.flatten(cache)):
            given[CACHE.format(place)] = keras.Input(one.shape[1:], dtype="float32")
        step({key: np.zeros((1, *one.shape[1:]), one.dtype) for key, one in given.items()})
        steps[name], inputs[name] = step, given
    return convert(steps, frozen.recipe, inputs=inputs, names=names)


class _Step(keras.Model):
    """One call of a language model on some tokens, with its cache in and out."""

    def __init__(self, lm: Any, cache: Any, **config: Any) -> None:
        super().__init__(**config)
        self.lm, self.cache = lm, cache

    def call(self, inputs: dict[str, Any]) -> dict[str, Any]:
        count = len(keras.tree.flatten(self.cache))
        flat = [inputs[CACHE.format(place)] for place in range(count)]
        cache = keras.tree.pack_sequence_as(self.cache, flat)
        # a tensor in either case: a layer of SmolLM3 computes with it as with one
        start = inputs[POSITION][0] if POSITION in inputs else tf.constant(0)
        logits, _, cache = self.lm.call_with_cache(inputs[TOKENS], cache, start)
        found = {CACHE.format(i): one for i, one in enumerate(keras.tree.flatten(cache))}
        return found | ({LOGITS: logits[:, -1]} if POSITION in inputs else {})


def _cache_of(lm: Any, max_length: int) -> Any:
    """Shapes and types of the cache of a text, nested as the model has it."""
    build = lm._build_cache
    given = {"token_ids": tf.TensorSpec((1, max_length), tf.int32)}
    others = [name for name in inspect.signature(build).parameters if name not in given]

    def cache_of(token_ids: tf.Tensor) -> Any:
        rest = dict.fromkeys(others)
        if "padding_mask" in rest:
            rest["padding_mask"] = tf.ones_like(token_ids, tf.bool)
        return build(token_ids, **rest)[-1]

    function = tf.function(cache_of, autograph=False)
    cache = function.get_concrete_function(**given).structured_outputs
    for one in keras.tree.flatten(cache):
        if one.shape.rank < 4 or one.shape[0] != 1 or one.shape[-3] != max_length:
            expected = "a model whose cache has the shape (1, ..., max_length, heads, width)"
            checks.fail("lm", expected, f"a cache of shape {one.shape}")
    return cache
