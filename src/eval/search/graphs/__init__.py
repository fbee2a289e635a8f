"""Steps of a search that are recorded once and replayed, as CUDA graphs."""
