"""Lowest layer: compiled functions on bare arrays. They trust their input and never raise."""
