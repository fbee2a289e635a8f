"""Text and trees in, batches out."""
