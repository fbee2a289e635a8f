"""Entries of the surprisal store: how they are packed, and what is asked of them."""
