"""Local collection: how devices randomise their reports, and what is worked out from them."""
