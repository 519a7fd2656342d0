"""Texts of the page and its scripts in English, with fields in braces, and their translations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from geodp.privacy.event import DEPENDS
from geodp.release.report.translation import LANGUAGES, translate_text, translate_texts
from geodp.table.contribution import SUMS
from geodp.table.index import PERIOD_FACT

_FEW = (
    "By the publisher's rule, numbers above 0 and below {limit:,} are shown as <{limit:,} on this "
    "page, without an interval, sums of areas too. This rule does not protect anybody; the noise "
    "does."
)

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
    "remove it.",
    "notice_withdrawn": "WITHDRAWN: this release was withdrawn on {date} and is not to be used any "
    "more. {reason}",
    "notice_use": "Use the release {release_id} instead.",
    "notice_unreadable": "A notice of withdrawal lies beside this release, but it cannot be read "
    "or is of another release. Ask the publisher before you use it.",
    "intro": "The numbers on this page are not exact. Before anybody saw them, random noise was "
    "added to them on purpose, so that nobody can find out much about any one {unit} from "
    "them.{amount} Sums of many squares are reliable; single squares often are not. The map "
    'begins with what can be believed. On this page, "95 % sure" refers to this noise only: '
    "errors of the counting itself come in addition.",
    "skip": "To the map",
    "contents": "On this page",
    "heading_map": "The map",
    "map_label": "Map of released counts. Arrow keys move a cross and read out the number there, "
    "plus and minus zoom, 0 shows all.",
    "map_help": "Drag to move; zoom with the buttons, with two fingers, or with the wheel once "
    "the map is selected (or with Ctrl). Arrow keys move the cross and read out the number "
    "there; Enter and Space work while an area is drawn.",
    "map_wait": "The map is being unpacked.",
    "map_failed": "This browser cannot unpack the map. The files of the release hold all of it.",
    "map_script": "The map needs JavaScript; everything else on this page is readable without.",
    "no_map": "This release has no map: its cells are not places.",
    "level": "Size of the squares",
    "layer": "Shown",
    "belief": "Show only what can be believed",
    "belief_help": "The margin of error says how far the noise may put a number off: 19 of 20 "
    "numbers are off by less. A square is coloured if its number is at least the chosen multiple "
    "of its margin. The people of the other squares are added up over larger and larger squares "
    "until the sum is large enough; these are coloured in a paler tone. What is never enough "
    "stays beige. A stricter setting colours no land that a looser one leaves beige. At 0 every "
    "square is shown as it was released.",
    "belief_unknown": "The error of this release depends on the people themselves, so the page "
    "cannot tell what to believe, and shows every square.",
    "zoom_in": "Zoom in",
    "zoom_out": "Zoom out",
    "zoom_all": "Whole map",
    "legend": "Legend",
    "legend_per_km2": "{what} per km²",
    "legend_per_cell": "{what} per square",
    "legend_none": "released as 0: few or none",
    "legend_few": "counts above 0: <{limit:,}",
    "legend_water": "water",
    "legend_pale": "Left box: the square's own number. Right, paler box: the mean of a larger "
    "square around it, over its land.",
    "legend_untold": "few or none: the noise hides how many",
    "legend_shore": "At the shore, squares without people are coloured as water by their share of "
    "it. At sea a number is shown where it is at least three times its margin, as noise alone "
    "carries some of many squares over one.",
    "legend_outside": "not part of this release",
    "legend_below": "below 0, by the noise",
    "legend_coast": "Land, coastline and borders: Natural Earth 1:10m, public domain; off by a "
    "kilometre or more in places, and small islands may be missing.",
    "heading_places": "Places and their sums",
    "places_help": "Search for a place, or sort the list. Every sentence may be quoted as it "
    'stands; a copied one names its source. "95 % sure" means: of 20 such intervals, about 19 '
    "contain the number without noise. A place's sum collects the noise of all its squares, so "
    "its interval may begin at 0 where that of one square in it does not. To compare two places, "
    "choose Compare at both. If their intervals overlap, the difference may be chance.",
    "places_squares": "The places are squares of the map, as the publisher gave no list of names "
    "to this page.",
    "places_missing": "There is no list of places here: for this release, nobody can tell how far "
    "the sums of places are off.",
    "search": "Find a place",
    "sort": "Order",
    "sort_sum": "most first (by the lower end)",
    "sort_sure": "surest first",
    "sort_name": "by name",
    "more": "Show more places",
    "readout": "Under the pointer",
    "readout_hint": "Point at the map, or click a square, to see its number.",
    "heading_areas": "Number of people in any area",
    "areas_help": "Draw an area on the map, type its corners, or load a GeoJSON file. The page "
    "adds up the released numbers of all squares whose centre lies inside, and says how far the "
    "sum may be off. Nothing leaves your browser.",
    "areas_ends": "Numbers released as 0 neither gain nor lose people, so an interval can be "
    "narrower than the typical error suggests; next to empty land, one of its ends can lie further "
    "away.",
    "draw": "Draw an area",
    "draw_finish": "Finish the area",
    "draw_cancel": "Cancel",
    "clear": "Remove all",
    "points": "Corners, one a line: longitude and latitude in degrees; two lines are a rectangle; "
    "or GeoJSON",
    "points_cells": "Corners, one a line: column and row; two lines are a rectangle",
    "estimate": "Add up",
    "file": "GeoJSON file (longitude and latitude)",
    "projection_off": "Degrees are converted to the map's own coordinates ({crs}) by a table in "
    "this page, at most about {off} m off.",
    "estimates": "Areas of your own",
    "column_cells": "squares",
    "column_error": "typical error",
    "no_areas": "This page does not add up areas of your own: {why}",
    "no_pairs": "it is a release of origins and destinations. The map shows the sums of each over "
    "all of the other; from Python, Release.estimate takes squares of both.",
    "no_regions": "its squares are ordered by an office's regions, and the errors of sums need "
    "the whole table of regions. Use geodp estimate.",
    "no_room": "the release is too large for it. Use geodp estimate.",
    "no_closed_form": "its method has no formula for the error of an area.",
    "heading_read": "How to read it",
    "read_1": "Read larger areas first: their errors are small compared with their numbers.",
    "read_2": "Read every number with its interval: about 19 of 20 intervals contain the number "
    "without noise.",
    "read_3": 'Read 0 as "few or none", not as "nobody".',
    "read_4": "Compare two places by their intervals: only if these do not overlap does the "
    "difference mean something.",
    "not_1": "Do not quote a single square whose interval begins at 0: an inhabited square may "
    "read 0, and an empty one may read more.",
    "not_2": "Do not add up only the squares that look large: such a sum comes out too high.",
    "not_3": "Do not take the noise for a mistake: it is there to protect people, and its size is "
    "known.",
    "not_4": "Do not look for one {unit} in the numbers: the noise hides the difference that any "
    "one makes.",
    "read_yes": "Do",
    "read_no": "Do not",
    "heading_guarantee": "What this means for people",
    "heading_error": "How far the numbers are off",
    "error_why": "The same noise is added whether many people live in a place or few. A larger "
    "area has more people, while its error grows less, so its error in percent is smaller. One "
    "square is off by about {first} as a rule, {cells:,} squares together by about {last}: only "
    "{more} times as much.",
    "error_dip": "A larger area can even be off by less: {more:,} squares together by "
    "{less_error}, {fewer:,} squares by {error}. Noise was added to sums of some sizes directly, "
    "in amounts that differ from size to size; sums of sizes in between collect the noise of "
    "their parts.",
    "error_lone": "A single square with many people, surrounded by empty squares, comes out too "
    "low, by {bias} on average; its typical error is {rmse}.",
    "error_exception": "The errors in this chart and table hold where no number had to be raised "
    "to 0: where people live in most squares. Where few people live, a square can be off by "
    "several times as much; its interval on the map says how far.",
    "error_chart": "Typical error and 95 % margin by the number of squares that are added up",
    "error_chart_text": "From {first} squares with a typical error of {first_error} to {last} "
    "squares with {last_error}; the table below has every figure.",
    "error_unknown": "The error depends on the people themselves; there is no formula for it.",
    "error_table": "Errors of sums of squares: 19 of 20 sums are off by less than the 95 % margin",
    "error_levels": "Errors of the areas of each level",
    "column_level": "level",
    "column_margin": "95 % margin",
    "column_largest": "largest typical error anywhere",
    "axis_cells": "squares added up",
    "axis_error": "off by",
    "heading_budget": "Privacy budget: the protection that was used up",
    "budget_none": "This release is in no ledger (a running account of the privacy budget): "
    "nobody adds up what is published about the same people.",
    "budget_entry": "This release's entry in the ledger, the running account of the privacy "
    "budget of everything that is published about the same people. Other entries are not part of "
    "a release.",
    "term_spends": "spent by this release",
    "term_dataset": "data set",
    "term_spent": "spent with it",
    "term_cap": "cap",
    "term_earlier": "earlier releases",
    "term_entry": "entry",
    "term_ledger": "ledger",
    "term_chain": "hash chain",
    "heading_domain": "The map in technical terms",
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
    "hazards_table": "Questions of a careful reader",
    "hazards_intro": "The last column says who vouches for an answer. geodp is the software that "
    "made this release.",
    "hazard_key": "Could somebody find out the random noise and remove it again?",
    "hazard_bound": "Could one {unit} have been counted more often than allowed?",
    "hazard_budget": "Could many publications about the same people together reveal too much?",
    "hazard_domain": "Does the choice of the places on the map reveal something?",
    "hazard_float": "Could the computer's rounding reveal something?",
    "hazard_time": "Could somebody learn something from how long the computer took?",
    "hazard_clamp": "Are some numbers too high or too low on average?",
    "hazard_others": "Could other tables about the same people reveal something?",
    "column_hazard": "question",
    "column_answer": "answer",
    "column_who": "who vouches for it",
    "by_tool": "geodp",
    "by_office": "the publisher",
    "by_nobody": "nobody",
    "answer_key": "No: {key}.",
    "answer_key_not": "Yes: {key}.",
    "answer_enforced": "No: geodp made sure that each one adds at most {bound} to the sum of all "
    "numbers.",
    "answer_vouched": "Not if each one adds at most {bound} to the sum of all numbers.",
    "answer_layout": "Not if each one adds at most {bound} to the sum of all numbers, which is how "
    "official tables in this layout are made: {layout}.",
    "answer_local": "No: each device blurs its own reports before it sends them, {bound} at most "
    "in a period.",
    "answer_budget": "No: an account is kept of all of them, and one that would reveal too much "
    "is refused.",
    "answer_budget_none": "Perhaps: nobody keeps account of them, and other publications about "
    "the same people add to what this one reveals.",
    "answer_box": "No: they are all the squares of a rectangle, inhabited or not.",
    "answer_mask": "Not if it was public before and made without these data. It comes from: "
    "{source}",
    "answer_whole": "No: until the noise is added, everything is worked out in whole numbers and "
    "exact fractions.",
    "answer_time": "No reader of these files can. Somebody who watches the computer at work might.",
    "answer_clamp": "Yes: numbers below 0 were set to 0, and the squares around them were lowered "
    "by as much. So isolated places come out too low.",
    "answer_signed": "No. Some numbers are below 0: that is noise, and it must be included in the "
    "sums of areas.",
    "answer_others": "Yes, if they have no noise: the protection of this release does not cover "
    "them.",
    "not_protected": "What is not protected, as the release itself states it:",
    "heading_office": "From the publisher",
    "office_own": "In the publisher's own words, which geodp does not check:",
    "office_none": "The publisher says nothing of title, licence or contact in this release.",
    "office_few": f"{_FEW} The files and this page's source contain the released numbers.",
    "office_few_static": f"{_FEW} The files contain the released numbers.",
    "heading_registry": "Record for the registry of deployments",
    "registry": "For the Differential Privacy Deployments Registry: the facts of this release, "
    "and what the publisher adds to them. JSON, which is YAML too.",
    "heading_files": "Files",
    "files_table": "Files of the release with their checksums",
    "column_file": "file",
    "column_what": "what",
    "files_left": "Left out:",
    "heading_method": "How the numbers were made",
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
    "intro_amount": " A single square is off by about {error}, as a rule.",
    "intro_alone": " A single square is off by about {error}, as a rule; where few people live, a "
    "square with many people can be off by as much as {alone}.",
    "belief_more": "What this means",
    "places_overlap": "Some of these places overlap: do not add up their numbers.",
    "place_whole_at": "the whole area of this map ({bounds})",
    "places_left_out": "Places of the list that are left out, because less than half of their "
    "area lies on this map: {n:,}.",
    "largest": "Squares with the most {who}",
    "largest_help": "The largest of many noisy numbers tends to be too high: the noise helped it "
    "to the top. Quote these numbers with their intervals only.",
    "copy": "Copy",
    "compare_clear": "Clear",
    "source": "({facts}with random noise added to protect people)",
    "source_exact": "({facts})",
    "source_fact": "{fact}; ",
    "source_date": "counts of {date}",
    "specialists": "From here on the page is for specialists, in their own terms.",
}

SCRIPT: Mapping[str, str] = {
    "level_cells": "Squares",
    "level_blocks": "Squares of {side} × {side}",
    "level_km": " of about {km} km",
    "all_labels": "all",
    "origins": "Origins",
    "destinations": "Destinations",
    "belief_none": "off: every square as released",
    "belief_some": "numbers of at least {times} × their margin of error",
    "drawn_level": "Shown: {name}.",
    "km": "{km} km",
    "interval": "{low} to {high}",
    "few": "<{below}",
    "few_drawn": "a number {few}; {of}",
    "at_map": "x {x}, y {y}",
    "at_degrees": "{lat}° {north}, {lon}° {east}",
    "north": "N",
    "south": "S",
    "east": "E",
    "west": "W",
    "outside_map": "outside the map",
    "outside_domain": "not part of this release",
    "unknown": "not known",
    "untold": "few or none: the noise hides how many",
    "water": "water",
    "per_km2": "{density} per km²; {of}",
    "per_cell": "{density} per square; {of}",
    "term_position": "place",
    "term_unit": "unit",
    "term_count": "released number of the square",
    "term_ends": "95 % sure: from",
    "term_drawn": "colour on the map",
    "draw_begin": "Draw an area",
    "draw_finish": "Finish the area",
    "draw_help": "Click corners on the map, or move the cross with the arrow keys and press "
    "Space. Enter finishes, Escape gives up.",
    "corners": "{n} corners.",
    "few_corners": "An area has at least three corners.",
    "drawn_name": "area {n}",
    "no_polygons": "This cannot be read as an area. Write one corner a line, two numbers each, or "
    "GeoJSON with polygons.",
    "estimated": 'Areas added up: {n}; see the list under "Number of people in any area".',
    "no_cells_inside": "{place}: no square of this release has its centre inside.",
    "too_many_cells": "{place}: too many squares for this page; use geodp estimate.",
    "place_square": "the square {code}around {where}",
    "place_cells": "the square at row {row}, column {col}",
    "place_region": "{level} {name}",
    "place_whole": "the whole area",
    "place_origin": "{place} as the origin",
    "place_destination": "{place} as the destination",
    "quote": "{where}, about {count} {who} were counted (95 % sure: between {low} and {high}, "
    "within {percent} %).",
    "quote_near": "{where}, about {count} {who} were counted (95 % sure: between {low} and "
    "{high}).",
    "quote_few": "{where}, at most {high} {who} were counted (95 % sure); the noise in this sum "
    "hides how many.",
    "quote_exact": "{where}, {count} {who} were counted; this total is public and has no noise.",
    "quote_below": "{where}, few {who} were counted: by the publisher's rule, the number is shown "
    "as less than {below}.",
    "places_found": "Places listed: {shown} of {n}.",
    "places_none": "No place of the list has this name. Any area can be added up in the part "
    "below.",
    "copy": "Copy",
    "copy_of": "Copy: the sentence of {place}",
    "show": "Show on the map",
    "show_of": "Show on the map: {place}",
    "copied": "Copied: {text}",
    "copy_by_hand": "The sentence is selected; copy it with Ctrl+C.",
    "mean_own": "the square's own number",
    "mean_larger": "mean of a larger square around it ({name})",
    "term_why": "note",
    "why_nobody": "This release cannot tell whether there are any {who} here.",
    "why_up": "The interval reaches further up: some people of this place may be in the numbers of "
    "places around it.",
    "why_down": "The interval reaches further down: some of this number may belong to places "
    "around it.",
    "swapped": "This area does not lie on the map, but would with the two numbers of each corner "
    "swapped. Write longitude (east) first, then latitude (north).",
    "off_map": "This area does not lie on the map.",
    "estimate_facts": "{cells} squares added up; typical error {error}; 95 % sure: {low} to "
    "{high}.",
    "place_here": "the square of about {km} km around {where}",
    "place_here_near": "the square of about {km} km around {where} (near {town})",
    "place_unit": "area {name}",
    "where_in": "In {place}",
    "where_part": "In the part of {place} that lies on this map",
    "where_near": "Within {km} km of the centre of {place}",
    "where_near_part": "Within {km} km of the centre of {place}, but only in the part that lies "
    "on this map",
    "area_in": "{place}",
    "area_part": "the part of {place} that lies on this map",
    "area_near": "the circle of {km} km around the centre of {place}",
    "area_near_part": "the part on this map of the circle of {km} km around the centre of {place}",
    "quote_unsure": "{where}, about {count} {who} were counted, but this number is very uncertain "
    "(95 % sure: between {low} and {high}).",
    "pin_few": "Do not quote this square: it is uncertain whether there are any {who} in it (95 "
    "% sure: at most {high}).",
    "pin_unsure": "Do not quote this square: its number of about {count} is very uncertain (95 % "
    "sure: between {low} and {high}; of many such squares, 1 in 20 lies outside its interval).",
    "pin_square": "The square you chose, at {where}",
    "pin_place": "The place you chose: {place}",
    "pin_water": "This square lies in water on the map; a number above 0 there is noise or an "
    "error of the coastline.",
    "pin_square_near": "The square you chose, at {where} (near {town})",
    "compare": "Compare",
    "compare_of": "Compare: {place}",
    "compare_one": "Chosen: {one}. Now choose Compare at a second place.",
    "compare_more": "More {who} were counted in {more} ({more_low} to {more_high}) than in {less} "
    "({less_low} to {less_high}): the two intervals, each 95 % sure, do not overlap.",
    "compare_same": "This release cannot tell whether more {who} were counted in {more} "
    "({more_low} to {more_high}) or in {less} ({less_low} to {less_high}): the two intervals, "
    "each 95 % sure, overlap, so the difference may be chance.",
    "compare_overlap": "These two places overlap: the {who} in the part that they share are in "
    "both numbers.",
    "places_similar": "No place has exactly this name. Places whose names contain it: {n}.",
    "remove": "Remove",
    "remove_of": "Remove: {place}",
}

PAGE_OF_UNITS: Mapping[str, str] = {
    "intro": "The numbers on this page are not exact. Before anybody saw them, random noise was "
    "added to them on purpose, so that nobody can find out much about any one {unit} from "
    "them.{amount} Sums of many areas are reliable; areas of few people often are not. The map "
    'begins with what can be believed. On this page, "95 % sure" refers to this noise only: '
    "errors of the counting itself come in addition.",
    "belief_help": "The margin of error says how far the noise may put a number off: 19 of 20 "
    "numbers are off by less. An area is coloured if its number is at least the chosen multiple "
    "of its margin. At 0 every area is shown as it was released.",
    "belief_unknown": "The error of this release depends on the people themselves, so the page "
    "cannot tell what to believe, and shows every area.",
    "legend_pale": "Density of each area: its number divided by its size.",
    "areas_help": "Draw an area on the map, type its corners, or load a GeoJSON file. The page "
    "adds up the released numbers of all areas of the map whose inner point lies inside, and says "
    "how far the sum may be off. Areas are added up entirely, even where the line that you draw "
    "cuts them; geodp estimate refuses such lines. Nothing leaves your browser.",
    "column_cells": "areas",
    "intro_amount": " A single area is off by about {error}, as a rule.",
    "intro_alone": " A single area is off by about {error}, as a rule; where few people live, an "
    "area with many people can be off by as much as {alone}.",
    "level": "Shown",
    "readout_hint": "Point at the map, or click an area, to see its number.",
    "largest": "Areas with the most {who}",
    "error_why": "The same noise is added whether many people live in a place or few. A larger "
    "area has more people, while its error grows less, so its error in percent is smaller. One "
    "area of the map is off by about {first} as a rule, {cells:,} of them together by about "
    "{last}: only {more} times as much.",
    "error_exception": "The errors in this chart and table hold where no number had to be raised "
    "to 0: where people live in most areas of the map. Where few people live, an area can be off "
    "by several times as much; its interval on the map says how far.",
    "axis_cells": "areas added up",
}
SCRIPT_OF_UNITS: Mapping[str, str] = {
    "level_cells": "Areas",
    "level_km": "",
    "belief_none": "off: every area as released",
    "term_count": "released number of the area",
    "outside_map": "outside of all areas",
    "no_cells_inside": "{place}: no area of the map has its inner point inside.",
    "mean_own": "the area's own number",
    "term_unit": "area",
    "estimate_facts": "{cells} areas added up; typical error {error}; 95 % sure: {low} to {high}.",
    "pin_few": "Do not quote this area: it is uncertain whether there are any {who} in it (95 % "
    "sure: at most {high}).",
    "pin_unsure": "Do not quote this area: its number of about {count} is very uncertain (95 % "
    "sure: between {low} and {high}; of many such areas, 1 in 20 lies outside its interval).",
    "pin_square": "The area you chose: {where}",
}
"""Texts that replace those of the script where the map has units with outlines, not cells."""

FORMS = (
    *(
        PERIOD_FACT.format(
            name, time="{time}", number="{number}", first="{first}", last="{last}", unit="{unit}",
            where=where, spends="{spends}",
        )
        for name in ("snapshot", "period")
        for where in (f"every {name}", f"one {name} only")
    ),
    DEPENDS.format("{share}"),
    "{rows}; with the outlines of the cells",
    "{rows}; with the outlines of the units",
    "{rows}; begins with the byte order mark of UTF-8",
)  # fmt: skip
"""Sentences of cards with fields in braces; ``rows`` are a sentence themselves."""

_AS_THEY_ARE = (
    (
        "whether two releases with the same kept key and parameters come from exactly the same "
        "input: they are then identical, so use a new key for every new state of the data"
    ),
    (
        "that at least one row of every file of the series, and of every value of a selection that "
        "several snapshots share, counts in a snapshot, and that not all snapshots are empty: such "
        "a series is refused before anything is charged; a single snapshot may be empty"
    ),
    "the counts, one row for every cell above 0; cells of the domain that are not listed are 0",
    (
        "the counts, one row for every cell that is not 0; cells of the domain that are not listed "
        "are 0"
    ),
    (
        "the counts with the cells' outlines, one row for every cell above 0; cells of the domain "
        "that are not listed are 0"
    ),
    (
        "the counts with the cells' outlines, one row for every cell that is not 0; cells of the "
        "domain that are not listed are 0"
    ),
    (
        "the counts with outlines of the cells, for GIS; one row for every cell above 0; cells of "
        "the domain that are not listed are 0"
    ),
    (
        "the counts with outlines of the cells, for GIS; one row for every cell that is not 0; "
        "cells of the domain that are not listed are 0"
    ),
    "the counts with outlines of the units, for GIS; one row for every unit, also those of 0",
    "types of the CSV's columns, for GDAL and QGIS",
    "the counts as a map, north up; cells of the domain that the tables do not list are 0",
    "QGIS style of the raster and of the outlines: fixed classes",
    "the map as a picture, colours on a fixed scale",
    (
        "all snapshots as NetCDF (CF 1.8): counts over time, y and x; cells of the domain that the "
        "tables do not list are 0, cells outside it have the fill value"
    ),
    "small maps of the snapshots, colours on a fixed scale",
    "only a grid of one map has a raster",
    "a raster has at most 64 bands, columns times combinations of attributes",
    "a raster has at most 64 combinations of attributes",
    "a raster has at most 2147483648 values",
    "a count is too large to be exact in a raster",
    "the grid lies nowhere on the Earth",
    "its units have no outlines: publish with a table of units that has them",
    "codes of H3 and S2 say where the cells lie, and files have no outlines of them",
    "some of its units have no outline, as those for other places",
    "the grid's CRS has no WKT of version 1",
    "this Python's SQLite has no index of outlines",
    "whole numbers, none negative",
    "whole numbers, negative ones among them",
    "real numbers, none negative",
    "real numbers, negative ones among them",
    (
        "Non-negativity: a total below 0 becomes 0, and every detail is clamped to what its node "
        "holds. The clamp is biased: an isolated occupied cell is lowered by about 2 to 3 noise "
        "scales, and what it loses goes to the empty cells around it (isolated-cell shrinkage)."
    ),
    (
        "None: negative counts stay as they are, every value is unbiased, and a sum over many "
        "cells has the noise of all of them."
    ),
    "Additivity: every area's count is exactly the sum of its cells.",
    (
        "Whole numbers: shares are rounded systematically with one random number of their node; "
        "unbiased."
    ),
    "Whole numbers: an odd sum is split by a random bit of its node; unbiased.",
    (
        "Additivity: parts add up to the counts of the map, of every area and of every cell, and "
        "cells to areas in every part; sums of labels, such as one sex, therefore agree too."
    ),
    (
        "Prediction: below the last measured level every cell has the shares of the area that "
        "holds it, so that parts differ less from cell to cell than people do."
    ),
    (
        "Non-negativity: no count is below 0; a part's total is not biased by it where it is well "
        "above its noise."
    ),
    (
        "Whole numbers: tables of areas times parts are rounded along cycles with random coins of "
        "their node; unbiased."
    ),
    SUMS,
    *FORMS,
)
"""Sentences of cards that the English page quotes unchanged; other languages translate them."""

_BLOCKS = (
    "Worked out by a formula, without the data: typical errors (standard errors) of square blocks "
    "of {which}; the 95 % margin is 1.96 times the typical error; the last column is the largest "
    "typical error of any block of that size, also at the edges of the map, and where some squares "
    "are not part of the release an upper bound of it."
)

CARD: Mapping[str, str] = {
    **{one: one for one in _AS_THEY_ARE},
    "Closed form for an aligned block of cells where nothing is clamped; independent of the data; "
    "margin_95 = 1.96 standard errors; largest: of all such blocks, including those at the edges "
    "of the domain; with a mask an upper bound.": _BLOCKS.format(
        which="squares where no number had to be raised to 0"
    ),
    "Closed form for an aligned block of cells wherever it lies; independent of the data; "
    "margin_95 = 1.96 standard errors; largest: of all such blocks, including those at the edges "
    "of the domain; with a mask an upper bound.": _BLOCKS.format(
        which="squares, wherever they lie"
    ),
    "256 bits from the operating system, forgotten after the run": "it was drawn with 256 random "
    "bits of the computer, which were deleted afterwards",
    "derived from a 256-bit key kept by its owner and a digest of the input": "it was drawn with a "
    "secret of 256 bits, which its owner keeps, and a checksum of the data",
    "fixed by the calling program: NOT PRIVATE": "it was fixed by the program that made the "
    "release: NOT PRIVATE",
    "the domain, the grid and every value of this card: public by construction": "which squares "
    "the map has, and all that this page says of how the numbers were made: these are public",
    "other releases about the same people: their budgets add to this one": "what other releases "
    "about the same people reveal: it adds to this one",
    "groups: k people together are protected with k times epsilon": "groups: what can be found out "
    "about k people together adds up (k times epsilon)",
    "groups: k people together are protected with k squared times rho": "groups: what can be found "
    "out about k people together adds up (k squared times rho)",
    "that at least one row of every file that was read, or of the table in memory, meets the "
    "selection and lies in the domain: an input without one is refused before anything is "
    "charged": "that every file of the data has at least one row that counts: others are refused",
    "Non-negativity: children below 0 become 0 and their siblings are lowered by as much, with two "
    "passes the populous ones by less. It is biased: an isolated occupied cell is lowered, and "
    "what it loses goes to the empty cells around it.": "Numbers below 0: parts of a square that "
    "were below 0 became 0, and its other parts were lowered by as much together, populous ones by "
    "less. So a single inhabited square in an empty region comes out too low, and what it loses "
    "goes to the empty squares around it.",
}
"""Texts of the page by the sentences of cards that they replace."""


@dataclass(frozen=True)
class Texts:
    """Texts of a language by their names.

    Attributes
    ----------
    page, script : mapping
        Texts of the page itself, and of its scripts.
    page_of_units, script_of_units : mapping
        Texts that replace those where the map has units with outlines, not cells.
    card : mapping
        Texts of a page by the English sentences of cards that they replace.
    """

    page: Mapping[str, str]
    script: Mapping[str, str]
    page_of_units: Mapping[str, str]
    script_of_units: Mapping[str, str]
    card: Mapping[str, str]


@cache
def texts_of(language: str) -> Texts:
    """Load the texts of a language; UsageError for one that pages do not have."""
    groups = {
        "page": PAGE,
        "script": SCRIPT,
        "page_of_units": PAGE_OF_UNITS,
        "script_of_units": SCRIPT_OF_UNITS,
    }
    translated = {name: translate_texts(one, language, name) for name, one in groups.items()}
    return Texts(card=_translate_card(language), **translated)


def _translate_card(language: str) -> dict[str, str]:
    """Translate the sentences of cards; those without a translation are left out."""
    translated = {
        sentence: translate_text(text, language, "card") for sentence, text in CARD.items()
    }
    if language == LANGUAGES[0]:
        return translated
    # What stays out is quoted from the card as English, with lang="en" (parts.quote).
    return {one: text for one, text in translated.items() if text != CARD[one]}
