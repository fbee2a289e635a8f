"""Tests of gardenpath.data.words."""
