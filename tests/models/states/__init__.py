"""Tests of gardenpath.models.states."""
