"""English texts of the page and of its map, by name."""

from __future__ import annotations

from collections.abc import Mapping

ROWS = (
    "persons, households and mean size (persons for each household) of every cell with released "
    "households, with standard errors and 95 % intervals; mean sizes are empty where they are not "
    "estimable. A cell that is not listed may have as many households as the card of households "
    "says of cells that are not listed, with at most {size} persons each"
)
"""Description of the rows of the table of both counts in the index."""

PAGE: Mapping[str, str] = {
    "title": "Persons and households",
    "total": "In all, {persons} persons ({persons_low} to {persons_high}) live in {households} "
    "households ({households_low} to {households_high}): {size} persons for each household "
    "({size_low} to {size_high}).",
    "total_unknown": "In all, {persons} persons ({persons_low} to {persons_high}) live in "
    "{households} households ({households_low} to {households_high}). The mean size of a household "
    "cannot be told from this release.",
    "others": "Persons outside households, such as those in institutions, are not counted on this "
    "page: they are in the table {table} of the release.",
    "heading_sizes": "Persons for each household",
    "sizes_map": "Map of the mean size of a household by area.",
    "sizes_unknown": "cannot be told from this release",
    "sizes_help": "Each area is coloured by its released mean size, where its interval is at most "
    "one person wide. Where it is wider, an area with households has the colour of the smallest "
    "larger square of which the interval is not. The table below has all intervals.",
    "sizes_none": "The mean size of no area is known well enough for a colour: the noise is "
    "larger.",
    "heading_places": "Area by area",
    "places_help": "Areas listed: {n}, those with the most persons first.",
    "places_more": "The {n} areas with the most persons are listed; all cells are in the table "
    "{file} of the release.",
    "places_none": "This map is too large to list areas: give a list of places (--places).",
    "column_persons": "Persons",
    "column_households": "Households",
    "column_size": "Persons for each household",
    "map_persons": "Map of persons for each square kilometre.",
    "map_households": "Map of households for each square kilometre.",
    "heading_always": "What always holds",
    "always_possible": "In every cell, and so in every area, households are at most persons, and "
    "persons at most {size} for each household.",
    "always_cut": "Larger households are counted as households of {size} persons.",
    "rows": ROWS,
    "files_table": "Tables of all areas together; each of the tables of persons and of households "
    "has a folder with files for GIS",
}
"""Texts by name; the context of each in the catalogue is ``households.`` and its name."""
