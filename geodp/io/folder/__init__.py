"""Folder of a release: checked before the charge, filled after the draw, complete or absent."""
