"""Cells and their codes, orders of cells, hierarchies of areas, domains and regions."""
