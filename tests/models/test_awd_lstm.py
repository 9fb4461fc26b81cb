import keras
import numpy as np
import pytest

from kerascompact import export, layers
from kerascompact.layers.recurrent.equal_parameters import SparseSize
from kerascompact.models import awd_lstm
from kerascompact.models.awd_lstm import AWD_PTB, NO_DROPOUTS, sparse_sizes
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text.stream import stateful_batches
from kerascompact.training import NTASGD, Perplexity, ResetStates, SparseSoftmaxCrossEntropy

V = 11
SIZES = sparse_sizes((4, 6), 6, 12)


def embedding(width=6):
    return layers.LowRankEmbedding(V, width, rank=4, name="embedding")


def model(sizes=SIZES, **options):
    keras.utils.set_random_seed(0)
    return awd_lstm(embedding(), V, 12, sizes=sizes, **options)


def test_the_published_sizes():
    """24 M parameters, dense or with 1725 units in place of 1150 (section 3.2, table 4)."""
    dims = (400, 1150, 1150, 400)
    pairs = list(zip(dims, dims[1:], strict=False))
    dense = 10_000 * 400 + 10_000 + sum(4 * o * (i + o + 1) for i, o in pairs)
    # the paper's 24.22 M has two biases of an LSTM, Keras one
    assert round((dense + 4 * (1150 + 1150 + 400)) / 1e6, 2) == 24.22
    sizes = sparse_sizes((400, 1150), 400, 1725)
    assert sizes[1][:2] == (1725, 3) and round(sizes[1].gamma, 3) == 0.555
    for size, (i, o) in zip(sizes, pairs, strict=True):
        assert abs(size.parameters / (4 * o * (i + o + 1)) - 1) < 0.002
    # table 4: half the width and the units, or half the parameters in wide sparse layers
    half = 10_000 * 200 + 10_000 + sum(s.parameters for s in sparse_sizes((200, 575), 200, 1150))
    assert round((half + 4 * (575 + 575 + 200)) / 1e6, 2) == 7.07
    third = 10_000 * 133 + 10_000 + sum(s.parameters for s in sparse_sizes((133, 383), 133, 1150))
    # windows are rounded to whole inputs
    assert third + 4 * (383 + 383 + 133) == pytest.approx(3.59e6, rel=0.003)
    assert AWD_PTB.dropouts == (0.1, 0.4, 0.25, 0.4, 0.5) and AWD_PTB.rate == 30


@pytest.mark.parametrize("sizes", [None, SIZES])
def test_layers_are_those_of_the_sizes(sizes):
    lm = model(sizes)
    found = [layer.count_params() for layer in lm.layers if layer.name.startswith("lstm")]
    dims = (6, 12, 12, 6)
    dense = [4 * o * (i + o + 1) for i, o in zip(dims, dims[1:], strict=False)]
    assert found == (dense if sizes is None else [size.parameters for size in sizes])
    assert lm.count_params() == sum(found) + V * 4 + 4 * 6 + V  # rows, their matrix, biases


def test_one_segment_over_a_share_of_the_inputs():
    """A size that only `SparseLSTM` has: one segment, and a `gamma` below 1."""
    size = SparseSize(6, 1, 0.5, 4 * 6 * (3 + 6 + 1), 0)
    lm = model([size])
    sparse = lm.get_layer("lstm_0")
    assert isinstance(sparse, layers.SparseLSTM) and sparse.count_params() == size.parameters
    dense = keras.layers.LSTM(6, return_sequences=True)
    vectors = lm.get_layer("embedding")(np.array([[1, 5, 2]]))
    dense.build((None, None, 3))
    dense.set_weights(sparse.get_weights())
    np.testing.assert_array_equal(sparse(vectors), dense(vectors[..., :3]))


@pytest.mark.few(1)
@pytest.mark.parametrize("sizes", [None, SIZES])
def test_reads_a_text_as_if_it_came_at_once(sizes):
    once, cut = model(sizes), model(sizes, batch_size=1)
    cut.set_weights(once.get_weights())
    kinds = [type(one).__name__ for one in once.layers]
    assert ("SparseLSTM" in kinds) == (sizes is not None)
    ids = np.random.default_rng(0).integers(0, V, 7)
    pieces = [cut(x)[0] for x, _ in stateful_batches(np.append(ids, 0), 1, 3)]
    np.testing.assert_allclose(np.concatenate(pieces), once(ids[None])[0], atol=1e-6)


@pytest.mark.slow
def test_trains_by_the_recipe_and_steps_on_a_phone():
    ids = np.tile(np.array([1, 5, 2, 7, 3]), 41)
    lm = model(batch_size=4, dropouts=AWD_PTB.dropouts._replace(weights=0.1, inputs=0.1))
    optimizer = keras.optimizers.SGD(
        3.0, global_clipnorm=AWD_PTB.clip, weight_decay=AWD_PTB.weight_decay
    )
    lm.compile(optimizer, SparseSoftmaxCrossEntropy(), metrics=[Perplexity()], jit_compile=False)
    batches = stateful_batches(ids, 4, 5)
    callbacks = [NTASGD(from_start=True), ResetStates()]
    fit = lm.fit(
        batches, epochs=3, validation_data=batches, callbacks=callbacks, shuffle=False, verbose=0
    )
    perplexity = fit.history["val_perplexity"]
    assert perplexity[-1] < perplexity[0] < 12
    # the loss of training has the penalties; that of dev is the cross entropy
    np.testing.assert_allclose(np.exp(fit.history["val_loss"]), perplexity, rtol=1e-3)
    for layer in lm.layers:
        if getattr(layer, "stateful", False):
            layer.reset_state()
    expected = lm(np.tile(ids[:6], (4, 1)))[0]
    file = Interpreter(export.convert(export.with_states(lm), "float32"))
    states = {
        name: np.zeros(facts["shape"], np.float32)
        for name, facts in file.inputs.items()
        if name != "ids"
    }
    for time in range(6):
        outputs = file.run({**states, "ids": ids[None, time : time + 1].astype(np.int32)})
        # float32 logits of a few units, through three layers of another runtime
        np.testing.assert_allclose(outputs.pop("logits")[0, 0], expected[time], atol=1e-4)
        states = outputs


def test_untied_and_plain():
    lm = awd_lstm(
        keras.layers.Embedding(V, 6),
        V,
        8,
        tied=False,
        dropouts=NO_DROPOUTS,
        activation_weight=0,
        change_weight=0,
    )
    assert [type(one).__name__ for one in lm.layers] == [
        "InputLayer",
        "Embedding",
        *["WeightDropLSTM"] * 3,
        "Dense",
    ]


def test_rejects_sizes():
    with pytest.raises(ValueError, match="`sizes` must be layers of which the last has 6 units"):
        model(sparse_sizes((4, 6), 5, 12))
    with pytest.raises(ValueError, match="`units` must be an integer >= 1"):
        awd_lstm(embedding(), V, 0)
