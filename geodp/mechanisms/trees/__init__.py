"""Common parts of methods on trees."""
