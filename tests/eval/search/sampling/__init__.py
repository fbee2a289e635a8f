"""Tests of gardenpath.eval."""
