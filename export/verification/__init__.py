"""Verification: compares a file with the Keras model that it was converted from."""
