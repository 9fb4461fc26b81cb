"""Layers of graph networks."""
