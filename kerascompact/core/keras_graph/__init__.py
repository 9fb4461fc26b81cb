"""Private Keras API, all of it, and questions about what kind of model or layer something is."""

from kerascompact.core.keras_graph.batch_of_one import batch_of_one
from kerascompact.core.keras_graph.calls import called, is_shape, named_outputs
from kerascompact.core.keras_graph.copies import compile_like, copy_with, reached_layers
from kerascompact.core.keras_graph.extreme_numbers import for_extreme_numbers
from kerascompact.core.keras_graph.fitting import evaluate_validation_data, has_validation_data
from kerascompact.core.keras_graph.fourier import fourier_by_matrices
from kerascompact.core.keras_graph.inference import for_inference
from kerascompact.core.keras_graph.integer_files import for_integer_files
from kerascompact.core.keras_graph.kinds import (
    build_shapes,
    graph_inputs,
    graph_outputs,
    in_symbolic_scope,
    is_graph,
    is_graph_of,
    is_one_table,
    is_stock_embedding,
    plain_table,
    required_arguments,
    stock_reversible,
)
from kerascompact.core.keras_graph.largest import largest_by_value
from kerascompact.core.keras_graph.layers import (
    all_layers,
    computing_in_float32,
    direct_layers,
    inner_layers,
    maker_of,
    mask_of,
    own_variables,
    seed_generators,
)
from kerascompact.core.keras_graph.losses import keeping_losses
from kerascompact.core.keras_graph.optimizers import (
    OpenOptimizer,
    batches_seen,
    copy_weight_decay_exclusions,
    parts_of,
    slots,
    trained_by,
)
from kerascompact.core.keras_graph.quantized import (
    Integers,
    float_kernel_of,
    head_integers_of,
    integers_of,
    quantized_kind,
)
from kerascompact.core.keras_graph.replacing import replaced
from kerascompact.core.keras_graph.tf_keras import is_tf_keras_graph, without_gpu_kernel
from kerascompact.core.keras_graph.twins import CannotCopyError, set_array
from kerascompact.core.keras_graph.wiring import (
    calls_in,
    distinct,
    ends_in_sigmoids,
    has_independent_outputs,
    inputs_of,
    operations_of,
    output_names,
    readers_of_inputs,
    run_graph,
    sources_of,
    takers_of,
)

__all__ = [
    "CannotCopyError",
    "inputs_of",
    "Integers",
    "OpenOptimizer",
    "all_layers",
    "batch_of_one",
    "batches_seen",
    "build_shapes",
    "called",
    "calls_in",
    "computing_in_float32",
    "copy_weight_decay_exclusions",
    "compile_like",
    "copy_with",
    "direct_layers",
    "distinct",
    "ends_in_sigmoids",
    "evaluate_validation_data",
    "float_kernel_of",
    "fourier_by_matrices",
    "graph_inputs",
    "graph_outputs",
    "has_independent_outputs",
    "head_integers_of",
    "integers_of",
    "quantized_kind",
    "has_validation_data",
    "in_symbolic_scope",
    "inner_layers",
    "is_graph",
    "is_graph_of",
    "is_one_table",
    "is_shape",
    "is_stock_embedding",
    "is_tf_keras_graph",
    "keeping_losses",
    "largest_by_value",
    "maker_of",
    "mask_of",
    "named_outputs",
    "for_extreme_numbers",
    "for_inference",
    "for_integer_files",
    "output_names",
    "operations_of",
    "own_variables",
    "parts_of",
    "reached_layers",
    "readers_of_inputs",
    "replaced",
    "required_arguments",
    "run_graph",
    "seed_generators",
    "set_array",
    "slots",
    "sources_of",
    "plain_table",
    "stock_reversible",
    "takers_of",
    "trained_by",
    "without_gpu_kernel",
]
