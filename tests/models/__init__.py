"""Tests of gardenpath.models."""
