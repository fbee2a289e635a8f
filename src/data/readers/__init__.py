"""One small reader per kind of corpus."""
