"""What stands behind the last hidden vector: logits of all words."""
