"""The pyramid on bare arrays: what is shared out, blocks of families, and the two passes."""
