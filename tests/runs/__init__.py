"""Tests of gardenpath.runs."""
