"""Pure functions on tensors, each checked against NumPy written from its paper."""
