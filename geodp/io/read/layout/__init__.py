"""How files that nobody described are laid out: presets of publishers, findings, recipes."""
