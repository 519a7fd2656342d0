"""Files that show persons and households side by side."""
