"""What a card states of how the input was read: layout, columns and unit, and no record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from geodp.table.source import Fact


@dataclass(frozen=True)
class StatedLayout:
    """A publisher's layout that geodp knows, recognised by the header.

    Attributes
    ----------
    name, title : str
    source : str
        Where the publisher documents it.
    """

    name: str
    title: str
    source: str


@dataclass(frozen=True)
class StatedCounts:
    """A column or a band of counts, and the label of each attribute that it counts."""

    column: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StatedReading:
    """How the input was read, as the operator, a layout, a header or other metadata say.

    Nothing of it is taken from a record: neither numbers of rows nor what values look like. Names
    of files are no part of it.

    Attributes
    ----------
    form : {"table", "points", "raster", "array"}
    places : mapping of str to str
        Columns that say where a row is: ``code``; ``x`` and ``y``; ``geometry``; or those of axes.
    labels : mapping of str to str
        Columns of labels by attribute.
    counts : tuple of StatedCounts
        None where every row is one.
    layout : StatedLayout, optional
    anchor : {"centre", "corner", "index"}, optional
        What ``x`` and ``y`` of a table are of a cell.
    crs : str, optional
        Of the coordinates of points, where the operator names one.
    person : str, optional
        Column that tells persons apart.
    unit : str, optional
        Of the counts, in the words of a raster or an array.
    unit_value : str, optional
        What stands for one, where the operator says so.
    """

    form: Literal["table", "points", "raster", "array"]
    places: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    counts: tuple[StatedCounts, ...] = ()
    layout: StatedLayout | None = None
    anchor: Literal["centre", "corner", "index"] | None = None
    crs: str | None = None
    person: str | None = None
    unit: str | None = None
    unit_value: str | None = None

    def list_sentences(self) -> list[str]:
        """Return it in words.

        >>> counts = (StatedCounts("P_F", ("f",)), StatedCounts("P_M", ("m",)))
        >>> StatedReading(form="table", places={"code": "mesh"}, counts=counts).list_sentences()
        ['Read from a table.', 'Places: code in column mesh.', 'Counts: P_F (f), P_M (m).']
        """
        kind = {"array": "an array", "points": "records of points"}.get(self.form, f"a {self.form}")
        layout = ""
        if self.layout is not None:
            one = self.layout
            layout = f" in the layout {one.name}: {one.title} ({one.source})"
        found = [f"Read from {kind}{layout}."]
        if self.places:
            anchor = f" (the cell's {self.anchor})" if self.anchor else ""
            crs = f", in {self.crs}" if self.crs else ""
            found.append(f"Places: {_in_columns(self.places)}{anchor}{crs}.")
        if self.labels:
            found.append(f"Labels: {_in_columns(self.labels)}.")
        if self.counts:
            found.append(f"Counts: {', '.join(map(_name, self.counts))}.")
        if self.person is not None:
            found.append(f"Persons: in column {self.person}.")
        if self.unit is not None:
            found.append(f"Unit of the counts, as the input says: {self.unit}.")
        if self.unit_value is not None:
            found.append(f"Value of one: {self.unit_value}.")
        return found


def describe_facts(
    form: Literal["raster", "array"],
    facts: Iterable[Fact],
    name: str | None = None,
    places: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> StatedReading:
    """Describe for a card how a raster or an array is read, by what it or the operator says of it.

    Nothing that was inferred from values is among it. ``name``: of the counts; default: the band.
    """
    said = {one.field: one.value for one in facts if one.known_by in ("operator", "file")}
    band = f"band {said['band']}" if "band" in said else name
    return StatedReading(
        form=form,
        places=places or {},
        labels=labels or {},
        counts=() if band is None else (StatedCounts(band),),
        unit=said.get("unit"),
        unit_value=said.get("value of one person"),
    )


def join_descriptions(stated: Iterable[StatedReading | None]) -> StatedReading | None:
    """Return what is stated of several inputs alike; None where they differ.

    >>> table = StatedReading(form="table")
    >>> join_descriptions([table, table]) == table, join_descriptions([table, None]), join_descriptions([])
    (True, None, None)
    """
    several = [*stated]
    alike = bool(several) and all(one == several[0] for one in several)
    return several[0] if alike else None


def _in_columns(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} in column {column}" for name, column in columns.items())


def _name(counts: StatedCounts) -> str:
    return f"{counts.column} ({', '.join(counts.labels)})" if counts.labels else counts.column
