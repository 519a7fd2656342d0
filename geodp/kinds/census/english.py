"""English texts of the page, by name."""

from __future__ import annotations

from collections.abc import Mapping

PAGE: Mapping[str, str] = {
    "title": "The whole table of a census",
    "agree": "All {n} columns of the table are on this page. They agree: what adds up to what adds "
    "up in every cell, and so in every area, and nothing is hidden.",
    "pick_column": "Column",
    "pick_whole": "As a share of",
    "pick_none": "no share: the number itself",
    "pick_place": "Area",
    "heading_map": "Map of a column, or of a share",
    "map_help": "Choose a column, and which other one it is shown as a share of. Click the map to "
    "choose an area.",
    "map_column": "Map of {name}.",
    "heading_places": "Area by area",
    "places_help": "Areas listed: {n}, those with the most {count} first.",
    "places_more": "The {n} areas with the most {count} are listed; all cells are in the table "
    "{file} of the release.",
    "places_none": "This map is too large to list areas: give a list of places (--places).",
    "column_share": "{part}: share of {whole}, in per cent",
    "column_each": "{part} for each of {whole}",
    "legend_share": "{name}; the whole map: {share} %",
    "legend_each": "{name}; the whole map: {share}",
    "legend_vague": "not known well enough",
    "legend_few_of": "few in one of the two: below the limit of display",
    "heading_tree": "All columns of an area, and what is a part of what",
    "tree_help": "A column stands below the smallest one that it is a part of. The numbers are "
    "those of the area that is chosen above.",
    "heading_error": "What may be believed",
    "error_help": "How far the chosen number usually is off at most, in 19 of 20 areas, by the "
    "{count} of the area.",
    "error_size": "{count} of an area",
    "error_from": "{low} to {high}",
    "error_number": "usual number",
    "error_half": "off by at most",
    "heading_always": "What always holds",
    "always_adds": "The parts of {name} add up to {of}, in every cell and so in every area.",
    "always_within": "{name} divides the part {within} of {of} alone.",
    "always_possible": "Each household has a reference person, and at most {size} persons.",
    "always_sizes": "Households of n or more persons are at most as many as those of n - 1 or "
    "more, for n from 2 to {sizes}.",
    "always_most": "Households are at most as many as persons.",
    "script_needed": "Choosing columns needs JavaScript; the map and the table of the first "
    "columns are readable without.",
}
"""Texts by name; the context of each in the catalogue is ``census.`` and its name."""
