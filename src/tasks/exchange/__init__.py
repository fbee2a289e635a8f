"""Tasks that exchange models with others."""
