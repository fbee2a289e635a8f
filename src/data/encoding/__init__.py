"""Corpus splits as arrays of ids."""
