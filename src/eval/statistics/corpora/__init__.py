"""Statistics of corpora."""
