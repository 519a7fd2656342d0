"""The page in English: what stands on it, and what its scripts say. Fields stand in braces."""

from __future__ import annotations

from collections.abc import Mapping

PAGE: Mapping[str, str] = {
    "title": "{name}: a differentially private release",
    "subtitle": "Release {release_id}, made by {software}",
    "not_private": "NOT PRIVATE: the noise was made with a fixed key, for tests only. Anybody can "
    "take it off.",
    "intro": "Counts on this page have noise, so that nobody can tell whether any one {unit} was "
    "counted. Small counts are mostly noise. The map begins with what can be believed.",
    "skip": "To the map",
    "contents": "On this page",
    "heading_map": "The map",
    "map_label": "Map of released counts. Arrow keys move a cross and say what stands there, plus "
    "and minus zoom, 0 shows all.",
    "map_help": "Drag to move; zoom with the buttons, with two fingers, or with the wheel once the "
    "map is selected (or with Ctrl). Arrow keys move the cross and say what stands there; Enter "
    "and Space work while a polygon is drawn.",
    "map_wait": "The map is being unpacked.",
    "map_failed": "This browser cannot unpack the map. The files of the release hold all of it.",
    "map_script": "The map needs JavaScript; everything else on this page is readable without.",
    "no_map": "This release has no map: its cells are not places.",
    "level": "Level",
    "layer": "Shown",
    "belief": "Show only what can be believed",
    "belief_help": "A square is shown where its count is at least so many 95 % margins. Where it "
    "is not, the smallest larger square around it is shown, in pale, in which what is left of the "
    "count reaches its margin. At 0 every square is shown as it was released.",
    "belief_unknown": "The error of this release depends on the people themselves, so the page "
    "cannot tell what to believe, and shows every square.",
    "zoom_in": "Zoom in",
    "zoom_out": "Zoom out",
    "zoom_all": "Whole map",
    "legend": "Legend",
    "legend_per_km2": "{what} per km²",
    "legend_per_cell": "{what} per cell",
    "legend_none": "none",
    "legend_few": "counts above 0: <{limit:,}",
    "legend_water": "water; released as 0",
    "legend_pale": "A square's own count on the left; paler, to the right: means of larger and "
    "larger squares, over their land.",
    "legend_untold": "below every margin: cannot be told from none",
    "legend_shore": "At the shore a square is paler by its share of water. A count above 0 is "
    "always shown.",
    "legend_outside": "outside the domain",
    "legend_below": "below 0: noise",
    "legend_coast": "Land, coastline and borders: Natural Earth 1:10m, public domain; off by a "
    "kilometre or more in places, and small islands may be missing.",
    "readout": "Under the pointer",
    "heading_areas": "Sums of areas",
    "areas_help": "Draw a polygon on the map, type its corners, or load GeoJSON. The sum of the "
    "released counts of all cells whose centre lies inside is worked out in this page, with its "
    "standard error and a 95 % interval in closed form: the same as geodp estimate and "
    "Release.estimate give. Nothing leaves your browser.",
    "draw": "Draw a polygon",
    "clear": "Remove all",
    "points": "Corners, one a line: x and y in {crs}; two lines are a rectangle; or GeoJSON",
    "points_cells": "Corners, one a line: column and row; two lines are a rectangle",
    "estimate": "Estimate",
    "file": "GeoJSON file (longitude and latitude)",
    "projection_off": "Longitude and latitude are moved to {crs} by a table in this page, at most "
    "about {off} m off.",
    "estimates": "Estimates in closed form",
    "column_area": "area",
    "column_cells": "cells",
    "column_count": "count",
    "column_error": "standard error",
    "column_interval": "95 % interval",
    "no_areas": "Sums of areas with their errors are not worked out in this page: {why}",
    "no_pairs": "it is a release of origins and destinations. The map shows the sums of each over "
    "all of the other; from Python, Release.estimate takes cells of both.",
    "no_regions": "its cells are in the order of an office's regions, whose closed form goes by "
    "the whole table of regions. Use geodp estimate.",
    "no_room": "the release is too large for it. Use geodp estimate.",
    "no_closed_form": "the method has no closed form of the error of an area.",
    "drops": "the method drops small counts, and what that takes is not worked out here.",
    "heading_read": "How to read it, and how not to",
    "read_1": "Read larger areas first: their errors are small beside their counts.",
    "read_2": "Read every number with its interval: about 19 of 20 intervals hold the true number.",
    "read_3": "A count of 0 means few or none, not nobody.",
    "read_4": "A difference between two places means something where their intervals lie apart.",
    "not_1": "Do not read single cells below the margin: an inhabited cell may read 0, and an "
    "empty one may read more.",
    "not_2": "Do not add up only what looks large: the sum of chosen cells is biased.",
    "not_3": "Do not take the noise for a mistake: it is what protects people, and it is known.",
    "not_4": "Do not look for one {unit} in it: what any one changes is hidden.",
    "read_yes": "Do",
    "read_no": "Do not",
    "heading_guarantee": "What it means for people",
    "heading_error": "Expected error by area",
    "error_chart": "Standard error and 95 % margin by the number of cells",
    "error_chart_text": "From {first} cells with a standard error of {first_error} to {last} cells "
    "with {last_error}; the table below has every figure.",
    "error_unknown": "The error depends on the people themselves; there is no closed form.",
    "error_table": "Errors of square blocks of cells, in counts",
    "error_levels": "Errors of the areas of each level, in counts",
    "column_level": "level",
    "column_margin": "95 % margin",
    "column_largest": "largest error at the edges",
    "axis_cells": "cells",
    "axis_error": "counts",
    "heading_budget": "The budget's account",
    "budget_none": "This release was charged to no ledger, so nobody adds up what others spend.",
    "budget_entry": "This release's own entry in the ledger. The ledger's other entries are not "
    "part of a release.",
    "term_spends": "spent by this release",
    "term_dataset": "data set",
    "term_spent": "spent with it",
    "term_cap": "cap",
    "term_earlier": "earlier releases",
    "term_entry": "entry",
    "term_ledger": "ledger",
    "term_chain": "hash chain",
    "heading_domain": "What is counted where",
    "term_cells": "cells of the domain, empty ones too",
    "term_axes": "axes",
    "term_grid": "code system",
    "term_crs": "coordinate reference system",
    "term_bounds": "west, south, east, north",
    "term_mask": "source of the domain",
    "no_mask": "every cell of the extent",
    "term_reading": "input",
    "term_unit": "unit of privacy",
    "term_neighbours": "neighbouring data sets",
    "term_attributes": "attributes",
    "heading_hazards": "Hazards, and who answers for them",
    "hazards_table": "Questions and answers",
    "hazard_key": "Could somebody know the noise?",
    "hazard_bound": "Could one {unit} count for more?",
    "hazard_budget": "Could releases add up to too much?",
    "hazard_domain": "Could the list of cells tell something?",
    "hazard_float": "Could rounding of real numbers tell something?",
    "hazard_time": "Could the running time tell something?",
    "hazard_clamp": "Is there a bias?",
    "hazard_others": "Could tables of others tell something?",
    "column_hazard": "question",
    "column_answer": "answer",
    "column_who": "who answers for it",
    "by_tool": "geodp",
    "by_office": "the office",
    "by_nobody": "not known",
    "answer_key": "No: {key}.",
    "answer_key_not": "Yes: {key}.",
    "answer_enforced": "No: geodp kept the bound of {bound}.",
    "answer_vouched": "Not if the bound of {bound} holds in the records.",
    "answer_layout": "Not if the bound of {bound} holds, as the layout of the table says: "
    "{layout}.",
    "answer_local": "Each device makes its own noise, and sends at most {bound} reports in a "
    "period.",
    "answer_budget": "The ledger refuses what goes beyond the cap.",
    "answer_budget_none": "Charged to no ledger.",
    "answer_box": "No: it is the whole extent.",
    "answer_mask": "Not if its source is public: {source}",
    "answer_whole": "No: integers and exact rationals up to the noise.",
    "answer_time": "Only to who sees the run itself; a reader of the files does not.",
    "answer_clamp": "Yes: where people are few, negative counts were set to 0 or shared out, so "
    "isolated places read too low.",
    "answer_signed": "No: negative values are noise, and belong in sums over areas.",
    "answer_others": "Tables without noise about the same people are not covered.",
    "not_protected": "In the card's own words, not protected:",
    "heading_office": "From the publisher",
    "office_own": "In the publisher's own words, which geodp does not check:",
    "office_none": "The publisher says nothing of title, licence or contact in this release.",
    "office_few": "By the publisher's rule of display, counts above 0 and below {limit:,} are "
    "shown as <{limit:,} on this page, without an interval, sums of areas too. The rule protects "
    "nobody, which the noise does: the files and this page's source have the released counts.",
    "heading_registry": "Record for the registry of deployments",
    "registry": "For the Differential Privacy Deployments Registry: the card's facts, and what the "
    "publisher says beside them. JSON, which is YAML too.",
    "heading_files": "Files",
    "files_table": "Files of the release with their checksums",
    "column_file": "file",
    "column_what": "what",
    "files_left": "Left out:",
    "heading_method": "How it was made",
    "term_method": "method",
    "term_source": "source",
    "term_noise": "noise",
    "term_settings": "settings",
    "term_software": "software",
    "term_schema": "card's schema",
    "post_processing": "What was done to the noisy values:",
    "made": "This page was made by geodp report from the public folder of the release alone. It "
    "loads nothing from any network.",
}

