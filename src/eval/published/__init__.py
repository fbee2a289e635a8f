"""Materials and surprisals of published studies."""
