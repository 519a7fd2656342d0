"""Kernels that learn how far predictions can be trusted: histograms, fits and posteriors."""
