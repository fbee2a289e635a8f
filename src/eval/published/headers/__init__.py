"""The headers of our own tables, beside or in them."""
