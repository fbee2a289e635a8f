"""Corpus readers, one per format."""
