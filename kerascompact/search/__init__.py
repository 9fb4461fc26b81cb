"""Searches within a budget of bytes: texts or a trained model in, the best file out."""
