"""Exact symmetric laws on the integers, and the noise of tree nodes that they make."""
