"""Layers of networks on graphs."""
