"""Probabilistic context-free grammars: reading, sampling and exact probabilities."""
