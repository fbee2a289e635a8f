"""Tests of gardenpath.eval.perplexity."""
