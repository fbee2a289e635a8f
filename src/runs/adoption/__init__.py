"""Models that others trained, as runs."""
