"""The reading of all input files together, and the refusal of files that add no people.

A card states layout, columns and unit of a reading, but no record (:class:`StatedReading`).

A snapshot of a series may be empty, as a label or a cell may: its counts get noise like any others.
A named input may not be empty: a file, a partition's folder, or a value of a selection. Its people
would be missing from the entire release, and nothing would show it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from geodp.errors import Rule, UsageError
from geodp.table.source import Fact, Source


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


ROWS_FACT = (
    "that at least one row of every file that was read, or of the table in memory, meets the "
    "selection and lies in the domain: an input without one is refused before anything is charged"
)
"""Public fact of a release whose input :func:`require_rows` has checked."""

SERIES_ROWS_FACT = (
    "that at least one row of every file of the series, and of every value of a selection that "
    "several snapshots share, counts in a snapshot, and that not all snapshots are empty: such a "
    "series is refused before anything is charged; a single snapshot may be empty"
)
"""Public fact of a series whose snapshots :func:`require_rows_of_series` has checked."""

REMEDY = (
    "Nothing was charged. Check the selection, the codes and the domain (a command that has "
    "--check writes with --check --allow-empty for the operator what is read); or publish it all "
    "the same (--allow-empty, allow_empty=True)."
)


@dataclass(frozen=True)
class Reading:
    """The reading of all input files.

    Attributes
    ----------
    sources : tuple of Source
        Confidential.
    public_facts : tuple of str
        Statements of a release on how the counts were made.
    doubled : int
        Nonzero counts of repeated cells, which were added up; confidential.
    public : StatedReading or None
        A card's description of how all files were read; None if they were read in different ways.
    tallied : mapping of str to int
        Numbers of what rows were made into, such as stays and trips, by name; confidential.
    warnings : tuple of str
        Sentences for the operator about what was read; confidential.
    """

    sources: tuple[Source, ...] = field(repr=False)
    public_facts: tuple[str, ...] = ()
    doubled: int = field(default=0, repr=False)
    public: StatedReading | None = None
    tallied: Mapping[str, int] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        form = "" if self.public is None else f"{self.public.form}, "
        return f"Reading({form}confidential)"

    @property
    def inside(self) -> int:
        """Counts in the domain."""
        return sum(source.inside for source in self.sources)

    @property
    def totals(self) -> list[str]:
        """Columns of values whose titles say that they are the total of others."""
        return sorted({title for source in self.sources for title in source.totals})

    def describe(self) -> dict[str, Any]:
        """Return plain values: sums over all files, and each file's own."""
        each = [asdict(source) for source in self.sources]
        numbers = (
            *("rows", "selected", "inside", "outside", "people", "people_outside"),
            *("missing", "other", "without_person"),
        )
        sums = {name: sum(source[name] for source in each) for name in numbers}
        made = {"made": dict(self.tallied)} if self.tallied else {}
        return {**sums, "doubled": self.doubled, **made, "terms": self._terms(), "sources": each}

    def restate(self, facts: Sequence[Fact]) -> Reading:
        """Return the reading with these facts in place of all sources' facts of the same fields."""
        return replace(self, sources=tuple(source.restate(facts) for source in self.sources))

    def why_empty(self) -> str | None:
        """Explain why nothing of the input, or of one file, is counted; None if each file counts.

        A file that is left out by the names of its folders is not part of the input.
        """
        parts = [source for source in self.sources if not source.left_out]
        empty = [source for source in parts if not source.inside]
        if parts and not empty:
            return None
        # The name of a single file would add nothing to the message.
        if len(self.sources) == 1:
            return self.sources[0].explain_empty("the input")
        if not parts:
            return Rule(
                "input-folders-say-none",
                "The names of the folders say that no row of the input is selected.",
            )
        if len(empty) == len(parts):
            return self._why_all_empty(empty)
        others = " Other files add nobody either." if len(empty) > 1 else ""
        return empty[0].explain_empty(empty[0].name) + others

    def _why_all_empty(self, parts: list[Source]) -> str:
        # A term that no row meets is the likeliest mistake, so it is named first.
        unmet = [term for term, rows in self._terms().items() if not rows]
        if not any(source.rows for source in parts):
            return Rule("input-without-rows", "The input holds no rows.")
        if unmet:
            forms = sorted({source.forms.get(unmet[0], "") for source in parts} - {""})
            column = unmet[0].partition("=")[0]
            written = f"; column {column} is written as {', or '.join(forms)}" if forms else ""
            return Rule(
                "input-none-selected", f"No row of the input has {', or '.join(unmet)}{written}."
            )
        if not any(source.selected for source in parts):
            return Rule(
                "input-none-meets-all",
                "No row of the input meets all terms of the selection together.",
            )
        return Rule(
            "input-none-in-domain", "No row of the input that is selected lies in the domain."
        )

    def _terms(self) -> dict[str, int]:
        terms: Counter[str] = Counter()
        for source in self.sources:
            terms.update(source.terms)
        return dict(terms)


