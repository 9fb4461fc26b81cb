"""Predefined sparseness, Demeester et al., CoNLL 2018."""
