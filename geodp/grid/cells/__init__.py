"""Cells of the whole Earth that are no squares of a map: those of H3 and of S2, as areal units."""
