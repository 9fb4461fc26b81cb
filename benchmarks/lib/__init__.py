"""What experiments share: their names, rows, runs and clocks."""
