"""Tests of gardenpath.settings.command."""
