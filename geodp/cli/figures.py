"""Numbers of regions with 95 % intervals: a table, a document or a layer for every kind."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.output import write_file
from geodp.cli.translation import measure_width, translate, translate_message
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.accuracy.interval import Interval
    from geodp.accuracy.interval_arithmetic import Figures
    from geodp.release.regional import Compared

DASH = "\N{EN DASH}"
"""Text in place of a number that is not estimable, or that would reveal a hidden one."""


@dataclass(frozen=True)
class Row:
    """A number of a region, or a difference, as it is shown.

    Attributes
    ----------
    place : mapping of str to str
        Columns that say what it is a number of, such as the name of a region.
    quantity : str
    number : Interval or None
        None: not estimable.
    limit : int or None
        An office's limit of display, below which counts are hidden.
    below : bool
        Whether it hides this number.
    bare : bool
        Whether it hides the ends of the interval alone.
    more : mapping of str to object
        Further fields for programs.
    columns : tuple of str
        Further columns for people.
    starred : bool or None
        Whether a difference has a star; None: where its interval holds numbers of one sign.
    """

    place: Mapping[str, str]
    quantity: str
    number: Interval | None
    limit: int | None = None
    below: bool = False
    bare: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    starred: bool | None = None

    def to_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return plain values for JSON, which has hidden numbers, too, and says so.

        ``decimals``: to which numbers are rounded; None: all digits.
        """
        plain: dict[str, Any] = dict.fromkeys(("value", "low", "high"), None)
        plain |= {} if self.number is None else self.number.to_dict()
        plain |= self.more
        rounded = {
            name: round(one, decimals)
            if decimals is not None and isinstance(one, float) and math.isfinite(one)
            else one
            for name, one in plain.items()
        }
        mark = {} if self.limit is None else {"below": self.below}
        return {**self.place, "quantity": self.quantity, **rounded, **mark}

    def show_cutting(self) -> str:
        """Write the error of cutting of a number that is shown."""
        from geodp.table.display import show_estimate

        error = None if self.number is None else self.number.cutting_error
        return "" if error is None or self.below or self.bare else show_estimate(error)

    def cells(self, sign: str = "") -> tuple[str, ...]:
        """Write the value, its standard error, its interval, further columns, and a star."""
        from geodp.accuracy.interval import Estimate
        from geodp.table.display import is_below, show_estimate, show_limit

        one, limit = self.number, self.limit
        # Differences and ratios are no counts: a small one is shown.
        counted = limit is not None and isinstance(one, Estimate)

        def show(number: float) -> str:
            if counted and is_below(number, limit):
                return show_limit(limit or 0)
            return show_estimate(number, sign)

        if one is None or (self.below and not (counted and is_below(one.value, limit))):
            return DASH, "", DASH, *self.columns, ""
        if self.below:
            return show(one.value), "", DASH, *self.columns, ""
        error = None if self.bare else getattr(one, "standard_error", None)
        both = translate("{low} to {high}").format(low=show(one.low), high=show(one.high))
        ends = DASH if self.bare else both
        star = "*" if sign and (one.is_certain if self.starred is None else self.starred) else ""
        spread = "" if error is None else show_estimate(error)
        return show(one.value), spread, ends, *self.columns, star


