"""Vocabularies, unknown-word classes and subwords."""
