"""The worked examples of docs/extending.md."""
