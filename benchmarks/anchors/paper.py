"""Numbers of Liang et al. beside ours."""

from benchmarks.lib.paper import Line, benchmark, table

__all__ = ["LINES", "benchmark", "table"]

LINES: tuple[Line, ...] = ()
