"""Targeted test suites: what they are, how they are written, read, checked and scored."""
