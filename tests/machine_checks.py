"""What each of several processes does that train one model; `machines.py` starts them.

`python machine_checks.py CHECK ARGUMENTS...` calls a function, which prints JSON as its last line.
A check trains under the strategy, then alone on entire batches, and compares.
"""

import json
import os
import signal
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from kerascompact.training import MultiWorkerStrategy

# Graphs are run a few times.
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
STRATEGY = MultiWorkerStrategy()  # before anything else of TensorFlow
ALONE = tf.distribute.get_strategy()
CHIEF = STRATEGY.cluster_resolver.task_id in (None, 0)
sys.path.insert(0, str(Path(__file__).parent))

from kerascompact import layers, training  # noqa: E402
from kerascompact.optimizers import Proximal, lazy  # noqa: E402
from kerascompact.optimizers.lazy import ELEMENTWISE  # noqa: E402
from proximal_steps import IDS, LABELS, Rows  # noqa: E402

K = keras.optimizers
WEIGHTS = np.random.default_rng(4).uniform(0.5, 2, len(IDS)).astype(np.float32)


def tables(optimizers, default=None):
    """A model with a table for each optimizer, `{name: (optimizer, rule)}`, and its optimizer."""
    keras.utils.set_random_seed(3)
    ids = keras.Input((5,), dtype="int32")
    parts = [
        keras.layers.GlobalAveragePooling1D()(Rows(rule, 0.2, name=name)(ids))
        for name, (_, rule) in optimizers.items()
    ]
    hidden = keras.layers.Concatenate()(parts) if len(parts) > 1 else parts[0]
    model = keras.Model(ids, keras.layers.Dense(1)(hidden))
    chosen = {f"{name}/.*": one for name, (one, _) in optimizers.items() if one is not None}
    return model, K.MultiOptimizer(K.OptimizerMap(default or lazy("sgd"), chosen))


def fit(strategy, make, loss=lambda: "mse", metrics=list, callbacks=list, data=None, **compiled):
    with strategy.scope():
        model, optimizer = make()
        compiled = {"jit_compile": False, "metrics": metrics(), **compiled}
        model.compile(optimizer, loss(), **compiled)
    x, y, options = data or (IDS, LABELS, {})
    options = dict(batch_size=12, epochs=2, shuffle=False, verbose=0) | options
    history = model.fit(x, y, callbacks=callbacks(), **options).history
    return model, {name: values[-1] for name, values in history.items()}


def differences(together, alone):
    """The largest difference of each weight, by path."""
    pairs = zip(together.weights, alone.weights, strict=True)
    return {a.path: float(np.abs(a.numpy() - b.numpy()).max()) for a, b in pairs}


def compared(make, **options):
    (two, logs), (one, expected) = (fit(s, make, **options) for s in (STRATEGY, ALONE))
    for name, value in expected.items():
        np.testing.assert_allclose(logs[name], value, rtol=1e-4, err_msg=name)
    return max(differences(two, one).values()), two, one


def fails(make, **options):
    """The message of the error that `fit` raises."""
    try:
        fit(STRATEGY, make, **options)
    except ValueError as error:
        return str(error)
    return ""


def core(folder):
    """Adam, Proximal and a clipped SGD; metrics, sample weights, evaluate, predict, a file."""

    def make():
        return tables(
            {
                "adam": (lazy(K.Adam(0.05)), None),
                "proximal": (Proximal(K.Adam(0.05)), "l1"),
                "clipped": (lazy(K.SGD(0.5, global_clipnorm=0.01)), None),
            }
        )

    found, two, one = compared(
        make,
        data=(IDS, LABELS, {"sample_weight": WEIGHTS, "validation_data": (IDS[:7], LABELS[:7])}),
        metrics=lambda: ["mae"],
        weighted_metrics=["mse"],
    )
    x, y = IDS[:43], LABELS[:43]  # batches of 12, 12, 12 and 7
    np.testing.assert_allclose(*(m.evaluate(x, y, 12, verbose=0) for m in (two, one)), rtol=1e-5)
    predicted = [m.predict(x, 12, verbose=0) for m in (two, one)]
    np.testing.assert_allclose(*predicted, atol=1e-5)
    if CHIEF:  # no other process is asked for anything
        two.save(path := Path(folder) / "model.keras")
        loaded = keras.models.load_model(path).predict(IDS, verbose=0)
        np.testing.assert_allclose(loaded, one.predict(IDS, verbose=0), atol=1e-5)
    zeros = float(np.mean(one.get_layer("proximal").table.numpy() == 0))
    return {"difference": found, "zeros": zeros, "replicas": STRATEGY.num_replicas_in_sync}


