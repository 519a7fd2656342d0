"""Texts of the page and of the files of a release in English, with fields in braces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from geodp.errors import printable

PAGE: Mapping[str, str] = {
    "title": "Trips between zones",
    "intro": "The numbers on this page are not exact. Before anybody saw them, random noise was "
    "added to them on purpose, so that nobody can find out much about any one {unit} from them.",
    "bound_enforced": "The number of trips of one {unit} that are counted is {contribution} at "
    "most, so that more may have been made.",
    "bound_weighed": "A trip counts as many times as its weight says, and trips of one {unit} "
    "count as {contribution} at most, so that more may have been made.",
    "bound_vouched": "The office answers for it that one {unit} made {contribution} of these trips "
    "at most.",
    "interval": "Each number has an interval in brackets, which holds the number of counted trips "
    "in 19 of 20 cases.",
    "total": "In all, {count} trips are counted ({low} to {high}).",
    "total_weighed": "In all, trips are counted as {count} by their weights ({low} to {high}).",
    "heading_largest": "The largest flows",
    "largest_map": "Map of the largest flows between places.",
    "largest_help": "A line bends to the right on its way, ends in an arrow, and is wider for "
    "more trips. Drawn are the largest flows that noise does not hide.",
    "largest_none": "No line is drawn: noise hides the flows between all pairs of places.",
    "answer_places": "What this release can answer: how many trips begin and end in each of the "
    "places that are grey on the map, and in larger areas.",
    "answer_total": "What this release can answer: how many trips there are in all, and not where.",
    "answer_none": "What this release can answer: hardly anything, as the noise is larger than the "
    "number of all trips.",
    "ground_known": "trips that begin, for each square kilometre: darker for more",
    "ground_known_cells": "trips that begin, for each zone: darker for more",
    "ground_untold": "few or none: the noise hides how many",
    "ground_source": "Land, shore and towns: Natural Earth, public domain.",
    "attribute_hour": "hour",
    "attribute_daytype": "day type",
    "attribute_weekday": "weekday",
    "attribute_month": "month",
    "attribute_quarter": "quarter",
    "attribute_mode": "mode of transport",
    "attribute_purpose": "purpose",
    "column_from": "From",
    "column_to": "To",
    "column_trips": "Trips",
    "heading_places": "Flows of a place",
    "places_help": "Choose one of the {n} places with the most trips. Its map shows the largest "
    "flows out of it and into it, with their numbers in the tables.",
    "places_none": "This map is too large to list places: give a list of them (--places).",
    "places_empty": "No trips are released, so that no place has flows.",
    "places_unlisted": "Places not listed: {n}. They have fewer trips, or noise hides how many.",
    "place_summary": "{place}: {out} counted trips begin here ({out_low} to {out_high}), {into} "
    "end here ({into_low} to {into_high})",
    "place_few": "{place}",
    "place_out": "Trips out of it",
    "place_into": "Trips into it",
    "place_within": "within the place",
    "place_unlisted": "other places: {n}",
    "place_hidden": "too few to tell",
    "place_none": "no trips are released",
    "place_map": "Map of the largest flows of {place}.",
    "heading_labels": "Flows of a place by {names}",
    "labels_choose": "Show trips of",
    "labels_help": "Choose a label, and then one of the {n} places with the most trips: its map "
    "and its tables show its trips of this label. The bars show all labels, each with a line for "
    "its interval; pale bars are smaller than half of it.",
    "labels_help_one": "Choose a label: the map and the tables show trips of this label. The bars "
    "show all labels, each with a line for its interval; pale bars are smaller than half of it.",
    "labels_blocks": "Labels of trips were counted in blocks of {side} × {side} zones. Of smaller "
    "places they are estimated from these, and their intervals are wide.",
    "labels_blocks_units": "Labels of trips were counted in blocks of at most {side} zones. Of "
    "smaller places they are estimated from these, and their intervals are wide.",
    "labels_zones": "Labels of trips were counted from single zones and to single zones, with much "
    "noise, and between larger blocks. Between two zones they are estimated from these.",
    "labels_many": "This page does not show flows by {names}: it has at most {most} labels in all.",
    "labels_heading": "{attribute}: {label}",
    "labels_bars": "Trips out of {place} (left) and into it (right), by {attribute}",
    "heading_maps": "Where trips begin and end",
    "map_origins": "Map of where trips begin, for each square kilometre.",
    "map_destinations": "Map of where trips end, for each square kilometre.",
    "heading_always": "How to read flows",
    "always_agree": "Trips from every zone add up to its trips that begin, and trips to it to "
    "those that end. So they do in every area.",
    "always_estimated": "Trips were counted between blocks of {side} × {side} zones and larger "
    "ones. Between smaller places they are estimated from these, from both maps and from "
    "distance.",
    "always_estimated_units": "Trips were counted between blocks of at most {side} zones and "
    "larger ones. Between smaller places they are estimated from these, from both maps and from "
    "distance.",
    "always_counted": "Trips were counted between single zones, with much noise; distance and both "
    "maps fill in what the noise hides.",
    "always_far": "Very long trips, and trips within one zone, may be too many where they are "
    "estimated.",
    "files_table": "Noisy pairs of blocks; trips, origins and destinations have a folder each, "
    "with files for GIS",
}
"""Texts by name; the context of each in the catalogue is ``flows.`` and its name."""

FILES: Mapping[str, str] = {
    "flows": "trips between every two zones that have any, of all labels together, with standard "
    "errors and 95 % intervals by the size of the flow; pairs that are not listed have 0",
    "flows_marked": "{flows}; begins with the byte order mark of UTF-8",
    "flows_lines": "{flows}; with the lines from origins to destinations",
    "picture": "the largest flows that noise does not hide as a picture; where it hides all, maps "
    "of where trips begin and end",
    "pairs": "noisy trips between all blocks of {blocks}, before any estimate: unbiased, and often "
    "below 0",
    "labels_pairs": "noisy trips by label of all pairs of blocks of {blocks}, before any estimate: "
    "unbiased, and often below 0",
    "labels_origins": "noisy trips by label of all blocks of origins of {blocks}, before any "
    "estimate: unbiased, and often below 0",
    "labels_destinations": "noisy trips by label of all blocks of destinations of {blocks}, before "
    "any estimate: unbiased, and often below 0",
    "blocks": "the block of every zone, of each size that was measured",
    "prior": "trips between zones of the public prior that the flows were estimated with",
    "size_map": "{side} by {side} zones",
    "size_one": "one zone",
    "size_units": "at most {side} zones",
}
"""Descriptions of files in the index, and sizes of blocks in them."""

DURATIONS: Mapping[str, str] = {
    "s": "{number} s",
    "min": "{number} min",
    "h": "{number} h",
    "d": "{number} d",
}
"""Durations by their unit."""


def name_attributes(names: Sequence[str], texts: Mapping[str, str]) -> str:
    """Name attributes: standard ones in the language of the texts, others as they are."""
    return ", ".join(printable(texts.get(f"attribute_{name}", name)) for name in names)


def describe_file(
    texts: Mapping[str, str], kind: str, side: int = 1, *, on_map: bool = True
) -> str:
    """Describe a file of a release.

    Parameters
    ----------
    texts : mapping
        ``FILES``, or its translation.
    kind : str
        Its name there.
    side : int
        Of its blocks.
    on_map : bool
        Whether blocks are squares of a map, or of areal units.
    """
    size = "size_map" if on_map else "size_one" if side == 1 else "size_units"
    blocks = texts[size].format(side=side if on_map else side**2)
    return texts[kind].format(blocks=blocks, flows=texts["flows"])
