"""Perplexity and comparisons of models."""
