"""Features together that seldom meet, each pair against a computation that is not the package's."""

import keras
import numpy as np

from kerascompact import export, layers, optimizers, training
from kerascompact.compress import ScalarQuantization, compress_model


def test_an_embedding_of_two_inputs_clipped_with_momentum():
    """Lazy SGD: the gradient of both inputs is one, clipped once, and moves the rows of either."""
    random = np.random.default_rng(0)
    inputs = [keras.Input((3,), dtype="int32", name=name) for name in "ab"]
    embedding = keras.layers.Embedding(10, 4)
    means = [keras.layers.GlobalAveragePooling1D()(embedding(ids)) for ids in inputs]
    model = keras.Model(inputs, keras.layers.Add()(means))
    sgd = optimizers.lazy(keras.optimizers.SGD(0.5, momentum=0.9, clipnorm=0.05))
    model.compile(sgd, "mse", run_eagerly=True)
    table = embedding.embeddings.numpy().astype(np.float64)
    velocity = np.zeros_like(table)
    for _ in range(4):
        ids, wanted = random.integers(0, 10, (2, 4, 3)), random.normal(size=(4, 4))
        residual = 2 * (table[ids].mean(axis=2).sum(axis=0) - wanted) / wanted.size
        gradient = np.zeros_like(table)
        np.add.at(gradient, ids, np.broadcast_to(residual[None, :, None] / 3, (2, 4, 3, 4)))
        gradient *= min(1, 0.05 / np.linalg.norm(gradient))
        met = np.unique(ids)
        velocity[met] = 0.9 * velocity[met] - 0.5 * gradient[met]
        table[met] += velocity[met]
        model.train_on_batch(list(ids), wanted)
    np.testing.assert_allclose(embedding.embeddings, table, rtol=0, atol=1e-6)  # float32 steps


def test_predefined_sparseness_with_lazy_momentum():
    """Blocks of rows move as the rows of a table whose other entries are held at zero."""
    random = np.random.default_rng(0)
    layer = layers.PredefinedSparseEmbedding(20, 8, density=0.5, bins=4)
    model = keras.Sequential([keras.Input((3,), dtype="int32"), layer])
    model.add(keras.layers.GlobalAveragePooling1D())
    sgd = optimizers.lazy(keras.optimizers.SGD(0.5, momentum=0.9))
    model.compile(sgd, "mse", run_eagerly=True)
    every = np.arange(20)
    table = np.asarray(layer(every), np.float64)
    exists, velocity = table != 0, np.zeros_like(table)
    for _ in range(4):
        ids, wanted = random.integers(0, 20, (4, 3)), random.normal(size=(4, 8))
        residual = 2 * (table[ids].mean(axis=1) - wanted) / wanted.size
        gradient = np.zeros_like(table)
        np.add.at(gradient, ids, np.broadcast_to(residual[:, None] / 3, (4, 3, 8)))
        met = np.unique(ids)
        velocity[met] = 0.9 * velocity[met] - 0.5 * (gradient * exists)[met]
        table[met] += velocity[met]
        model.train_on_batch(ids, wanted)
    np.testing.assert_allclose(layer(every), table, rtol=0, atol=1e-6)  # float32 steps


def test_a_sampled_softmax_beside_another_output():
    """The loss is the weighted sum, and of the words' logits only a sample is computed."""
    ids = keras.Input((6,), dtype="int32")
    vectors = keras.layers.Embedding(30, 8, embeddings_initializer="normal")(ids)
    mean = keras.layers.GlobalAveragePooling1D()(vectors)
    outputs = {"words": layers.WordLogits(30)(vectors), "class": keras.layers.Dense(3)(mean)}
    model = keras.Model(ids, outputs)
    batch = np.random.default_rng(0).integers(0, 30, (16, 6))
    labels = {"words": batch, "class": batch[:, 0] % 3}
    crossed = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    found = model(batch)
    expected = 0.5 * crossed(batch, found["words"]) + 2 * crossed(labels["class"], found["class"])

    def loss(number):
        words = training.SampledSoftmaxCrossEntropy(number, seed=1)
        losses, weights = {"words": words, "class": crossed}, {"words": 0.5, "class": 2.0}
        model.compile("sgd", losses, loss_weights=weights, run_eagerly=True)
        return float(model.compute_loss(batch, labels, model(batch, training=True)))

    # 50,000 draws: each of 30 words some 500 times or more, a standard error below 5 % of a word.
    np.testing.assert_allclose(loss(50_000), expected, rtol=3e-3)
    assert abs(loss(1) - expected) > 0.05


