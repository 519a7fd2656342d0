"""A released map on a page: what it shows, how it looks and what is said beside it."""
