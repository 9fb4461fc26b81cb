"""Skip-gram with negative sampling around any embedding: word vectors from plain text."""

import math
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.ops import cosine
from kerascompact.ops.negative_sampling import (
    draw_noise,
    negative_sampling_loss,
    shared_noise_loss,
)
from kerascompact.ops.random_bits import random_bits
from kerascompact.ops.replicas import replicas
from kerascompact.ops.unique import occurrences, row_numbers, unique_ids
from kerascompact.ops.xla import compiles_with_xla
from kerascompact.text.skip_gram import noise_probabilities


class _Batch(NamedTuple):
    """The different words of a batch: vectors `(u, d)`, and how many pairs each has `(u,)`.

    XLA may have rows of zeros behind them, of words with no pair.
    """

    vectors: tf.Tensor
    times: tf.Tensor


@register
class SkipGram(keras.Model):
    """Trains an embedding to distinguish words near a word from noise words.

    `fit` takes words as `x` and a context of each as `y`, or batches of
    `text.skip_gram_batches.SkipGramBatches`. The loss of a pair is

    `-log sigma(v'(w_c)^T v(w_t)) - sum_{i=1}^k log sigma(-v'(w_i)^T v(w_t))`,  `w_i ~ U^{3/4}`,

    `v` the embedding and `v'` a table of `num_words` vectors that is used in training only. On top
    of the mean over the batch comes the cosine loss, `lambda / 2 m` times the mean square of the
    cosines of all pairs of words in the batch, which keeps directions apart.

    A batch's different words are each computed once, however many pairs they have.

    Args:
        embedding: Any layer with an `output_dim`, from ids to vectors, such as
            `keras.layers.Embedding` (the vanilla skip-gram), or from bits, such as
            `ProjectionEmbedding`, with `bits`. Use it elsewhere afterwards, frozen or not.
        num_words: Number of words `V` that can be a context.
        counts: How often each word occurs, `(V,)`, for the noise. `None`: all equally often.
        negatives: Number of noise words per pair, `k`.
        shared_noise: With a number `S`, all pairs of a batch share `S` draws, each weighted by
            `k / S`: the loss has the same expectation, and a step makes two products of matrices
            instead of `k` lookups for each pair. `None`: every pair has its own draws, as in the
            paper.
        shift: Whether `log k` is taken off every logit. The optimum of the loss is
            `v'(w_c)^T v(w_t) = PMI(w_c, w_t) - log k`, whose constant all vectors have to express
            by a direction that they share; with the shift it is `PMI`, which saves
            training that step.
        cosine_weight: Weight `lambda` of the cosine loss; 0: none.
        cosine_batch: Batch size `m` to which `lambda` refers. The paper's sum over all pairs of
            a batch grows with the batch; this does not, and is the paper's for a batch of `m`.
        diagonal: Whether the cosine of a word with itself counts in the loss. It is constant:
            without it (the default) the loss is 0 where all words are orthogonal.
        bits: Layer from ids to what `embedding` takes, such as a `BitCache`.
        misspellings: How many misspellings of each word `bits` knows; that of id `i` number `j`
            has id `(1 + j) V + i`.
        misspelt: Share of words, in training, that come as one of their misspellings.
        own_spelling: Whether every pair draws a spelling of its own, as in the paper. Otherwise all
            pairs of a word in a batch have one spelling, and each word is computed once.
        output_initializer: Initializer of `v'`. Default: the paper's U(-1, 1).
        seed: Seed of the noise words and of misspellings.
        **kwargs: Arguments of `keras.Model`; whatever the `dtype`, the loss is of float32.

    Shapes: words `(n,)` or `(n, 1)` int32 -> vectors `(n, d)` float32; contexts
    as words, in `[0, V)`.
    Raises: ValueError, if an argument is out of its range; for sample weights.
    Example:
    >>> model = SkipGram(keras.layers.Embedding(9, 4), 9, negatives=3)
    >>> model.compile("adam")
    >>> history = model.fit(np.array([1, 1, 2]), np.array([2, 3, 1]), verbose=0)
    >>> model.word_vectors().shape
    (9, 4)

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), eq. 1 to 7;
    [Mikolov et al., NeurIPS 2013](https://arxiv.org/abs/1310.4546), sec. 2.2; the optimum:
    [Levy & Goldberg, NeurIPS 2014](https://papers.nips.cc/paper/5477), sec. 3.1.
    Differs: of a spelling that is in a batch several times, dropout and cosines are drawn or
    counted once; without `own_spelling`, a word has one spelling in a batch; `m` above.
    """

    def __init__(
        self,
        embedding: keras.layers.Layer,
        num_words: int,
        *,
        counts: Any = None,
        negatives: int = 25,
        shared_noise: int | None = None,
        shift: bool = False,
        cosine_weight: float = 0.01,
        cosine_batch: int = 1024,
        diagonal: bool = False,
        bits: keras.layers.Layer | None = None,
        misspellings: int = 0,
        misspelt: float = 0.4,
        own_spelling: bool = False,
        output_initializer: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        # In mixed precision, too: ids may come as floats, and a plain table is read as stored.
        super().__init__(**{**kwargs, "dtype": "float32"})
        width = getattr(embedding, "output_dim", None)
        if not isinstance(embedding, keras.layers.Layer) or not isinstance(width, int):
            checks.fail("embedding", "a layer with an `output_dim`", embedding)
        self.embedding, self.bits = embedding, bits
        self.num_words = checks.integer_in("num_words", num_words, 2)
        self.negatives = checks.integer_in("negatives", negatives, 1)
        if shared_noise is not None:
            checks.integer_in("shared_noise", shared_noise, 1)
        self.shared_noise = shared_noise
        self.shift = checks.boolean("shift", shift)
        self.cosine_weight = checks.number("cosine_weight", cosine_weight, at_least=0)
        self.cosine_batch = checks.integer_in("cosine_batch", cosine_batch, 1)
        self.diagonal = checks.boolean("diagonal", diagonal)
        self.misspellings = checks.integer_in("misspellings", misspellings, 0)
        self.misspelt = checks.number("misspelt", misspelt, at_least=0, up_to=1)
        self.own_spelling = checks.boolean("own_spelling", own_spelling)
        if self.misspellings and bits is None:
            checks.fail("bits", "a layer that knows the misspellings", bits)
        if output_initializer is None:
            output_initializer = keras.initializers.RandomUniform(-1.0, 1.0, seed=seed)
        self.output_initializer = keras.initializers.get(output_initializer)
        self.seed = seed
        self.draws = keras.random.SeedGenerator(seed)
        shape = (self.num_words, width)
        self.contexts = self.add_weight(
            shape, self.output_initializer, "float32", autocast=False, name="contexts"
        )
        cumulative = _cumulative(np.ones(self.num_words) if counts is None else counts)
        if cumulative.shape != (self.num_words,):
            checks.fail("counts", f"{self.num_words} numbers, one per word", counts)
        self.noise = self.add_weight(
            cumulative.shape, "zeros", "int32", trainable=False, autocast=False, name="noise"
        )
        self.noise.assign(cumulative)
        self.likelihood = keras.metrics.Mean("negative_sampling")
        self.alike = keras.metrics.Mean("mean_cosine")

    def build(self, input_shape: Any = None) -> None:
        if not self.embedding.built:
            self.vectors(tf.zeros((2,), tf.int32))
        self.built = True

    def vectors(self, ids: tf.Tensor) -> tf.Tensor:
        """The vectors `(n, d)` of ids `(n,)`, as float32."""
        if self.bits is not None:
            ids = self.bits(ids)
        elif self._has_plain_table():
            # as the layer does, but without the copy of the table that its `take` makes in a step
            return tf.gather(self.embedding.embeddings.value, ids)
        return tf.cast(self.embedding(ids), tf.float32)

    def _has_plain_table(self) -> bool:
        made = self.embedding
        if type(made) is not keras.layers.Embedding or not made.built:
            return False
        return not made.lora_enabled and made.quantization_mode is None

    def call(self, words: Any, training: bool | None = None) -> tf.Tensor:
        words = tf.reshape(tf.cast(words, tf.int32), [-1])
        misspells = training and self.misspellings and self.misspelt
        if misspells and self.own_spelling:
            words = self._spellings(words, random_bits((2, tf.size(words)), self.draws))
        # XLA does not know how many words differ: layers of ids get as many as there may be. With
        # bits there are as many as differ, of which a batch normalization takes the statistics.
        rows = max(self.num_words, getattr(self.embedding, "input_dim", None) or 0)
        unique, place = unique_ids(words, rows if self.bits is None else None)
        spelt = unique
        if misspells and not self.own_spelling:
            drawn = random_bits((2, tf.size(place)), self.draws)
            spelt = self._spellings(unique, tf.gather(drawn, row_numbers(unique, place), axis=1))
        of_words = self.vectors(spelt)
        found = tf.gather(of_words, place)
        times = occurrences(unique, place)
        if compiles_with_xla():
            of_words = tf.where(tf.expand_dims(times, 1) > 0, of_words, 0.0)
        found.skip_gram_batch = _Batch(of_words, times)  # for `compute_loss`
        return found

    def _spellings(self, words: tf.Tensor, drawn: tf.Tensor) -> tf.Tensor:
        """Ids of words `(n,)` or of their misspellings, by random bits `(2, n)`."""
        share = tf.cast(tf.bitwise.right_shift(drawn, tf.constant(8, tf.uint32)), tf.float32)
        share *= 2.0**-24
        which = 1 + tf.cast(share[1] * self.misspellings, tf.int32)
        which = tf.where(share[0] < self.misspelt, which, 0)
        return words + self.num_words * which

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> tf.Tensor:
        if sample_weight is not None:
            raise ValueError("`sample_weight` must be None: leave pairs out, or repeat them.")
        if y is None:
            raise ValueError("`y` must be a context of each word of `x`. Received: y=None.")
        batch: _Batch | None = getattr(y_pred, "skip_gram_batch", None)
        if batch is None:
            raise ValueError(
                "`y_pred` must be exactly the vectors that `SkipGram.call` returned: they carry "
                f"the batch's distinct words to the loss. Received: y_pred={y_pred}."
            )
        shapes = [tf.TensorShape(np.shape(one))[1:] for one in (y, y if x is None else x)]
        if len({shape.num_elements() for shape in shapes} - {None}) > 1:
            raise ValueError(
                "`y` must be one context of each word of `x`. Received: rows of shape "
                f"{tuple(shapes[0])} for words of shape {tuple(shapes[1])}."
            )
        y = tf.reshape(tf.cast(y, tf.int32), [-1])
        likelihood = self._likelihood(y_pred, y, batch)
        loss = likelihood
        different = tf.math.count_nonzero(batch.times, dtype=tf.float32)
        if self.cosine_weight:
            squares = cosine.sum_of_squared_cosines(batch.vectors, self.diagonal)
            loss += self.cosine_weight / 2 * self.cosine_batch * squares / tf.square(different)
        for extra in self.losses:
            loss += tf.cast(extra, tf.float32)
        self.likelihood.update_state(likelihood)
        self.alike.update_state(cosine.mean_cosine(batch.vectors, different))
        return loss / replicas()  # whose gradients Keras adds

    def _likelihood(self, vectors: tf.Tensor, contexts: tf.Tensor, batch: _Batch) -> tf.Tensor:
        pairs = tf.size(contexts)
        own = self.shared_noise is None
        shape = (pairs, self.negatives) if own else (self.shared_noise,)
        noise = draw_noise(self.noise.value, random_bits(shape, self.draws))
        # one lookup, for which the gradient of the table is rows, each once in the optimizer's step
        ids = tf.concat([contexts, tf.reshape(noise, [-1])], axis=0)
        rows = tf.gather(self.contexts.value, ids)
        # the gradient of a split is one concatenation, that of two slices pads both
        of_contexts, of_noise = tf.split(rows, [pairs, tf.size(noise)])
        shift = math.log(self.negatives) if self.shift else 0.0
        positive = tf.reduce_sum(vectors * of_contexts, axis=-1) - shift
        if own:
            of_noise = tf.reshape(of_noise, (pairs, self.negatives, self.contexts.shape[1]))
            negative = tf.linalg.matvec(of_noise, vectors) - shift
            return tf.reduce_mean(negative_sampling_loss(positive, negative))
        negative = tf.matmul(batch.vectors, of_noise, transpose_b=True) - shift
        total = shared_noise_loss(negative, batch.times, self.negatives)
        total += tf.reduce_sum(tf.nn.softplus(-positive))
        return total / tf.cast(pairs, tf.float32)

    def word_vectors(self, ids: Any = None, batch_size: int = 2048) -> np.ndarray:
        """The vectors `(n, d)` of ids, as in inference; default: of all words."""
        ids = np.arange(self.num_words) if ids is None else np.asarray(ids)
        checks.integer_in("batch_size", batch_size, 1)
        parts = np.split(ids.astype(np.int32), range(batch_size, len(ids), batch_size))
        return np.concatenate([np.asarray(self(part, training=False)) for part in parts])

    def get_config(self) -> dict[str, Any]:
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "embedding": serialize(self.embedding),
            "num_words": self.num_words,
            "negatives": self.negatives,
            "shared_noise": self.shared_noise,
            "shift": self.shift,
            "cosine_weight": self.cosine_weight,
            "cosine_batch": self.cosine_batch,
            "diagonal": self.diagonal,
            "bits": serialize(self.bits),
            "misspellings": self.misspellings,
            "misspelt": self.misspelt,
            "own_spelling": self.own_spelling,
            "output_initializer": keras.initializers.serialize(self.output_initializer),
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "SkipGram":
        config = dict(config)
        for name in ("embedding", "bits"):
            config[name] = keras.saving.deserialize_keras_object(config[name], custom_objects)
        return cls(**config)


def _cumulative(counts: Any) -> np.ndarray:
    """Rising sums of the noise, as integers: see `ops.negative_sampling.draw_noise`."""
    rising = np.cumsum(noise_probabilities(counts))
    return (np.round(2.0**31 * rising / rising[-1]) - 1).astype(np.int32)
