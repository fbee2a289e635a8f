"""Words of text that is written without blanks between them."""
