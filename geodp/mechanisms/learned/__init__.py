"""Reliability of predictions of counts, learned from noisy counts alone."""
