"""Texts of maps, of the page and of the files of a release in English, with fields in braces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from geodp.kinds.amounts.kind import StatedAmount

PAGE: Mapping[str, str] = {
    "title": "{name} by area",
    "title_period": "{name} by area, {time}",
    "intro": "Amounts of {name} are in {unit}; those below {lower} count as {lower}, and those "
    "above {upper} as {upper}. The numbers on this page are not exact. Before anybody saw them, "
    "random noise was added to them on purpose, so that nobody can find out much about any one "
    "{one} from them. Each number has an interval, which holds the true number in 19 of 20 cases.",
    "alone": "A small group far from all others may be released as 0, or as so few that its "
    "intervals do not hold the true numbers: 0 does not mean that nobody is there.",
    "period": "{time} is one of {number} periods from {first} to {last}. All of them together: "
    "{spends}.",
    "map_mean": "Mean {name} ({unit})",
    "map_median": "Median {name} ({unit})",
    "quantity_mean": "Mean ({unit})",
    "quantity_median": "Median ({unit})",
    "class_below": "below {end}",
    "class_from": "{begin} or more",
    "class_between": "{begin} to {end}",
    "untold": "not known well enough for a colour",
    "nothing_known": "No part of this map is known well enough for a colour: the noise is larger. "
    "Sums of larger areas may still tell something.",
    "merged": "Blocks that are not known well enough by themselves have the colour of the smallest "
    "block around them that is: 2 × 2 of them, 4 × 4 and so on.",
    "half": "Half the 95 % interval of whatever is coloured is at most {half} ({unit}).",
    "heading_mean": "Means",
    "heading_median": "Medians",
    "map_too_large": "This map is too large to be drawn whole; geodp map draws a part of it "
    "(--bounds).",
    "heading_places": "Area by area",
    "places_help": "Areas listed: {n}.",
    "places_one": "One area is listed.",
    "outside": "{place}: {percent} % of its area lies outside the map, and nothing there is "
    "counted.",
    "places_more": "The {n} areas with the most records are listed; all cells are in the table "
    "{file} of the release.",
    "places_none": "This map is too large to list areas: name some (--area or --polygons).",
    "column_count": "Records",
    "column_sum": "Sum ({unit})",
    "column_mean": "Mean ({unit})",
    "column_median": "Median ({unit})",
    "heading_always": "What always holds",
    "always_means": "In every area the sum divided by the count is the mean, and it lies from "
    "{lower} to {upper} ({unit}).",
    "always_same": "In every area the count is the number of persons of the given release.",
    "always_part": "In every area the count is at most the number of persons of the given release.",
    "always_classes": "In every area the records of all classes add up to its count.",
    "files_table": "Tables and maps of all numbers; the folder of records has more files for GIS",
}
"""Texts by name; the context of each in the catalogue is ``amounts.`` and its name."""

FILES: Mapping[str, str] = {
    "means": "records (count), sum and mean of {name} in {unit}",
    "classes": "records (count), records by class of {name}, and its median in {unit}",
    "both": "records (count), sum and mean of {name} in {unit}, records by class of {name}, and "
    "its median in {unit}",
    "table": "{columns} of every cell; low and high are the ends of 95 % intervals, and a blank "
    "mean or median may be any amount within the clip",
    "marked": "{table}; begins with the byte order mark of UTF-8",
    "outlines": "{table}; with the outlines of the cells",
    "units": "{table}; with the outlines of the units",
    "raster": "the numbers of the table as a map, north up; count, sum and classes of cells of the "
    "domain that the table does not list are 0, and their other numbers have no data",
}
"""Descriptions of files in the index; the context of each is ``amounts_files.`` and its name."""

FileKind = Literal["table", "marked", "outlines", "units", "raster"]
"""Names of the descriptions of entire files: tables, and the raster."""


def describe_file(texts: Mapping[str, str], kind: FileKind, amount: StatedAmount) -> str:
    """Describe a file of a release.

    Parameters
    ----------
    texts : mapping
        ``FILES``, or its translation.
    kind : {"table", "marked", "outlines", "units", "raster"}
        A table as it is, with the byte order mark, or with outlines of cells or of units; or the
        raster.
    amount : StatedAmount
    """
    columns = (
        "both" if amount.notches and amount.edges else "means" if amount.notches else "classes"
    )
    listed = texts[columns].format(name=amount.name, unit=amount.unit)
    return texts[kind].format(table=texts["table"].format(columns=listed), columns=listed)
