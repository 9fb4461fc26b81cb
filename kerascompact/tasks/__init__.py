"""What `kerascompact train` and `demo` run: methods by name, a text classifier, its measurement."""
