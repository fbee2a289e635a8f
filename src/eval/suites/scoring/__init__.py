"""Scoring of suites: from surprisals to outcomes, effects and accuracies."""
