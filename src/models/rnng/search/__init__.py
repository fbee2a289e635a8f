"""States of an RNNG for the search over its derivations."""
