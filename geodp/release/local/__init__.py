"""A round of local collection: opened, randomised by devices, aggregated, published."""
