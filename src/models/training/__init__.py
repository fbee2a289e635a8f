"""Training with Lightning."""