SCRIPT: Mapping[str, str] = {
    "level_cells": "Cells",
    "level_blocks": "Squares of {side} × {side} cells",
    "level_area": ", {area}",
    "level_km": " (about {km} km)",
    "all_labels": "all",
    "origins": "Origins",
    "destinations": "Destinations",
    "belief_none": "off: every square as released",
    "belief_some": "counts of at least {times} × the margin",
    "drawn_level": "Drawn: {name}.",
    "drawn_coarser": "Drawn: {name}, as smaller squares are below a pixel here; zoom in.",
    "km": "{km} km",
    "interval": "{low} to {high}",
    "few": "<{below}",
    "few_drawn": "a count {few} – {of}",
    "at_map": "x {x}, y {y}",
    "at_degrees": "{lat}° {north}, {lon}° {east}",
    "north": "N",
    "south": "S",
    "east": "E",
    "west": "W",
    "outside_map": "outside the map",
    "outside_domain": "outside the domain",
    "unknown": "not known",
    "untold": "cannot be told from none",
    "water": "water",
    "per_km2": "{density} per km² – {of}",
    "per_cell": "{density} per cell – {of}",
    "term_position": "place",
    "term_unit": "unit",
    "term_count": "released count of the cell",
    "term_margin": "its 95 % margin",
    "term_ends": "its 95 % interval",
    "term_drawn": "drawn",
    "draw_begin": "Draw a polygon",
    "draw_finish": "Finish the polygon",
    "draw_help": "Click corners on the map, or move the cross with the arrow keys and press Space. "
    "Enter finishes, Escape gives up.",
    "corners": "{n} corners",
    "few_corners": "A polygon has at least three corners.",
    "drawn_name": "polygon {n}",
    "no_polygons": "That is no polygon: two numbers a line, or GeoJSON with polygons.",
    "estimated": "{n} estimated; see the table.",
    "no_cells_inside": "no cell of the domain has its centre inside",
    "too_many_cells": "too many cells for this page; use geodp estimate",
}

PAGE_OF_UNITS: Mapping[str, str] = {
    "belief_help": "A unit is shown where its count is at least so many 95 % margins. At 0 every "
    "unit is shown as it was released.",
    "belief_unknown": "The error of this release depends on the people themselves, so the page "
    "cannot tell what to believe, and shows every unit.",
    "legend_pale": "of each unit: its count over its area",
    "areas_help": "Draw a polygon on the map, type its corners, or load GeoJSON. The sum of the "
    "released counts of all units whose inner point lies inside is worked out in this page, with "
    "its standard error and a 95 % interval in closed form. Units are summed whole, also where the "
    "polygon cuts them; geodp estimate refuses such polygons. Nothing leaves your browser.",
    "column_cells": "units",
}
SCRIPT_OF_UNITS: Mapping[str, str] = {
    "level_cells": "Units",
    "level_km": "",
    "belief_none": "off: every unit as released",
    "term_count": "released count of the unit",
    "outside_map": "outside of all units",
    "no_cells_inside": "no unit has its inner point inside",
}
"""What is said otherwise where the map has units with outlines, not cells."""

CARD: Mapping[str, str] = {}
"""What a card says is English."""
