"""Descriptive statistics of corpora."""
