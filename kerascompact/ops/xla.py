"""Whether XLA will compile what is being traced."""

import tensorflow as tf
from tensorflow.python.ops import control_flow_util


def compiles_with_xla() -> bool:
    """Whether the graph being traced will be compiled by XLA; TensorFlow has no public name.

    >>> compiles_with_xla()
    False
    """
    return control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())
