"""Language models: plain PyTorch modules, and one thin Lightning module that trains them."""
