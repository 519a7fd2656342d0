"""Files that show all snapshots of a series together, one module for each format."""
