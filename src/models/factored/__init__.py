"""Output layers that first predict a class of words, then the word within its class."""
