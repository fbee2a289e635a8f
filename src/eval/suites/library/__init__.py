"""The suites that are distributed with Gardenpath: lookup, listing, generation and checks."""
