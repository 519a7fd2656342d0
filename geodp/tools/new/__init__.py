"""Interview the operator about what a file leaves open, and write the recipe that publishes it."""
