"""How far predictions of counts can be trusted, learned from noisy counts alone."""
