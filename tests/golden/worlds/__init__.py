"""Small worlds of every kind of release, and the cases that are published of them."""
