"""Graph convolution: a weighted sum of the vectors of a node and its neighbours."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.ops.graph import sparse_matmul


@register
class GraphConvolution(keras.layers.Layer):
    """Convolves the vectors of a graph's nodes: `act(A_hat X W + b)`.

    `A_hat` is a sparse matrix over the nodes, such as `ops.graph.normalized_adjacency` makes:
    `D^-1/2 (A + I) D^-1/2`. It is an input, so one model can be used on several graphs, and layers
    share it. It is a pair `(places, values)`, or a `tf.SparseTensor`; both work under XLA.

    Args:
        units: Width `d'` of the result. `None`: no `W`; vectors that come from an embedding table
            are propagated unchanged.
        activation: Activation `act`, a name or a function.
        use_bias: Whether to add a bias `b`.
        kernel_initializer: Initializer of `W`.
        bias_initializer: Initializer of `b`.
        kernel_regularizer: Regularizer of `W`.
        bias_regularizer: Regularizer of `b`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: vectors `(N, d)`, places `(M, 2)` integers and values `(M,)` -> `(N, d')`.
    Storage: `32 d' (d + 1)` bits.
    Raises: ValueError, if an argument is out of range.
    Example:
    >>> from kerascompact.ops.graph import normalized_adjacency
    >>> path = normalized_adjacency(np.array([[0, 1], [1, 2]]), 3)
    >>> GraphConvolution(8, activation="relu")(np.ones((3, 4)), path).shape
    TensorShape([3, 8])

    Reference: [Kipf & Welling, ICLR 2017](https://arxiv.org/abs/1609.02907), eq. 2.
    Differs: the paper's layer has no bias; `use_bias=False` is that.
    """

    def __init__(
        self,
        units: int | None,
        *,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)  # A_hat stays float32
        self.units = None if units is None else checks.integer_in("units", units, 1)
        self.activation = keras.activations.get(activation)
        self.use_bias = checks.boolean("use_bias", use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.bias_regularizer = keras.regularizers.get(bias_regularizer)

    def build(self, vectors_shape: Any, adjacency_shape: Any = None) -> None:
        width = vectors_shape[-1]
        self.kernel = self.bias = None
        if self.units is not None:
            self.kernel = self.add_weight(
                shape=(width, self.units),
                initializer=self.kernel_initializer.clone(),
                regularizer=self.kernel_regularizer,
                autocast=False,
                name="kernel",
            )
        if self.use_bias:
            self.bias = self.add_weight(
                shape=(self.units or width,),
                initializer=self.bias_initializer.clone(),
                regularizer=self.bias_regularizer,
                autocast=False,
                name="bias",
            )

    def call(self, vectors: Any, adjacency: Any) -> tf.Tensor:
        if isinstance(adjacency, tf.SparseTensor):
            places, values = adjacency.indices, adjacency.values
        else:
            places, values = adjacency
        if self.kernel is not None:
            kernel = tf.cast(self.kernel.value, self.compute_dtype)
            vectors = tf.matmul(tf.cast(vectors, self.compute_dtype), kernel)
        nodes = vectors.shape[0] or tf.shape(vectors)[0]
        vectors = tf.cast(sparse_matmul(places, values, vectors, nodes), self.compute_dtype)
        if self.bias is not None:
            vectors += tf.cast(self.bias.value, self.compute_dtype)
        return self.activation(vectors)

    def compute_output_spec(self, vectors: Any, adjacency: Any) -> keras.KerasTensor:
        nodes, width = vectors.shape
        return keras.KerasTensor((nodes, self.units or width), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        initializers, regularizers = keras.initializers, keras.regularizers
        return {
            **super().get_config(),
            "units": self.units,
            "activation": keras.activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
        }
