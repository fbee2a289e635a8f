"""Vocabularies, classes of unknown words, and subwords."""
