"""Models of which only a table of surprisals is here."""
