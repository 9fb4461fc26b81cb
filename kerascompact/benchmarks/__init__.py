"""Real tasks: a data set, a model, a metric; one JSON row per run; rows become tables and plots."""
