"""Search over the parses of a prefix: surprisal from syntactic language models."""
