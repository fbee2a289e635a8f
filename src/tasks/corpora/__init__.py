"""Tasks of corpora: statistics, conversion, annotation."""
