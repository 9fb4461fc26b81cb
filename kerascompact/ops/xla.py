"""Whether XLA will compile what is being traced."""

import tensorflow as tf
from tensorflow.python.ops import control_flow_util  # TensorFlow has no public name for it


def compiles_with_xla() -> bool:
    """Whether the graph being traced will be compiled by XLA, as under `jit_compile=True`.

    >>> compiles_with_xla(), tf.function(compiles_with_xla, jit_compile=True)().numpy()
    (False, np.True_)
    """
    return control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())
