"""Series of snapshots: many tables on one grid under one budget."""
