"""Commands of `kerascompact`, one module each with `add_arguments(parser)` and `run(arguments)`."""
