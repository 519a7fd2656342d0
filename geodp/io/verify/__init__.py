"""Whether a release holds what it says."""