def optimizers():
    """Every lazy optimizer and every proximal one, each on a table of its own."""

    def make():
        chosen = {}
        for kind in ELEMENTWISE:
            rate = 0.001 if kind is K.Lion else 0.05
            chosen[f"lazy_{kind.__name__}"] = lazy(kind(rate)), None
            if kind is not K.Ftrl:
                chosen[f"proximal_{kind.__name__}"] = Proximal(kind(rate)), "free"
        chosen["adaptive"] = Proximal(K.Adam(0.05), "adaptive"), "l1"
        chosen["group"] = Proximal(K.SGD(0.1, momentum=0.9)), "group"
        for name, options in {
            "norm": {"clipnorm": 0.01},
            "value": {"clipvalue": 0.001},
            "average": {"use_ema": True},
            "scaled": {"loss_scale_factor": 8.0},
            "decay": {"weight_decay": 0.1},
        }.items():
            chosen[name] = lazy(K.Adam(0.05, **options)), None
        chosen["averaged"] = Proximal(K.Adam(0.05, use_ema=True)), "l1"
        return tables(chosen)

    return {"difference": compared(make)[0]}


def words():
    """Tied and sampled softmax, and the perplexity."""
    ids = np.arange(60).reshape(12, 5) % 9
    found = {}

    def model_of(embedding, head):
        def make():
            keras.utils.set_random_seed(3)
            table = embedding()
            x = keras.Input((5,), dtype="int32")
            hidden = keras.layers.Dense(4)(table(x))
            logits = table(hidden, reverse=True) if head is None else head()(hidden)
            return keras.Model(x, logits), Proximal(K.Adam(0.05))

        return make

    def sampled():
        return training.SampledSoftmaxCrossEntropy(4, seed=1)

    cluster = compact("ClusterAdjustmentEmbedding", **CLUSTERS)
    head = lambda: layers.WordLogits(9)  # noqa: E731
    perplexity = lambda: [training.Perplexity()]  # noqa: E731
    for name, embedding, last, loss, metrics in [
        ("tied", compact("LowRankEmbedding", rank=2), None, FULL, perplexity),
        ("tied and sampled", cluster, None, sampled, list),
        ("sampled", compact("QuantizedEmbedding"), head, sampled, list),
        ("keras", lambda: keras.layers.Embedding(9, 4), head, FULL, list),
    ]:
        data = ids, (ids + 1) % 9, {"batch_size": 4}
        make = model_of(embedding, last)
        found[name] = compared(make, loss=loss, data=data, metrics=metrics)[0]
    return found


FULL = training.SparseSoftmaxCrossEntropy
CLUSTERS = dict(num_clusters=3, noise_scale=0.0, adjustment_dim=2)


def compact(name, words=9, width=4, **options):
    return lambda: getattr(layers, name)(words, width, **options)


def means(makers):
    """A model of the mean vectors of several embeddings."""

    def make():
        keras.utils.set_random_seed(3)
        ids = keras.Input((5,), dtype="int32")
        parts = [keras.layers.GlobalAveragePooling1D()(make()(ids)) for make in makers]
        hidden = keras.layers.Concatenate()(parts)
        return keras.Model(ids, keras.layers.Dense(1)(hidden)), Proximal(K.Adam(0.05))

    return make


def state():
    """Layers that keep something of each batch, and callbacks that read and write weights."""
    exact = means(
        [
            compact("QuantizedEmbedding", bits=4, scale="table"),
            compact("AnchorTransformEmbedding", num_anchors=3, l1_weight=0.05),
            compact(
                "SparseAnchorEmbedding",
                num_anchors=3,
                entries=2,
                l1_weight=0.05,
                regrow_rows=0,
                seed=0,
            ),
            compact("HashEmbedding", num_buckets=4, num_frequent=3),
            compact("GroupLassoEmbedding", group_lasso_weight=0.05),
            lambda: keras.layers.Embedding(9, 4),
        ]
    )

    def callbacks():
        pruning = training.MagnitudePruning(lambda step: (step % 3 == 0, 0.3))
        return [training.CatchUp(), pruning, training.NTASGD("loss", from_start=True, baseline=9.0)]

    found = {"exact": compared(exact, callbacks=callbacks)[0]}
    # A sum over the batch is the same however it is divided: 43 rows end in a batch of 7.
    uneven, loss = (IDS[:43], LABELS[:43], {}), lambda: keras.losses.MeanSquaredError("sum")
    models = [fit(one, exact, data=uneven, loss=loss)[0] for one in (STRATEGY, ALONE)]
    found["uneven"] = max(differences(*models).values())

    drawn = means(
        [
            compact("VariationalVocabularyEmbedding", kl_weight=1e-3),
            compact("SparseVariationalEmbedding", kl_weight=1e-3),
            compact("DPQEmbedding", cardinality=4, code_length=2),
            compact("KDCodeEmbedding", cardinality=4, code_length=2, logits_batch_norm=True),
            compact("ClusterEmbedding", num_clusters=3),
        ]
    )

    def annealed():
        falling = training.GeometricDecay(1.0, 0.5, steps=8)
        return [training.NoiseAnnealing(falling), training.CodeStatistics()]

    two, one = (fit(s, drawn, callbacks=annealed)[0] for s in (STRATEGY, ALONE))
    counts = {p: d for p, d in differences(two, one).items() if p.endswith(("paid", "steps"))}
    found["charges"], found["counted"] = max(counts.values()), len(counts)
    # Noise and the statistics of a batch are those of each part, but all processes agree.
    sums = {weight.path: float(np.sum(weight.numpy(), dtype=np.float64)) for weight in two.weights}
    return found | {"sums": sums}


