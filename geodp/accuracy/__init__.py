"""Accuracy: variances, errors of blocks and areas, and intervals, all computed without any data."""
