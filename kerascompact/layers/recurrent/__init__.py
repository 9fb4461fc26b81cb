"""Recurrent layers that are sparse from the start, and regularizers of recurrent layers."""
