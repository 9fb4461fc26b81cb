"""Output layers: logits of all words from the last hidden vector."""
