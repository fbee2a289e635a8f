"""Models that others trained and that load through transformers."""
