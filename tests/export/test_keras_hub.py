"""Models of keras-hub: copied whole, compressed, quantized by Keras, and generating from a file.

One of each kind here; `benchmarks/tests/test_keras_hub.py` takes every text model of keras-hub.
"""

import functools

import keras
import numpy as np
import pytest

from export_models import file_of
from kerascompact import export
from kerascompact.compress import ProductQuantization, ScalarQuantization, compress_model
from kerascompact.core.storage import total_bits
from kerascompact.forms import AffineTableForm, DenseForm, ReversibleForm
from kerascompact.runtime import CausalLM
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.constants import constants
from kerascompact.tools.random_inputs import random_inputs
from kerascompact.tools.shrink import shrink

hub = pytest.importorskip("keras_hub", "0.32", reason="pip install 'kerascompact[hub]'").models
V, LENGTH, LONGEST = 90, 8, 8
SIZES = dict(vocabulary_size=V, num_layers=1, hidden_dim=16, intermediate_dim=32)
GROUPED = dict(num_query_heads=2, num_key_value_heads=1)
RANDOM = np.random.default_rng(0)


def made(kind, **options):
    keras.utils.set_random_seed(0)
    return getattr(hub, kind)(**SIZES, **options)


def llama():
    """Its layers' configurations fail, and its head is a table of its own."""
    return hub.LlamaCausalLM(made("LlamaBackbone", **GROUPED), None)


def gpt2():
    return hub.GPT2CausalLM(made("GPT2Backbone", num_heads=2, max_sequence_length=LONGEST), None)


def spread(lm):
    """Large weights, so that logits are far apart."""
    for weight in lm.weights:
        if len(weight.shape) > 1:
            weight.assign(keras.random.normal(weight.shape, stddev=0.3, seed=1))
    return lm


@functools.cache
def generating(make):
    """A language model and its file, which reads three tokens at once, converted once."""
    lm = spread(make())
    return lm, export.convert_causal_lm(lm, "float32", max_length=LONGEST, prefill_length=3)


def inputs(rows=3, **more):
    ids = RANDOM.integers(0, V, (rows, LENGTH)).astype("int32")
    return {"token_ids": ids, "padding_mask": (np.arange(LENGTH) < 6).astype("int32") + 0 * ids}


def test_a_copy_keeps_what_configurations_lack():
    model, x = llama(), inputs()
    frozen = export.freeze(model, "float32")
    assert type(frozen.model) is hub.LlamaCausalLM
    assert type(frozen.model.backbone.token_embedding) is ReversibleForm
    np.testing.assert_allclose(frozen.model(x), model(x), atol=1e-5)  # sums in another order
    with pytest.raises(ValueError, match="LlamaCausalLM with other layers inside cannot be saved"):
        frozen.model.get_config()


@pytest.mark.slow
def test_a_copy_without_a_configuration_in_a_file():
    frozen = export.freeze(llama(), "float32")
    report = frozen.verify(inputs(), file=frozen.convert(sequence_length=LENGTH))
    assert report.trained_file.largest < 1e-5  # float32 sums in another order


def opt_and_small():
    """A model whose table is inside a layer, and its compressed copy."""
    options = dict(num_heads=2, max_sequence_length=LONGEST)
    lm = spread(hub.OPTCausalLM(made("OPTBackbone", **options), None))
    small = compress_model(lm, ProductQuantization(4, 16))
    table = small.backbone.token_embedding(np.arange(V)).numpy()
    lm.backbone.token_embedding.embeddings.assign(table)
    return lm, small


def test_a_table_inside_a_layer_is_compressed():
    lm, small = opt_and_small()
    (form,) = {layer for layer in small.backbone.embeddings._layers if hasattr(layer, "storage")}
    assert total_bits(form.storage()) < 32 * V * 16 / 3
    assert small.backbone.token_embedding is form  # which reads and scores words
    x = inputs()
    np.testing.assert_allclose(small(x), lm(x), atol=1e-5)


@pytest.mark.slow
def test_a_compressed_model_still_generates():
    lm, small = opt_and_small()
    file = export.convert_causal_lm(small, "float32", max_length=LONGEST)
    assert CausalLM(file).generate([3, 4, 5]) == generated(lm, [3, 4, 5])


