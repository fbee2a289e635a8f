"""Parts of a corpus that are read on their own, and put together."""