class Kill(keras.callbacks.Callback):
    """Kills this process after a step, or at the end of an epoch (step -1)."""

    def __init__(self, epoch, step):
        super().__init__()
        self.epoch, self.step, self.now = epoch, step, 0

    def on_epoch_begin(self, epoch, logs=None):
        self.now = epoch

    def on_train_batch_end(self, batch, logs=None):
        if (self.now, batch) == (self.epoch, self.step):
            os.kill(os.getpid(), signal.SIGKILL)

    def on_epoch_end(self, epoch, logs=None):
        if (epoch, -1) == (self.epoch, self.step):
            os.kill(os.getpid(), signal.SIGKILL)


def resume(folder, victim=-1, epoch=-1, step=-1):
    """Trains for four epochs with a backup, until process `victim` is killed, if any is."""
    victim, epoch, step = int(victim), int(epoch), int(step)
    backup = training.Backup(folder, STRATEGY)
    with STRATEGY.scope():
        keras.utils.set_random_seed(3)
        ids = keras.Input((5,), dtype="int32")
        vectors = layers.AnchorTransformEmbedding(9, 4, num_anchors=3, l1_weight=0.05)(ids)
        drawn = keras.layers.Dropout(0.5)(layers.ClusterEmbedding(9, 4, num_clusters=3)(ids))
        hidden = keras.layers.Flatten()(keras.layers.Add()([vectors, drawn]))
        model = keras.Model(ids, layers.WordLogits(9)(keras.layers.Dense(4)(hidden)))
        loss = training.SampledSoftmaxCrossEntropy(4, seed=1)
        model.compile(Proximal(K.Adam(0.05)), loss, jit_compile=False)
    rows = tf.data.Dataset.from_tensor_slices((IDS, IDS[:, 0]))
    order = lambda epoch: rows.shuffle(48, seed=epoch, reshuffle_each_iteration=False)  # noqa: E731
    data = tf.data.Dataset.range(backup.epoch, 4).flat_map(order).batch(12)
    kill = [Kill(epoch, step)] if STRATEGY.cluster_resolver.task_id == victim else []
    begin = backup.epoch
    options = dict(epochs=4, initial_epoch=begin, steps_per_epoch=4, verbose=0)
    model.fit(data, callbacks=[*kill, backup], **options)
    weights = [weight.numpy().tolist() for weight in model.weights + model.optimizer.variables]
    return {
        "begin": begin,
        "weights": weights,
        "iterations": int(model.optimizer.iterations.numpy()),
    }


def refused():
    """Messages for what cannot work."""
    said = {}
    for name, options in {
        "gradient_accumulation_steps": {"gradient_accumulation_steps": 2},
        "ema_overwrite_frequency": {"use_ema": True, "ema_overwrite_frequency": 2},
    }.items():
        said[name] = fails(lambda options=options: tables({"one": (lazy(K.Adam(**options)), None)}))
    for name, value in {"jit_compile": True, "steps_per_execution": 2}.items():
        said[name] = fails(lambda: tables({"one": (lazy("sgd"), None)}), **{name: value})
    metric = training.Perplexity()
    said["outside"] = fails(lambda: tables({"one": (lazy("sgd"), None)}), metrics=lambda: [metric])
    try:
        with STRATEGY.scope():
            layers.KDCodeEmbedding(9, 4, 4, 3, logits_dtype="bfloat16").build()
    except ValueError as error:
        said["logits_dtype"] = str(error)
    scaled = lambda: (tables({"one": (None, None)})[0], K.LossScaleOptimizer(lazy("sgd")))  # noqa: E731
    said["LossScaleOptimizer"] = fails(scaled)
    return said | {"instead": [instead("mixed_bfloat16"), instead("mixed_float16")]}


def instead(policy):
    """The largest difference from one device in mixed precision, without a `LossScaleOptimizer`."""
    keras.config.set_dtype_policy(policy)
    scaled = lambda: lazy(K.Adam(0.05, loss_scale_factor=8.0))  # noqa: E731
    make = lambda: tables({"one": (scaled(), None)})  # noqa: E731
    two, one = (fit(each, make, auto_scale_loss=False)[0] for each in (STRATEGY, ALONE))
    found = max(differences(two, one).values())
    keras.config.set_dtype_policy("float32")
    return found


def main():
    check, *arguments = sys.argv[1:]
    print(json.dumps(globals()[check](*arguments)), flush=True)


if __name__ == "__main__":
    main()
