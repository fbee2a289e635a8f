"""File formats of test suites: our own YAML, SyntaxGym, BLiMP and CLiMP."""
