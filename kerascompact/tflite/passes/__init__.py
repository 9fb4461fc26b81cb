"""Passes over a parsed model that store its constants in fewer bytes."""
