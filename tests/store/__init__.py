"""Tests of gardenpath.store."""
