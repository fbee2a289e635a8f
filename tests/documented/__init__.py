"""Every command of the README and of docs/ is run on stand-ins, or listed with a reason."""
