"""Tests of gardenpath.data.batches."""
