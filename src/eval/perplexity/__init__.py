"""Perplexity of models and its comparison."""
