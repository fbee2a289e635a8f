"""Real processes at once, and processes that are killed: what is on disk stays right."""
