"""From models to answers: surprisal and what is read off it."""
