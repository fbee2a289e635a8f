"""Raw text to trees: sentences, words and parses, in shards that a killed process leaves whole."""
