"""Experiments: a data set, a model, a metric; a JSON row a run; the tables of the pages."""
