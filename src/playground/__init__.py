"""The playground: a page in the browser, served from this machine, for trying sentences."""
