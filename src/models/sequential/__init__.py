"""LSTM and Transformer language models."""
