"""The page in English: what stands on it, and what its scripts say. Fields stand in braces."""

from __future__ import annotations

from collections.abc import Mapping

PAGE: Mapping[str, str] = {
    "subtitle": "Release {release_id}, made by {software}.",
    "title_squares": "{who}, counted in {rows:,} × {cols:,} squares{km}",
    "title_pairs": "{who} between {rows:,} × {cols:,} squares{km}",
    "title_areas": "{who} in {cells:,} areas",
    "title_side": " of about {side}",
    "who_persons": "people",
    "fact_what": "What",
    "fact_where": "Where",
    "fact_all": "In all",
    "fact_when": "Date of the counts",
    "fact_published": "Published",
    "fact_publisher": "Publisher",
    "fact_no_date": "not stated by the publisher",
    "bounds": "{south} to {north}, {west} to {east}",
    "degrees_north": "{value}° N",
    "degrees_south": "{value}° S",
    "degrees_east": "{value}° E",
    "degrees_west": "{value}° W",
    "months": "January February March April May June July August September October November "
    "December",
    "date": "{day} {month} {year}",
    "period": " to ",
    "not_private": "NOT PRIVATE: the noise was made with a fixed key, for tests only. Anybody can "
    "take it off.",
    "intro": "Chance was added to the numbers on this page before anybody saw them, which limits "
    "what anybody can find out about any one {unit}. Sums of many squares are sure, single squares "
    "often are not. The map begins with what can be believed.",
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
    "legend_water": "water, or released as 0",
    "legend_pale": "A square's own count on the left; paler, to the right: means of larger and "
    "larger squares, over their land.",
    "legend_untold": "below every margin: cannot be told from none",
    "legend_shore": "At the shore a square is paler by its share of water. A count above 0 is "
    "always shown.",
    "legend_outside": "outside the domain",
    "legend_below": "below 0: noise",
    "legend_coast": "Land, coastline and borders: Natural Earth 1:10m, public domain; off by a "
    "kilometre or more in places, and small islands may be missing.",
    "heading_places": "Places and their sums",
    "places_help": "Search for a place, or sort the list. Every sentence may be quoted as it "
    "stands: of 20 such sentences, about 19 are true.",
    "places_squares": "The places are squares of the map, as the publisher gave no list of names "
    "to this page.",
    "places_missing": "There is no list of places here: this release has none whose sums and "
    "errors can be told in closed form.",
    "search": "Find a place",
    "sort": "Order",
    "sort_sum": "largest sum first",
    "sort_sure": "surest first",
    "sort_name": "by name",
    "more": "Show more places",
    "readout": "Under the pointer",
    "heading_areas": "Sums of areas of your own",
    "areas_help": "Draw a polygon on the map, type its corners, or load GeoJSON. The page adds up "
    "the released counts of all squares whose middle lies inside, and says how far the sum may be "
    "off: its standard error and a 95 % interval in closed form, as geodp estimate gives them. "
    "Nothing leaves your browser.",
    "draw": "Draw a polygon",
    "clear": "Remove all",
    "points": "Corners, one a line: longitude and latitude in degrees; two lines are a rectangle; "
    "or GeoJSON",
    "points_cells": "Corners, one a line: column and row; two lines are a rectangle",
    "estimate": "Estimate",
    "file": "GeoJSON file (longitude and latitude)",
    "projection_off": "Degrees are moved to the map's own coordinates ({crs}) by a table in this "
    "page, at most about {off} m off.",
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
    "heading_read": "How to read it",
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
    "heading_guarantee": "What this means for people",
    "heading_error": "How far numbers are off",
    "error_why": "The same noise is added whether many people live in a place or few. A larger "
    "area has more people, while its error grows less: so its share of error is smaller. One cell "
    "is off by {first} as a rule, {cells:,} cells together by {last}: {times:,} times as many "
    "cells, but only {more} times the error.",
    "error_dip": "A larger area can even be off by less: {more:,} cells together by {less_error}, "
    "{fewer:,} cells by {error}. Noise was added to sums of some sizes directly, and to some less "
    "than to others; sums of sizes in between gather the noise of their parts.",
    "error_lone": "A single cell with many people in an empty region comes out too low, by {bias} "
    "on average; its typical error is {rmse}.",
    "error_chart": "Standard error and 95 % margin by the number of cells",
    "error_chart_text": "From {first} cells with a standard error of {first_error} to {last} cells "
    "with {last_error}; the table below has every figure.",
    "error_unknown": "The error depends on the people themselves; there is no closed form.",
    "error_table": "Errors of squares by their size, in counts: 19 of 20 sums are off by less than "
    "the 95 % margin",
    "error_levels": "Errors of the areas of each level, in counts",
    "column_level": "level",
    "column_margin": "95 % margin",
    "column_largest": "largest error at the edges",
    "axis_cells": "cells",
    "axis_error": "counts",
    "heading_budget": "What was given away",
    "budget_none": "This release was entered into no ledger: nobody keeps account of what others "
    "publish about the same people.",
    "budget_entry": "This release's entry in the ledger, which keeps account of all that is "
    "published about the same people. Other entries are not part of a release.",
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
    "term_degrees": "edges of the map",
    "term_bounds": "west, south, east and north in this system",
    "term_mask": "source of the domain",
    "no_mask": "every cell of the extent",
    "term_reading": "input",
    "term_unit": "unit of privacy",
    "term_neighbours": "neighbouring data sets",
    "term_attributes": "attributes",
    "heading_hazards": "What could go wrong",
    "hazards_table": "Questions that a careful reader asks",
    "hazard_key": "Could somebody find out the random numbers and take them off again?",
    "hazard_bound": "Could one {unit} have been counted more often than allowed?",
    "hazard_budget": "Could many publications together give away too much?",
    "hazard_domain": "Does the choice of the places on the map give something away?",
    "hazard_float": "Could the computer's rounding give something away?",
    "hazard_time": "Could somebody learn something from how long the computer took?",
    "hazard_clamp": "Are some numbers too high or too low on average?",
    "hazard_others": "Do other tables about the same people give something away?",
    "column_hazard": "question",
    "column_answer": "answer",
    "column_who": "who stands for it",
    "by_tool": "geodp",
    "by_office": "the publisher",
    "by_nobody": "not known",
    "answer_key": "No: {key}.",
    "answer_key_not": "Yes: {key}.",
    "answer_enforced": "No: geodp made sure that each counts {bound} at most in the sum of all "
    "counts.",
    "answer_vouched": "Not if each counts {bound} at most in the sum of all counts; the publisher "
    "vouches for that.",
    "answer_layout": "Not if each counts {bound} at most in the sum of all counts, as the official "
    "form of the table says: {layout}.",
    "answer_local": "No: each device blurs its own reports before it sends them, {bound} at most "
    "in a period.",
    "answer_budget": "A ledger keeps account of all of them, and refuses one that would give away "
    "too much.",
    "answer_budget_none": "Nobody keeps account of them: other publications about the same people "
    "add to what this one gives away.",
    "answer_box": "No: they are all the squares of a rectangle, inhabited or not.",
    "answer_mask": "Not if it was public before and made without these data. It comes from: "
    "{source}",
    "answer_whole": "No: until the noise is added, everything is worked out in whole numbers and "
    "exact fractions.",
    "answer_time": "Only to somebody who watches the computer at work; readers of these files "
    "cannot.",
    "answer_clamp": "Yes: counts below 0 were set to 0 or shared out among neighbours. So lonely "
    "places come out too low.",
    "answer_signed": "No. Some counts are below 0: that is noise, and belongs into the sums of "
    "areas.",
    "answer_others": "They may, where they have no noise: this protection does not cover them.",
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
    "embed_map": "{title}{end}: a map of released counts. The list after it has the largest "
    "places.",
    "embed_origins": ", by origin",
    "embed_destinations": ", by destination",
    "embed_believe": "What may be believed: coloured squares, whose counts are larger than the "
    "noise; elsewhere noise may be as large as the count (95 % margin: {margin}). Sums of larger "
    "areas are surer. The noise limits what anybody can find out about any one {unit}.",
    "embed_unknown": "What may be believed: sums of many squares more than single squares, whose "
    "error is not known here. The noise limits what anybody can find out about any one {unit}.",
    "embed_largest": "The largest places",
    "embed_source": "Coastline and borders: Natural Earth.",
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
    "place_square": "the square {code}around {where}",
    "place_cells": "the square at row {row}, column {col}",
    "place_region": "{level} {name}",
    "place_whole": "the whole area",
    "place_origin": "{place} as the origin",
    "place_destination": "{place} as the destination",
    "quote": "In {place}, about {count} {who} were counted (95 % sure: between {low} and {high}, "
    "which is within {percent} %).",
    "quote_few": "In {place}, at most {high} {who} were counted (95 % sure), and perhaps none.",
    "quote_exact": "In {place}, {count} {who} were counted; this total is public and has no noise.",
    "quote_below": "In {place}, few {who} were counted: by the publisher's rule of display, the "
    "number is shown as less than {below}.",
    "places_found": "{shown} of {n} places are shown.",
    "places_none": "No place has this name. Sums of any area can be had below.",
    "copy": "Copy",
    "copy_of": "Copy: the sentence of {place}",
    "show": "Show on the map",
    "show_of": "Show on the map: {place}",
    "copied": "Copied: {text}",
    "copy_by_hand": "The sentence is marked; copy it with Ctrl+C.",
}

PAGE_OF_UNITS: Mapping[str, str] = {
    "intro": "Chance was added to the numbers on this page before anybody saw them, which limits "
    "what anybody can find out about any one {unit}. Sums of many areas are sure, areas of few "
    "people often are not. The map begins with what can be believed.",
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
