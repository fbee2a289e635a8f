"""Sentences to score and tables of surprisals."""
