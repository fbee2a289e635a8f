"""Published sets of minimal pairs: what they contain, how to read them, and how to average."""
