"""Tests of gardenpath.eval.surprisal."""
