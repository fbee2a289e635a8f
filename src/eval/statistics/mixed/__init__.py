"""Mixed-effects models."""
