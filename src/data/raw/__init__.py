"""Raw text: files of news or plain text, and their sentences."""
