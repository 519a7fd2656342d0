"""Commands of this feature, one a file of its name."""
