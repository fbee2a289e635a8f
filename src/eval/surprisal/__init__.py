"""Tables of surprisal."""
