"""Sequential language models: LSTM and Transformer."""
