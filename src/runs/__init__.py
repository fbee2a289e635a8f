"""Trained models as one asks them: load, train, score, evaluate."""
