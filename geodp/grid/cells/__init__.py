"""Cells of discrete global grid systems, H3 and S2, as areal units."""