@dataclass(frozen=True)
class ShownRows:
    """Numbers that a command answers with, and what is said of all of them.

    Attributes
    ----------
    rows : list of Row
    about : mapping of str to object
        Fields of the document before the rows.
    decimals : int or None
        Of numbers in the document; None: all digits.
    columns : tuple of str
        Headings of further columns of the rows.
    confidence : float
        Of the intervals, in percent.
    head, notes : tuple of str
        Lines before and after the table.
    """

    rows: list[Row]
    about: Mapping[str, Any] = field(default_factory=dict)
    decimals: int | None = None
    columns: tuple[str, ...] = ()
    confidence: float = 95
    head: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_document(self, what: str) -> dict[str, Any]:
        """Return the document for programs; ``what``: they are each, such as an estimate."""
        return {**self.about, f"{what}s": [one.to_dict(self.decimals) for one in self.rows]}

    def to_text(self, what: str) -> str:
        """Return the table for people; ``what``: they are each, such as a difference."""
        sign = "+" if what == "difference" else ""
        named = self.rows[0].place if self.rows else ("name",)
        places = ["region" if one == "name" else one for one in named]
        ends = translate("{confidence} % interval").format(confidence=f"{self.confidence:g}")
        words = (translate(one) for one in (*places, "", what, "standard error"))
        lines = [(*words, ends, *map(translate, self.columns), "")]
        last: Mapping[str, str] | None = None
        for one in self.rows:
            begin = one.place.values() if one.place != last else ("",) * len(places)
            lines.append((*begin, translate(one.quantity.replace("_", " ")), *one.cells(sign)))
            last = one.place
        head, notes = (map(translate_message, some) for some in (self.head, self.notes))
        return "\n".join([*head, align(lines, left=len(places) + 1), *notes])


def show_answers(answers: Mapping[str, ShownRows], options: Mapping[str, Any]) -> None:
    """Print what a command answers with: tables, or one document; or write it as CSV.

    Parameters
    ----------
    answers : mapping of str to ShownRows
        By what the numbers are each: an estimate, a difference or a ratio.
    options : mapping
        Of the command: ``as_json``, and ``output`` and ``overwrite`` where it writes a file.
    """
    if options["as_json"]:
        document: dict[str, Any] = {}
        for what, one in answers.items():
            document |= one.to_document(what)
        click.echo(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False))
    elif options.get("output") is not None:
        data = _write_csv([row for one in answers.values() for row in one.rows]).encode()
        write_file(options["output"], data, public=True, overwrite=options["overwrite"])
        click.echo(str(options["output"]))
    else:
        click.echo("\n\n".join(one.to_text(what) for what, one in answers.items()))


def _write_csv(rows: Sequence[Row]) -> str:
    """Write rows as CSV, with all digits of the numbers."""
    text = io.StringIO()
    plain = [one.to_dict() for one in rows]
    # Where and when stand first: changes have one more of these than levels.
    places = dict.fromkeys(name for one in rows for name in one.place)
    names = places | dict.fromkeys(name for one in plain for name in one)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain)
    return text.getvalue()


def list_estimates(place: Mapping[str, str], figures: Figures, limit: int | None) -> Iterator[Row]:
    """Yield the rows of a region's quantities; see `hide_figures`."""
    from geodp.accuracy.interval_arithmetic import hide_figures

    for quantity, hidden in hide_figures(figures, limit).items():
        yield Row(place, quantity, figures[quantity], limit, *hidden)


SIDES = ("old", "new")
"""Columns of the numbers of both sides of a difference."""


def list_differences(
    place: Mapping[str, str],
    compared: Compared,
    limits: Sequence[int | None],
    *,
    sides: bool = False,
) -> Iterator[Row]:
    """Yield the rows of differences of the quantities of two regions.

    A difference is hidden where one of both regions has a count below a limit of display.

    Parameters
    ----------
    place : mapping of str to str
    compared : Compared
    limits : sequence of int or None
        Limits of display of the release of the first region, and of that of the second.
    sides : bool
        Whether rows have the numbers of both regions, too.
    """
    rows = [
        {one.quantity: one for one in list_estimates(place, figures, limit)}
        for figures, limit in zip(compared[:2], limits, strict=True)
    ]
    below = any(one.below for found in rows for one in found.values())
    limit = next((one for one in limits if one is not None), None)
    for quantity, number in compared.difference.items():
        more: dict[str, Any] = {}
        columns: tuple[str, ...] = ()
        if sides:
            both = [found[quantity] for found in rows]
            numbers = [None if one.number is None else one.number.value for one in both]
            more, columns = (
                dict(zip(SIDES, numbers, strict=True)),
                tuple(o.cells()[0] for o in both),
            )
        yield Row(place, quantity, number, limit, below, more=more, columns=columns)


