"""Looks into traced functions: which tensors a step really makes."""

import tensorflow as tf


def tensors_with_rows(concrete_function, rows):
    """Outputs of the graph's operations that have `rows` rows, as "dtype type name shape".

    What stands for a variable itself is no tensor that the step makes: the inputs of the function
    (placeholders of resources) have no such shape, and reading a variable for a gather does not
    appear, because a resource gather takes the resource. Functions that are called inside (loops,
    branches, compiled parts) are looked into.
    """
    found = []
    for graph in _graphs(concrete_function.graph):
        for operation in graph.get_operations():
            for tensor in operation.outputs:
                known = tensor.shape.rank is not None and tensor.shape.rank > 0
                if known and tensor.shape[0] == rows:
                    found.append(
                        f"{tensor.dtype.name} {operation.type} {operation.name} {tensor.shape}"
                    )
    return found


def _graphs(graph, seen=None):
    seen = {} if seen is None else seen
    if id(graph) not in seen:
        seen[id(graph)] = graph
        for operation in graph.get_operations():
            for attribute in operation.node_def.attr.values():
                name = attribute.func.name
                if name and name in graph._functions:
                    inner = graph._functions[name]
                    if hasattr(inner, "graph"):
                        _graphs(inner.graph, seen)
    return list(seen.values())


def train_step(model, ids, labels, jit_compile=False):
    """The concrete function of one step of `model.fit`."""
    model.make_train_function(force=True)
    data = (tf.constant(ids), tf.constant(labels))

    @tf.function(jit_compile=jit_compile, autograph=False)  # as Keras does
    def step():
        return model.train_step(data)

    return step.get_concrete_function()
