"""Word-level LSTM language models that others trained with PyTorch's example code."""
