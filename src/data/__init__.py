"""Corpora: readers, trees, vocabularies, encoded splits and batches."""
