"""What a phone gets: bytes, accuracy, latency and safety of the files."""
