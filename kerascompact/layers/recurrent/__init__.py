"""Recurrent layers that are sparse from the start, and what regularizes them."""
