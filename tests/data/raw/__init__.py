"""Tests of gardenpath.data.raw."""
