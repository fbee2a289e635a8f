"""What files of others cannot do: run code, or write outside of a folder."""
