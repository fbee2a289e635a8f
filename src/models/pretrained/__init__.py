"""Models that load through the library transformers: causal and masked."""
