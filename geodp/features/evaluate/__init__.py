"""How far releases of a table lie from it."""