def join_known(each: Iterable[Reading | None]) -> Reading | None:
    """Join the readings of tables, of which None was made in Python; None: all were."""
    readings = [one for one in each if one is not None]
    return join_readings(readings) if readings else None


def join_readings(readings: Sequence[Reading]) -> Reading:
    """Join the readings of files that were read one by one."""
    facts = dict.fromkeys(fact for one in readings for fact in one.public_facts)
    sources = tuple(source for one in readings for source in one.sources)
    public = join_descriptions(one.public for one in readings)
    return Reading(sources, tuple(facts), sum(one.doubled for one in readings), public)


def require_rows(rows: int, reading: Reading | None, *, allow_empty: bool) -> tuple[str, ...]:
    """Raise UsageError if a file adds no people; return the public facts that follow.

    A mistaken selection or domain would be published as an empty map, or without one file's people,
    and charged. This check looks at the data: a release would reveal that it passed, and therefore
    states so as a public fact. With ``allow_empty`` nothing is checked or stated.

    Parameters
    ----------
    rows : int
        Occupied cells of a table without files.
    reading : Reading or None
        How the files were read; None without files.
    allow_empty : bool

    Raises UsageError.
    """
    facts = () if reading is None else reading.public_facts
    if allow_empty:
        return facts
    if reading is not None:
        why = reading.why_empty()
    else:
        why = None if rows else Rule("table-empty", "The table counts nobody.")
    if why is not None:
        raise UsageError(why + f" {REMEDY}")
    return (*facts, ROWS_FACT)


def require_rows_of_series(
    snapshots: Mapping[str, tuple[int, Reading | None]], *, allow_empty: bool
) -> tuple[str, ...]:
    """Raise UsageError if a named part of a series adds no people; return public facts.

    Refused are a file that adds nobody to any snapshot; a snapshot of which the names of folders
    leave out all files; a value of a selection that several snapshots share, or that is in
    quotation marks, and that adds nobody; and a series of empty snapshots alone. Any other snapshot
    may be empty: one of rows in memory, one of a file that has other snapshots too, one whose
    records all say 0. Like :func:`require_rows` this looks at the data, and is stated.

    Parameters
    ----------
    snapshots : mapping of str to (int, Reading or None)
        By time: rows that are counted, and what was read of the files; None: there are none.
    allow_empty : bool

    Raises UsageError.
    """
    readings = {time: read for time, (_, read) in snapshots.items() if read is not None}
    facts = tuple(dict.fromkeys(fact for one in readings.values() for fact in one.public_facts))
    if allow_empty:
        return facts
    why = _why_unmet(readings)
    if why is None and not any(rows for rows, _ in snapshots.values()):
        why = Rule("series-empty", "All snapshots of the series are empty.")
    if why is not None:
        raise UsageError(why + f" {REMEDY}")
    return (*facts, SERIES_ROWS_FACT)


def _why_unmet(readings: Mapping[str, Reading]) -> str | None:
    """Explain which file, folder or value adds no people to the series; None if all add some."""
    sources = [source for one in readings.values() for source in one.sources]
    # A raster of zeros was read and counts nobody: an outcome, not a mistake.
    filled = {source.name for source in sources if source.inside or source.says_zero}
    times = Counter(source.name for source in sources if not source.left_out)
    for source in sources:
        if source.left_out or source.in_memory or source.name in filled:
            continue
        others = " No other snapshot counts a row of it." if times[source.name] > 1 else ""
        return source.explain_empty(source.name) + others
    for time, one in readings.items():
        if one.sources and all(source.left_out for source in one.sources):
            return Rule(
                "snapshot-folders-say-none",
                f"The names of the folders say that no row of the snapshot {time} is selected.",
            )
    shared, met = Counter[str](), set[str]()
    for one in readings.values():
        terms = {term for source in one.sources for term in source.terms}
        shared.update(terms)
        met |= terms if one.inside else set()
    # A value of one snapshot alone may have no rows, as that snapshot may be empty; a shared one is
    # more likely misspelt.
    for term, number in shared.items():
        in_marks = '="' in term and term.endswith('"')
        if term not in met and (number > 1 or in_marks):
            return Rule("snapshot-term-unmet", f"No snapshot with {term} counts anybody.")
    return None
