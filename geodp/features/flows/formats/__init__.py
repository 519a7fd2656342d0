"""Files of flows."""