def narrow_and_wide(policy):
    """A model of 16 bits, and one of float32 with the same weights."""
    options = dict(num_heads=2, max_sequence_length=LONGEST, dtype=policy)
    lm = hub.OPTCausalLM(made("OPTBackbone", **options), None)
    wide = hub.OPTCausalLM(made("OPTBackbone", **{**options, "dtype": "float32"}), None)
    for weight, number in zip(wide.weights, lm.weights, strict=True):
        weight.assign(keras.ops.cast(number, "float32"))
    return lm, wide


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["bfloat16", "mixed_float16"])
def test_sixteen_bits_become_float32(policy):
    """Also weights that a layer adds as they are, and the cache."""
    lm, wide = narrow_and_wide(policy)
    frozen, x = export.freeze(lm, "float32").model, inputs()
    assert frozen.compute_dtype == "float32"
    np.testing.assert_allclose(frozen(x), wide(x), atol=1e-5)  # sums in another order
    _, cache = frozen._build_cache(keras.ops.convert_to_tensor(x["token_ids"]))
    assert cache.dtype == "float32"


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["bfloat16", "mixed_float16"])
def test_sixteen_bits_generate_in_float32(policy):
    lm, wide = narrow_and_wide(policy)
    reader = CausalLM(export.convert_causal_lm(lm, "float32", max_length=LONGEST))
    wanted = wide({"token_ids": np.array([[1, 2, 3]]), "padding_mask": np.ones((1, 3), "int32")})
    # float32 sums in another order
    np.testing.assert_allclose(reader.logits([1, 2, 3]), wanted[0], atol=1e-5)
    assert len(reader.generate([1, 2])) == LONGEST


@pytest.mark.slow  # seldom met, and of no layer of ours
def test_fourier_transforms_become_products():
    options = dict(max_sequence_length=LENGTH)
    model = made("FNetBackbone", **options)
    x = {"token_ids": inputs()["token_ids"], "segment_ids": np.ones((3, LENGTH), "int32")}
    frozen = export.freeze(model, "float32")
    file = frozen.convert(sequence_length=LENGTH)
    assert frozen.verify(x, file=file).trained_file.largest < 1e-5
    with pytest.raises(ValueError, match="`sequence_length` must be the length"):
        frozen.convert()


def test_an_input_may_be_a_constant():
    model = made("BertBackbone", num_heads=2, max_sequence_length=LENGTH)
    shorter = export.with_constants(model, {"padding_mask": 1, "segment_ids": 0})
    ids = inputs()["token_ids"]
    assert [one.name for one in shorter.inputs] == ["token_ids"]
    whole = {"token_ids": ids, "padding_mask": np.ones_like(ids), "segment_ids": 0 * ids}
    np.testing.assert_array_equal(
        shorter({"token_ids": ids})["pooled_output"], model(whole)["pooled_output"]
    )
    for wrong, said in (({"mask": 1}, "names of inputs"), (dict.fromkeys(whole, 1), "not for all")):
        with pytest.raises(ValueError, match=f"`numbers` must be .*{said}"):
            export.with_constants(model, wrong)


