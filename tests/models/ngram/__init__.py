"""Tests of gardenpath.models.ngram."""
