"""Data sets that only benchmarks read."""
