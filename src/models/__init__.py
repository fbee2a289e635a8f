"""Language models: plain modules, and one thin Lightning module that trains them."""
