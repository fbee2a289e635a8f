"""Evaluation of language models: surprisal, test suites, parsing, statistics and reports."""
