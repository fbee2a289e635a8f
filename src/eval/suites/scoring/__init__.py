"""From surprisals to outcomes, effects and accuracies."""
