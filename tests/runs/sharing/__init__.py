"""Tests of gardenpath.runs.sharing."""
