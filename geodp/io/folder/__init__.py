"""A release's folder: tried before the charge, filled after the draw, whole or not at all."""
