"""Numbers of Chen & Gimpel beside ours."""

from benchmarks.lib.paper import Line, benchmark, table

__all__ = ["LINES", "benchmark", "table"]

IMDB = "ours: best of 7 epochs on dev, batches of 32, falling rate, straight-through"
LINES = (
    Line("Table 3", "SE, IMDB", 86.84, IMDB, "imdb", {"method": "standard"}),
    Line("Table 3", "CE, IMDB", 85.58, IMDB, "imdb", {"method": "cluster"}),
    Line("Table 3", "CAE, IMDB", 86.94, IMDB, "imdb", {"method": "adjustment"}),
    Line("Table 3", "ME, IMDB", 88.22, IMDB, "imdb", {"method": "mixture"}),
)
