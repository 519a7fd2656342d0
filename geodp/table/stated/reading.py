"""Reading of the input, as a card states it: layout, columns and unit, but no record."""

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
    """Reading of the input, as the operator, a layout, a header or other metadata state it.

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
        Columns of counts; empty where every row is one.
    layout : StatedLayout, optional
    anchor : {"centre", "corner", "index"}, optional
        Which point of a cell ``x`` and ``y`` of a table are.
    crs : str, optional
        CRS of the coordinates of points, where the operator names one.
    person : str, optional
        Column that identifies persons.
    unit : str, optional
        Unit of the counts, as a raster or an array states it.
    unit_value : str, optional
        The value that stands for one unit, where the operator states it.
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

    @property
    def of_records(self) -> bool:
        """Whether every row was one: a person, a trip or another record, and no count."""
        return self.form in ("table", "points") and not self.counts

    def list_sentences(self) -> list[str]:
        """Describe the reading in sentences.

        >>> counts = (StatedCounts("P_F", ("f",)), StatedCounts("P_M", ("m",)))
        >>> StatedReading(form="table", places={"code": "mesh"}, counts=counts).list_sentences()
        ['Read from a table.', 'Places: code in column mesh.', 'Counts: P_F (f), P_M (m).']
        """
        kind = {"array": "an array", "points": "records of points"}.get(self.form, f"a {self.form}")
        layout = ""
        if self.layout is not None:
            one = self.layout
            layout = f" in the layout {one.name}: {one.title} ({one.source})"
        sentences = [f"Read from {kind}{layout}."]
        if self.places:
            anchor = f" (the cell's {self.anchor})" if self.anchor else ""
            crs = f", in {self.crs}" if self.crs else ""
            sentences.append(f"Places: {_in_columns(self.places)}{anchor}{crs}.")
        if self.labels:
            sentences.append(f"Labels: {_in_columns(self.labels)}.")
        if self.counts:
            sentences.append(f"Counts: {', '.join(map(_name, self.counts))}.")
        if self.person is not None:
            sentences.append(f"Persons: in column {self.person}.")
        if self.unit is not None:
            sentences.append(f"Unit of the counts, as the input says: {self.unit}.")
        if self.unit_value is not None:
            sentences.append(f"Value of one: {self.unit_value}.")
        return sentences


def describe_facts(
    form: Literal["raster", "array"],
    facts: Iterable[Fact],
    name: str | None = None,
    places: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> StatedReading:
    """Describe for a card how a raster or an array is read, by what it or the operator says of it.

    Facts inferred from values are left out. ``name``: of the counts; default: the band.
    """
    facts_by_field = {one.field: one.value for one in facts if one.known_by in ("operator", "file")}
    band = f"band {facts_by_field['band']}" if "band" in facts_by_field else name
    return StatedReading(
        form=form,
        places=places or {},
        labels=labels or {},
        counts=() if band is None else (StatedCounts(band),),
        unit=facts_by_field.get("unit"),
        unit_value=facts_by_field.get("value of one person"),
    )


def join_descriptions(readings: Iterable[StatedReading | None]) -> StatedReading | None:
    """Return the common reading of several inputs; None if they differ.

    >>> table = StatedReading(form="table")
    >>> join_descriptions([table, table]) == table, join_descriptions([table, None])
    (True, None)
    """
    several = [*readings]
    alike = bool(several) and all(one == several[0] for one in several)
    return several[0] if alike else None


def _in_columns(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} in column {column}" for name, column in columns.items())


def _name(counts: StatedCounts) -> str:
    return f"{counts.column} ({', '.join(counts.labels)})" if counts.labels else counts.column
