"""Inner loops of the estimator of flows."""
