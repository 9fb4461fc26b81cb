"""Passes over a parsed file that store its constants in fewer bytes."""
