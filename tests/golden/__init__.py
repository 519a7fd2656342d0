"""Pinned bytes: a change of what is released shows here, and needs a new version of its method."""
