"""Headers of tables, in files beside them."""
