"""Every command of the README and of docs/ is run on miniature stand-ins, or listed with a reason."""
