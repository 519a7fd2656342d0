"""Inner loops of releases of persons and households."""
