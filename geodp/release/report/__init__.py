"""A release's card for people, and for registries."""
