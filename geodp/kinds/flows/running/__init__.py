"""Commands of flows that have a file of their own, and what they share with the others."""