@pytest.mark.slow
def test_an_input_may_be_a_constant_in_a_file():
    model = made("BertBackbone", num_heads=2, max_sequence_length=LENGTH)
    shorter = export.with_constants(model, {"padding_mask": 1, "segment_ids": 0})
    file = export.freeze(shorter, "int8").convert(sequence_length=LENGTH)
    assert [*Interpreter(file).inputs] == ["token_ids"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_integers_of_keras_go_into_the_file_as_they_are(mode):
    model = made("BertBackbone", num_heads=2, max_sequence_length=LENGTH)
    model.quantize(mode)
    frozen = export.freeze(model, "float32")
    x = {**inputs(), "segment_ids": np.zeros((3, LENGTH), "int32")}
    file = frozen.convert(sequence_length=LENGTH)
    assert frozen.verify(x, file=file).trained_file.largest < 1e-5
    form = frozen.model.get_layer("token_embedding")
    assert type(form) is AffineTableForm and form.precision == mode
    table = np.asarray(model.get_layer("token_embedding").embeddings)
    np.testing.assert_array_equal(form.table.numpy()[:, : table.shape[1]], table)
    packed = table.astype(np.uint8)[:, ::2] & 15 | table.astype(np.uint8)[:, 1::2] << 4
    assert (table if mode == "int8" else packed).tobytes() in file


def generated(lm, prompt, length=LONGEST):
    """The greedy tokens of keras-hub."""
    lm.compile(sampler="greedy", run_eagerly=True)
    ids = np.zeros((1, length), "int32")
    ids[0, : len(prompt)] = prompt
    given = {"token_ids": ids, "padding_mask": np.arange(length)[None] < len(prompt)}
    return lm.generate(given, stop_token_ids=None)["token_ids"][0].tolist()


@pytest.mark.parametrize("make", [gpt2, pytest.param(llama, marks=pytest.mark.slow)])
def test_generates_what_keras_hub_generates(make):
    """Prompts that are read at once, and longer ones, whose end goes token by token."""
    lm, file = generating(make)
    reader = CausalLM(file)
    assert (reader.max_length, reader.vocabulary_size) == (LONGEST, V)
    whole = [*range(LONGEST)]
    assert reader.generate(whole) == whole
    for count in (1, LONGEST - 1):
        prompt = RANDOM.integers(1, V, count).tolist()
        assert reader.generate(prompt) == generated(lm, prompt)
    logits = reader.logits([5, 6, 7])
    whole = lm({"token_ids": np.array([[5, 6, 7]]), "padding_mask": np.ones((1, 3), "int32")})
    np.testing.assert_allclose(logits, whole[0], atol=1e-4)


def test_draws_and_stops():
    reader = CausalLM(generating(gpt2)[1])
    prompt = [5, 6, 7, 8]
    greedy = reader.generate(prompt, 4)
    assert greedy[:4] == prompt and len(greedy) == 8 and reader.tokens_per_second > 0
    stopped = reader.generate(prompt, stop=[greedy[5]])
    assert stopped[-1] == greedy[5] and len(stopped) <= 6
    assert reader.generate(prompt, 4, temperature=1.0, top_k=1, seed=0) == greedy
    drawn = [tuple(reader.generate(prompt, 4, temperature=3.0, seed=n)) for n in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1] and len({*drawn}) > 2
    for wrong, said in ((0, "at least one"), ([1] * 9, "1 to 8"), ([V], r"lie in \[0, 90\)")):
        with pytest.raises(ValueError, match=f"`ids` must .*{said}"):
            reader.generate(wrong)
    for wrong in (
        {"max_tokens": -1},
        {"temperature": -1},
        {"top_k": 0},
        {"stop": 5},
        {"stop": ["a"]},
        {"seed": -1},
    ):
        with pytest.raises(ValueError, match=f"`{[*wrong][0]}` must be"):
            reader.generate(prompt, **wrong)


@pytest.mark.slow
def test_generates_with_integers_whatever_is_read_at_once():
    lm, prompt = spread(gpt2()), [5, 6, 7, 8, 9]
    int8 = export.freeze(lm, "int8").model
    assert type(int8.backbone.token_embedding) is DenseForm
    expected = generated(int8, prompt)
    for length in (3, None):
        file = export.convert_causal_lm(lm, "int8", max_length=LONGEST, prefill_length=length)
        found = constants(flatbuffer.parse(file))
        positions = [one for one in found if one.shape[-2:] == (LONGEST, 16)]
        assert [one.dtype for one in positions] == ["int8"]  # one for both signatures
        assert CausalLM(file).generate(prompt) == expected


def test_a_file_that_generates_can_be_shrunk():
    """Random positions are within the cache, so that it runs."""
    file = generating(gpt2)[1]
    model = flatbuffer.parse(file)
    graph = next(s.subgraphIndex for s in model.signatureDefs if s.signatureKey == b"decode")
    drawn = random_inputs(model, 99, graph=graph)
    (positions,) = (array for name, array in drawn.items() if "position" in name)
    assert {*positions.ravel()} == {*range(LONGEST)}
    small = shrink(file).data
    assert len(small) < 0.7 * len(file)
    assert CausalLM(small).generate([5, 6, 7]) == CausalLM(file).generate([5, 6, 7])


def test_stored_once_for_both_signatures():
    found = constants(flatbuffer.parse(generating(gpt2)[1]))
    assert [one.num_bytes for one in found if V in one.shape] == [4 * V * 16]


def test_refuses_what_cannot_generate():
    with pytest.raises(ValueError, match="`lm` must be a causal language model"):
        export.convert_causal_lm(made("GPT2Backbone", num_heads=2), max_length=4)
    with pytest.raises(ValueError, match="`max_length` must be"):
        export.convert_causal_lm(gpt2(), max_length=LONGEST + 1)
    with pytest.raises(ValueError, match="`file` must be one of `export.convert_causal_lm`|no sig"):
        CausalLM(file_of("mean"))


def test_compresses_like_by_hand():
    lm, x = llama(), inputs()
    small = compress_model(lm, ScalarQuantization(8))
    for variable in ("embeddings", "reverse_embeddings"):
        weight = getattr(lm.backbone.token_embedding, variable)
        rows = np.asarray(weight) if variable == "embeddings" else np.asarray(weight).T
        rounded = ScalarQuantization(8).fit(rows)(np.arange(V)).numpy()
        weight.assign(rounded if variable == "embeddings" else rounded.T)
    np.testing.assert_allclose(small(x), lm(x), atol=1e-5)
