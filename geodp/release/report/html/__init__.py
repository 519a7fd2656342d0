"""A release as one page for a browser: its map, its margins, sums of any area, its card."""
