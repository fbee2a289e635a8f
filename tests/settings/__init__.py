"""Tests of gardenpath.settings."""