def align(lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """Write lines of cells as a table, whose first ``left`` columns begin below each other.

    Those after them end below each other.

    Examples
    --------
    >>> print(align([("region", "count"), ("5339", "12")]))
    region  count
    5339       12
    """
    widths = [max(map(measure_width, column)) for column in zip(*lines, strict=True)]

    def pad(cell: str, width: int, at: int) -> str:
        blank = " " * (width - measure_width(cell))
        return cell + blank if at < left else blank + cell

    return "\n".join(
        "  ".join(pad(*one) for one in zip(line, widths, range(len(line)), strict=True)).rstrip()
        for line in lines
    )


def mark_below(hidden: bool, limits: Sequence[int | None]) -> dict[str, bool]:
    """Return the field that tells programs what people see as below a limit of display.

    ``limits``: those of the releases; without any there is no such field.
    """
    return {} if all(one is None for one in limits) else {"below": hidden}


LAYERS = (".gpkg", ".geojson", ".fgb")
"""Endings of files of layers."""

OF_FILE = ("value", "standard_error", "low", "high", "cutting_error", "below")
"""What is written of a number, of all that a document has."""


def is_layer(path: Path | None) -> bool:
    """Test whether a file is a layer by its ending."""
    return path is not None and path.suffix.lower() in LAYERS


def write_layer(rows: Sequence[Row], options: Mapping[str, Any]) -> None:
    """Write polygons as they are in their file, with their fields and those of their numbers.

    Parameters
    ----------
    rows : sequence of Row
        Numbers of the polygons, by name; of a series each polygon is written for every period.
    options : mapping
        Of the command: ``polygons``, ``polygon_name``, ``output`` and ``overwrite``.

    Raises
    ------
    UsageError
        Something else than polygons is asked for, a field of the file is called as one of a
        number, or a library is missing.
    OutputError
        The file system refuses.
    """
    from geodp.io.read.public.polygons import name_polygons, read_layer
    from geodp.io.write.export.vector import encode_layer

    source, path = options["polygons"], options["output"]
    if source is None or options["area"] or options["box"]:
        raise UsageError(
            "A layer has the polygons of a file (--polygons FILE) alone: leave out --area and "
            "--box, or write a CSV file (--output FILE.csv).",
            code="layer-of-polygons-alone",
        )
    shapes, fields, crs = read_layer(source)
    names = name_polygons(source, fields, shapes.size, options["polygon_name"])
    at = {name: number for number, name in enumerate(names)}
    records = dict(sorted(_gather(rows).items(), key=lambda one: at[one[0][0]]))
    numbers = dict.fromkeys(name for one in records.values() for name in one)
    if taken := [name for name in fields if name.casefold() in {one.casefold() for one in numbers}]:
        raise UsageError(
            f"The polygons have a field {taken[0]!r} already; rename it.", code="layer-field-taken"
        )
    some = [at[name] for name, _ in records]
    columns = {name: [values[one] for one in some] for name, values in fields.items()}
    columns |= {name: [one.get(name) for one in records.values()] for name in numbers}
    data = encode_layer(path.name, shapes[some], columns, crs)
    write_file(path, data, public=True, overwrite=options["overwrite"])


def _gather(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, Any]]:
    """Gather the fields of each polygon, and period, from its numbers.

    Of a single quantity the ends of the interval have no name in front, as in files of counts.
    """
    alone = len({one.quantity for one in rows}) == 1
    gathered: dict[tuple[str, str], dict[str, Any]] = {}
    for one in rows:
        place = {name: text for name, text in one.place.items() if name != "name"}
        record = gathered.setdefault((one.place["name"], str(place)), {**place})
        plain, front = one.to_dict(), "" if alone else f"{one.quantity}_"
        for name in OF_FILE:
            if name in plain:
                record[one.quantity if name == "value" else f"{front}{name}"] = plain[name]
    return gathered
