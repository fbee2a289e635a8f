"""Tests of gardenpath.models.pretrained."""
