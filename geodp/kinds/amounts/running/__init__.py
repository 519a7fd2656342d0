"""Commands of amounts that have a file of their own, and what they share with the others."""
