"""Series of snapshots: many tables of one grid under one budget."""
