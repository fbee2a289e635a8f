"""Scoring with several processes on one machine: shards of sentences into the surprisal store."""
