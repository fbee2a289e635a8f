"""adopted."""
