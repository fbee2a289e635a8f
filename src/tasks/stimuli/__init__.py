"""Own stimuli: what tasks print and write for them."""
