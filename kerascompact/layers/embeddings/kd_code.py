"""KD code embeddings: a word is D letters of an alphabet of K, and letters have vectors."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import code_bits
from kerascompact.forms.base import Form
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.composition import CodeComposition
from kerascompact.layers.embeddings.fixed_codes import (
    OF_LOGITS,
    codes_at_start,
    fixed_codes,
    refuse_options_of_logits,
)
from kerascompact.layers.embeddings.kd_start import KDStart, check_composition, kd_start
from kerascompact.layers.embeddings.starts import divided, given, logits_for
from kerascompact.layers.row_normalization import RowBatchNormalization
from kerascompact.ops.codes import code_entropy, relaxed_one_hot
from kerascompact.ops.unique import occurrences, unique_ids
from kerascompact.optimizers.guard import BFloat16Guard
from kerascompact.optimizers.replicas import check_bfloat16_strategy

CHUNK = 8192  # ids at a time where every word's code is read; (8192, D, K) logits


@register
class KDCodeEmbedding(CompactEmbedding):
    """Looks up a word's code of `D` letters and composes the word's vector from theirs.

    `E[i] = f(W^1[c_i^1], ..., W^D[c_i^D])` with `c_i^j = argmax_k pi_i^jk`: code logits `pi: (V, D,
    K)`, codebooks `W: (D, K, d')`. `f` adds the code vectors, averages them, or runs an LSTM over
    them, and may end in a hidden layer, `v = H sum_j W^j[c_i^j] + b`. In training a letter is
    chosen by a softmax with temperature and a straight-through gradient: forward the one-hot code
    that ships, backward `softmax(pi / tau)`. A step computes codes for the unique ids of the batch
    only. A frozen layer (`trainable = False`) is called in training as in inference.

    Args:
        input_dim: Vocabulary size `V` (the paper's `N`), in tokens.
        output_dim: Embedding width `d`.
        cardinality: Number of letters of the alphabet `K`, 2 to 65,536.
        code_length: Number of letters of a code `D`.
        hidden_dim: Width `d'` of the code vectors before a hidden layer; `None`: no hidden
            layer, and `d' = d`.
        composition: "sum", "mean" or "lstm".
        shared_codebook: Whether one codebook `(K, d')` serves all positions.
        codes: `None` learns them. An integer array `(V, D)` fixes them (characters of the word,
            pre-trained codes); "random" draws them from `seed`; "fixed": they are loaded later.
            Such codes have no logits, and arguments about logits raise: `temperature`,
            `straight_through`, `inference`, `entropy_weight`, `logits_batch_norm`, `logit_scale`,
            `logits_initializer`, `logits_dtype`, and guidance with `logits_weight`.
        temperature: Temperature `tau > 0`. With `straight_through` it changes the gradient and the
            entropy, not the codes. A weight, so that `training.TemperatureAnnealing` can change it.
        straight_through: `False` trains with the relaxed codes themselves.
        inference: "hard" (what ships) or "soft" (relaxed codes, to report the gap).
        entropy_weight: Weight of the mean entropy of the relaxed codes (nats) in the loss. Above 0
            it sharpens the codes, as an alternative to a falling temperature.
        logits_batch_norm: Whether to normalize the logits over words and positions, for each `k`,
            which keeps the softmax soft.
        batch_norm: Whether to normalize the composed vector, and the output of `H`; in the form
            normalization is folded into codebooks and `H`.
        guidance: `OnlineGuidance`, `PretrainedGuidance` or `None`; each layer has its own.
        logit_scale: Factor of the stored logits that gives `pi`. Adam moves a
            stored logit by its learning rate; aim at a scale times learning rate of about 0.01.
        logits_initializer: Initializer of `pi`. Default: U(-0.05, 0.05). In 15 epochs of CLINC150
            (K = 16, D = 8, `LazyAdam(0.01)`; test, three seeds) `CommonCode(16, 1.0)` with
            `batch_norm=True` and `logit_scale=1` gave 0.862, the defaults 0.848.
        logits_dtype: "float32", or "bfloat16" for half the bytes of the stored logits and of the
            optimizer's moments of them; what is computed of them is float32. It needs an optimizer
            that `optimizers.lazy` makes, such as `LazyAdam`. On CPU, Keras then does not compile
            by XLA, which has no bfloat16 there and would convert entire tables at each step.
        seed: Seed of random codes.
        **kwargs: `embeddings_initializer` and `embeddings_regularizer` (of the codebooks),
            `weights` (the start is that of `compress.KDCodes`), `mask_zero` (padding is then left
            out of batch normalization, entropy and guidance) and those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `V D ceil(log2 K) + 32 (K D d' + C)` bits, `C` the other parameters of `f`. Training
        holds `32 V D K` bits of logits: 41 MB for 10,000 words at K = D = 32, 1.1 GB for 268,000,
        and as much for each moment of the optimizer; `16 V D K` in bfloat16. For so many words
        take `DPQEmbedding`, with `32 V d` bits: at d = 128 and with Adam's moments 0.4 GB in place
        of 3.3, or 1.7 in bfloat16.
    Raises: ValueError, if a size is out of range, codes do not fit `V`, `D` and `K`, or an argument
        does not apply to codes that are given.
    Example:
    >>> layer = KDCodeEmbedding(10_000, 16, cardinality=32, code_length=8)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 16])
    >>> sum(array.total_bits for array in layer.to_form().storage())  # V 8 * 5 + 32 * 32 * 8 * 16
    531072

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 2 and 3.
    Differs: the paper's text has no batch normalization and its code no option to leave it out.
        Logits in bfloat16 are ours: their gradient is rounded to the nearest number, and logits and
        moments, after a step in float32, to a neighbour at random, without bias.
    """

    EXAMPLE = dict(input_dim=20, output_dim=4, cardinality=4, code_length=3)
    UNCONSTRAINED = "its vectors are composed of several code vectors"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        cardinality: int,
        code_length: int,
        *,
        hidden_dim: int | None = None,
        composition: str = "sum",
        shared_codebook: bool = False,
        codes: Any = None,
        temperature: float = 1.0,
        straight_through: bool = True,
        inference: str = "hard",
        entropy_weight: float = 0.0,
        logits_batch_norm: bool = False,
        batch_norm: bool = False,
        guidance: Any = None,
        logit_scale: float = 10.0,
        logits_initializer: Any = None,
        logits_dtype: str = "float32",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**16)
        self.code_length = checks.integer_in("code_length", code_length, 1)
        self.seed = None if seed is None else checks.integer_in("seed", seed, 0)
        self.learned = codes is None
        self.given = codes
        if codes is not None:
            shape = (self.input_dim, self.code_length)
            self.given = fixed_codes(codes, shape, self.cardinality)
        self.temperature = checks.number("temperature", temperature, above=0)
        self.straight_through = checks.boolean("straight_through", straight_through)
        self.inference = checks.choice("inference", inference, ("hard", "soft"))
        self.entropy_weight = checks.number("entropy_weight", entropy_weight, at_least=0)
        self.logits_batch_norm = checks.boolean("logits_batch_norm", logits_batch_norm)
        self.logit_scale = checks.number("logit_scale", logit_scale, above=0)
        self.logits_dtype = checks.choice("logits_dtype", logits_dtype, ("float32", "bfloat16"))
        if self.logits_dtype == "bfloat16" and not tf.config.list_physical_devices("GPU"):
            self.supports_jit = False
        start = logits_initializer
        if start is None:
            start = keras.initializers.RandomUniform(-0.05, 0.05)
        self.logits_initializer = keras.initializers.get(start)
        if isinstance(guidance, dict):  # read back from a file
            guidance = keras.saving.deserialize_keras_object(guidance)
        if guidance is not None and not hasattr(guidance, "guide"):
            checks.fail("guidance", "an OnlineGuidance, a PretrainedGuidance or None", guidance)
        self.guidance = guidance
        if not self.learned:
            options = {name: getattr(self, name) for name in OF_LOGITS}
            options["logits_initializer"] = logits_initializer
            refuse_options_of_logits(guidance, options)
        self.composition = CodeComposition(
            self.output_dim,
            self.cardinality,
            self.code_length,
            hidden_dim=hidden_dim,
            composition=composition,
            shared_codebook=shared_codebook,
            batch_norm=batch_norm,
            codebooks_initializer=self.embeddings_initializer,
            codebooks_regularizer=self.embeddings_regularizer,
            trainable=self.trainable,
            name="composition",
        )
        if self.start_table is not None:
            check_composition(composition, shared_codebook, codes)
        self.logits_norm = None
        if self.logits_batch_norm:
            self.logits_norm = RowBatchNormalization(trainable=self.trainable, name="logits_norm")

    def build(self, input_shape: Any = None) -> None:
        draw: Any = self.logits_initializer.clone()
        table, shape = self.take_start(), (self.input_dim, self.code_length)
        codes = codes_at_start(self.given, shape, self.cardinality, self.seed)
        if table is not None:
            found = self._begin(table, codes)
            draw = given(self.temperature * logits_for(found.codes, self.cardinality))
        if codes is None:
            if self.logits_dtype == "bfloat16":
                check_bfloat16_strategy("logits_dtype")
            self.logits = self.add_weight(
                # A row per id: its gradient is rows, and an optimizer can update these alone.
                shape=(self.input_dim, self.code_length * self.cardinality),
                initializer=divided(draw, self.logit_scale),
                dtype=self.logits_dtype,
                autocast=False,
                name="logits",
            )
            if self.logits_dtype == "bfloat16":
                self.logits.constraint = BFloat16Guard(self.logits.path)
            self.current_temperature = self.add_annealed("temperature", self.temperature)
        else:
            self.fixed_codes = self.add_weight(
                shape=shape,
                initializer=given(codes),
                dtype="int32",
                trainable=False,
                autocast=False,
                name="codes",
            )
            if isinstance(self.given, np.ndarray):
                self.given = "fixed"  # from now on the weight holds them
        self.composition.build()
        if self.logits_norm is not None:
            self.logits_norm.build((None, self.code_length, self.cardinality))
        if self.guidance is not None:
            self.guidance.attach(self)

    def _begin(self, table: np.ndarray, codes: np.ndarray | None) -> KDStart:
        """Finds the codes of a table, and sets the initial codebooks of the composition."""
        part = self.composition
        found = kd_start(
            table,
            self.cardinality,
            self.code_length,
            hidden_dim=part.hidden_dim,
            mean=part.composition == "mean",
            codes=codes,
            seed=self.seed or 0,
        )
        part.begin(found)
        return found

    def logits_of(self, ids: tf.Tensor) -> tf.Tensor:
        """Code logits `pi` `(n, D, K)` of ids `(n,)`, before their normalization."""
        rows = self.logit_scale * tf.cast(tf.gather(self.logits.value, ids), tf.float32)
        return tf.reshape(rows, [-1, self.code_length, self.cardinality])

    def compose(
        self,
        logits: tf.Tensor,
        counts: tf.Tensor,
        training: bool,
        track: bool = True,
        inverse: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Vectors `(n, d)` of logits, and the relaxed codes `(n, D, K)`."""
        if self.logits_norm is not None:
            logits = self.logits_norm(logits, counts, training=training, track=track)
        hard = self.straight_through if training else self.inference == "hard"
        one_hot, soft = relaxed_one_hot(logits, self.current_temperature.value, hard)
        options = {"training": training, "track": track, "inverse": inverse}
        return self.composition(one_hot, counts, **options), soft

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        training = bool(training) and self.trainable  # frozen: the vectors that ship
        unique, inverse = unique_ids(ids, self.input_dim)
        counts = occurrences(unique, inverse, self.mask_zero)
        logits = None
        if self.learned:
            logits = self.logits_of(unique)
            vectors, soft = self.compose(logits, counts, training, inverse=inverse)
            if training and self.entropy_weight:
                self.add_loss(self.entropy_weight * code_entropy(soft, counts))
        else:
            one_hot = tf.one_hot(tf.gather(self.fixed_codes.value, unique), self.cardinality)
            vectors = self.composition(one_hot, counts, training=training, inverse=inverse)
        tokens = tf.gather(vectors, inverse)
        if training and self.guidance is not None:
            loss, own = self.guidance.guide(self, unique, vectors, counts, logits=logits)
            self.add_loss(loss)
            if own is not None:
                tokens = self.guidance.choose(tf.gather(own, inverse), tokens)
        return tokens

    def output_rows(self, ids: tf.Tensor) -> tf.Tensor:
        counts = tf.ones_like(ids, tf.float32)
        if self.learned:
            return self.compose(self.logits_of(ids), counts, training=False)[0]
        one_hot = tf.one_hot(tf.gather(self.fixed_codes.value, ids), self.cardinality)
        return self.composition(one_hot, counts, training=False)

    def codes(self) -> np.ndarray:
        """The code of every word: `argmax_k pi_ijk`, `(V, D)` int32 in `[0, K)`."""
        self.check_built()
        if not self.learned:
            return self.fixed_codes.numpy()
        codes = []
        for start in range(0, self.input_dim, CHUNK):  # never (V, D, K) twice in memory
            logits = self.logits_of(tf.range(start, min(start + CHUNK, self.input_dim)))
            checks.finite("logits", logits.numpy())
            if self.logits_norm is not None:
                logits = self.logits_norm(logits, training=False)
            codes.append(tf.argmax(logits, axis=-1, output_type=tf.int32).numpy())
        return np.concatenate(codes)

    def to_form(self) -> Form:
        self.check_built()
        return self.composition.to_form(self.codes(), **self.form_config())

    def paper_bits(self) -> int:
        codes = self.input_dim * self.code_length * code_bits(self.cardinality)
        return codes + 32 * self.composition.num_parameters()

    def get_config(self) -> dict[str, Any]:
        serialize = keras.saving.serialize_keras_object
        config = {
            **super().get_config(),
            "cardinality": self.cardinality,
            "code_length": self.code_length,
            "hidden_dim": self.composition.hidden_dim,
            "composition": self.composition.composition,
            "shared_codebook": self.composition.shared_codebook,
            "codes": "fixed" if isinstance(self.given, np.ndarray) else self.given,
            "temperature": self.temperature,
            "straight_through": self.straight_through,
            "inference": self.inference,
            "entropy_weight": self.entropy_weight,
            "logits_batch_norm": self.logits_batch_norm,
            "batch_norm": self.composition.batch_norm,
            "guidance": None if self.guidance is None else serialize(self.guidance),
            "logit_scale": self.logit_scale,
            "logits_initializer": keras.initializers.serialize(self.logits_initializer),
            "logits_dtype": self.logits_dtype,
            "seed": self.seed,
        }
        return {key: config[key] for key in config if self.learned or key not in OF_LOGITS}
