"""Tests of gardenpath.tasks.exchange."""
