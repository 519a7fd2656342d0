"""What shows all snapshots of a series together: a file a format."""
