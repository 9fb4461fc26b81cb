"""Compact embeddings: one file per method, all of them subclasses of `base.CompactEmbedding`."""
