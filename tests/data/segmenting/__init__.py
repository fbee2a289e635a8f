"""Tests of gardenpath.data.segmenting."""
