"""Commands of this feature, one file for each."""
