"""Probabilistic context-free grammars: read, sample, and answer exactly."""
