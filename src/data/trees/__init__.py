"""Trees, bracketed files, transforms, and the actions that build trees."""
