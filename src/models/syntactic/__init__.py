"""models.syntactic."""
