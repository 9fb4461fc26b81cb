"""Anchor & Transform, Liang et al., ICLR 2021."""
