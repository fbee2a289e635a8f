"""Batches for each kind of model."""