def test_adapters_of_keras_are_in_what_is_frozen_and_compressed():
    """LoRA: `freeze` and `compress_model` see the sum of a table and its adapter."""
    ids = keras.Input((5,), dtype="int32")
    one, other = (keras.layers.Embedding(20, 8, name=name) for name in ("one", "other"))
    mean = keras.layers.GlobalAveragePooling1D()(keras.layers.Add()([one(ids), other(ids)]))
    dense = keras.layers.Dense(3)
    model = keras.Model(ids, dense(mean))
    tables = [layer.embeddings.numpy() for layer in (one, other)]
    kernel, random = dense.kernel.numpy(), np.random.default_rng(0)
    for layer in (one, other, dense):
        layer.enable_lora(2)
        for weight in layer.trainable_weights:
            if "lora" in weight.name:
                weight.assign(random.normal(size=weight.shape))
    tables = [
        table + layer.lora_embeddings_a.numpy() @ layer.lora_embeddings_b.numpy()
        for table, layer in zip(tables, (one, other), strict=True)
    ]
    kernel = kernel + dense.lora_kernel_a.numpy() @ dense.lora_kernel_b.numpy()
    batch = random.integers(0, 20, (4, 5))
    expected = sum(table[batch].mean(axis=1) for table in tables) @ kernel
    np.testing.assert_allclose(
        export.freeze(model, "float32").model(batch), expected, rtol=0, atol=1e-5
    )
    # 8 bits of columns up to 8 long: steps of 0.06, in a mean of five times a kernel of some 3.
    small = compress_model(model, ScalarQuantization(8), layers=["one"])
    np.testing.assert_allclose(small(batch), expected, rtol=0, atol=0.2)


def test_pruned_entries_stay_zero_under_momentum_and_several_steps_a_call():
    random = np.random.default_rng(0)
    layer = keras.layers.Embedding(20, 8)
    model = keras.Sequential([keras.Input((5,), dtype="int32"), layer])
    model.add(keras.layers.GlobalAveragePooling1D())
    sgd = optimizers.lazy(keras.optimizers.SGD(0.1, momentum=0.9))
    model.compile(sgd, "mse", steps_per_execution=5, jit_compile=False)
    pruning = training.MagnitudePruning(lambda step: (step == 3, 0.5))
    ids, wanted = random.integers(0, 20, (40, 5)), random.normal(size=(40, 8))
    model.fit(ids, wanted, batch_size=4, epochs=2, verbose=0, callbacks=[pruning])
    assert np.mean(layer.embeddings.numpy() == 0) == 0.5


def test_tied_and_padded_tables_train_as_they_are_rounded():
    """`quantization_aware`, a tied softmax and a mask: what is trained is what is frozen."""
    ids = keras.Input((6,), dtype="int32")
    embedding = layers.LowRankEmbedding(40, 8, rank=4, mask_zero=True)
    hidden = keras.layers.SimpleRNN(8, return_sequences=True)(embedding(ids))
    model = keras.Model(ids, layers.tied_softmax(embedding, hidden, use_bias=True))
    batch = np.random.default_rng(0).integers(1, 40, (8, 6))
    batch[:, 4:] = 0
    aware = export.quantization_aware(model, "int4_tables")
    for weight in aware.trainable_weights:
        if "latent" in weight.name:  # as training would, by some tenths of a step
            weight.assign(weight + np.random.default_rng(1).normal(0, 0.003, weight.shape))
    before = export.freeze(model, "int4_tables").model(batch)
    assert np.abs(np.asarray(aware(batch)) - before).max() > 1e-4
    # integers times scales in both, in another order
    np.testing.assert_allclose(
        export.freeze(aware, "int4_tables").model(batch), aware(batch), atol=1e-6
    )
