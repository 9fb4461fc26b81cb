"""Comparison of a file with the Keras model that it was converted from, on a data set."""
