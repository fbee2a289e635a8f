"""Results on suites in the forms of other programs."""
