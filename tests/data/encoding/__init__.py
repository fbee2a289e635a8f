"""Tests of gardenpath.data.encoding."""
