"""Inner loops of releases of amounts."""
