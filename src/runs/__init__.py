"""Trained models: load, train, score and evaluate."""
