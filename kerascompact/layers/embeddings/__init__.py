"""One file per method, all kept to the contract of `base.CompactEmbedding`."""
