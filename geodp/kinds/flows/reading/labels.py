"""Labels of trips: hours and day types from their times, other labels from columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import CodeError, InputError, Rule, UsageError, printable, require_none
from geodp.grid.axes import Attribute
from geodp.io.read.rows import fields
from geodp.io.read.rows.arrow import decode
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.locators import ENDS
from geodp.io.read.rows.names import STANDARD
from geodp.io.read.rows.scratch import Columns
from geodp.io.write.tables import UNCERTAINTY_COLUMNS
from geodp.kinds.flows.reading.units import MONDAY, SECONDS_A_DAY, localise, read_seconds
from geodp.typing import IntArray

By: TypeAlias = str | Sequence[str] | Mapping[str, str]
"""Names of attributes; or a mapping of these to their columns."""

HOUR, DAY_TYPE = "hour", "daytype"
"""Attributes that are made from times."""

TIMED: dict[str, tuple[str, ...]] = {
    HOUR: STANDARD[HOUR].labels,
    DAY_TYPE: ("weekday", "weekend"),
}
"""Labels that are made from times, by attribute; hours are those of local time."""

SATURDAY = 6
"""Number of the first day of the weekend, counted from Monday as 1."""

DAY = {unit: 86_400 * 1_000**power for power, unit in enumerate(("s", "ms", "us", "ns"))}
"""Length of a day by the unit of timestamps."""

CLOCK = Rule(
    "flows-hour-needs-clock",
    "an hour needs a date and a time, such as 2024-05-01T07:30; dates alone have none.",
)

MIDNIGHTS = Rule(
    "flows-hour-midnight",
    "All times of this table are at midnight, as those of dates alone are, so that every trip "
    "would be in hour 0: give times with an hour; or, where they are right, texts such as "
    "2024-05-01T00:00.",
)

PER_PAIR_LABELS = Rule(
    "flows-per-pair-with-labels",
    "Trips of a person between two zones are not bounded where trips have labels: leave per_pair "
    "(--per-pair) out.",
)

LABELS_UNUSED = Rule(
    "flows-labels-unused",
    "Labels are of attributes that trips are published by: name each of them (--by, by=).",
)

TAKEN_NAMES = frozenset(
    (
        *("self", "origin", "destination"),
        *("count", "flow", "flows", "population", "noisy", "fid", "geometry", "bbox"),
        *UNCERTAINTY_COLUMNS,
        *(f"{end}_{axis}" for end in ENDS for axis in ("row", "col", "column", "x", "y", "block")),
    )
)
"""Names of the columns of tables of flows, and of the parameters of their estimates."""

TIMED_FACT = "that {} are those of {}, in {}"
"""Statement on labels that were made from times."""

DAY_TYPE_FACT = "that day types know weekends, and no public holidays"
"""Statement on day types that were made from times."""


@dataclass(frozen=True)
class TripLabels:
    """Attributes of trips, and where their labels come from.

    Attributes
    ----------
    attributes : tuple of Attribute
    columns : dict
        Column of each attribute, but of those that are made from times.
    """

    attributes: tuple[Attribute, ...]
    columns: dict[str, str]

    @classmethod
    def of(cls, by: By | None, labels: Mapping[str, Iterable[str]], time: str | None) -> TripLabels:
        """Read what trips are published by; ``time``: the column of times, if one is named.

        UsageError for an attribute without labels, and for labels without their attribute.
        """
        named = by if isinstance(by, Mapping) else dict.fromkeys(split_names(by), "")
        require_named(named)
        if not {*labels} <= {*named}:
            raise UsageError(LABELS_UNUSED)
        require_free(named)
        attributes = tuple(_make_attribute(name, labels.get(name)) for name in named)
        columns = {
            name: column or name
            for name, column in named.items()
            if column or name not in TIMED or time is None
        }
        # Hours and day types that are made from times have labels of their own.
        made = (one for one in attributes if one.name not in columns)
        if any(one.labels != TIMED[one.name] for one in made):
            raise UsageError(
                "Hours and day types that are made from times have labels of their own: leave "
                "--labels (labels=) of them out, or name the column that holds yours.",
                code="flows-timed-labels",
            )
        return cls(attributes, columns)

    @property
    def timed(self) -> tuple[str, ...]:
        """Attributes that are made from times."""
        return tuple(one.name for one in self.attributes if one.name not in self.columns)

    def state(self, times: str, zone: str | None) -> tuple[str, ...]:
        """State for the card which labels were made from times, and from which."""
        if not self.timed:
            return ()
        where = zone or "local time, as the times say it"
        names = {HOUR: "hours", DAY_TYPE: "day types"}
        made = " and ".join(names[one] for one in self.timed)
        facts = [TIMED_FACT.format(made, times, where)]
        return (*facts, *([DAY_TYPE_FACT] if DAY_TYPE in self.timed else []))


def require_named(names: Iterable[str]) -> None:
    """Raise UsageError for attributes whose names are empty."""
    if not all(name.strip() for name in names):
        raise UsageError(
            "An attribute of trips has an empty name: name each (--by NAME,NAME; by=).",
            code="flows-by-empty",
        )


def require_free(names: Iterable[str]) -> None:
    """Raise UsageError for attributes that are named as columns or parameters are."""
    taken = sorted(name for name in names if name.casefold() in TAKEN_NAMES)
    for name in taken:
        raise UsageError(
            f"An attribute of trips has the name of a column of flows, or of a parameter of their "
            f"estimates: {printable(name)}. Give it another name, and name its column (--by "
            f"NAME=COLUMN; by= with a mapping).",
            code="flows-attribute-taken",
        )


def split_names(by: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return names of attributes, each once; a text separates them by commas."""
    texts = by.split(",") if isinstance(by, str) else [*(by or ())]
    names = tuple(text.strip() for text in texts)
    if len({*names}) < len(names):
        raise UsageError("Each attribute of trips is named once.", code="flows-by-twice")
    return names


def _make_attribute(name: str, labels: Iterable[str] | None) -> Attribute:
    """Return an attribute with its labels: those that are listed, or standard ones."""
    if labels is None and name in TIMED:
        return Attribute(name, TIMED[name])
    if labels is None and name in STANDARD:
        return Attribute(name, STANDARD[name].labels)
    if labels is None:
        raise UsageError(
            f"List all labels of {printable(name)}, from a public source and never from the trips: "
            f"--labels NAME=LABEL,LABEL (labels=).",
            code="flows-labels-missing",
        )
    return Attribute(name, tuple(labels))


def label_times(times: pa.Array, names: Sequence[str], zone: str | None) -> list[IntArray]:
    """Return the number of the label of every time, for each attribute: int64[n].

    Parameters
    ----------
    times : texts, dates or timestamps [n]
    names : sequence of str
        Of ``TIMED``.
    zone : str or None
        Time zone of hours and days, for times that count from UTC; None: times are local already.

    Raises
    ------
    CodeError
        A time that is missing, written in another form, or without an hour where one is needed.
    UsageError
        Times from UTC without a zone, or an unknown zone.
    """
    if HOUR in names:
        require_clock(times)
    return label_seconds(read_seconds(times, zone), names, zone)


def label_seconds(seconds: IntArray, names: Sequence[str], zone: str | None) -> list[IntArray]:
    """Return the number of the label of every time, for each attribute: int64[n].

    Parameters
    ----------
    seconds : int64[n]
        What :func:`geodp.kinds.flows.reading.units.read_seconds` returns for this zone.
    names : sequence of str
        Of ``TIMED``.
    zone : str or None
        See :func:`label_times`; UsageError if it is unknown.
    """
    day, second = np.divmod(localise(seconds, zone), SECONDS_A_DAY)
    weekend = (day + MONDAY) % 7 >= SATURDAY - 1
    made = {HOUR: second // 3600, DAY_TYPE: weekend.astype(np.int64)}
    return [made[name] for name in names]


@dataclass
class Clock:
    """Check of a column of times, read batch by batch, that hours can be made from them.

    Attributes
    ----------
    dates : tuple of bool, or None
        Whether all timestamps so far are at midnight, of UTC and of their own zone; None: no times
        were read.
    """

    dates: tuple[bool, bool] | None = None

    def note(self, times: pa.Array) -> None:
        """Note whether some times are at midnight."""
        if len(times):
            found, before = are_midnights(times), self.dates or (True, True)
            self.dates = found[0] and before[0], found[1] and before[1]

    def complete(self, file: str) -> None:
        """Raise InputError where all hours of a table are those of dates; begin another table.

        Of a whole table, as a few trips may well begin at midnight.
        """
        dates, self.dates = self.dates, None
        if dates is not None and any(dates):
            raise InputError(MIDNIGHTS, file=file)


def are_midnights(times: pa.Array) -> tuple[bool, bool]:
    """Whether all of some times are timestamps at midnight, of UTC and of their own zone."""
    times = decode(times)
    if not pa.types.is_timestamp(times.type):
        return False, False
    local = times if times.type.tz is None else pc.local_timestamp(times)
    rests = [np.asarray(one.cast(pa.int64())) % DAY[times.type.unit] for one in (times, local)]
    return not rests[0].any(), not rests[1].any()


def require_clock(times: pa.Array) -> None:
    """Raise CodeError where a time is a date alone."""
    times = decode(times)
    kind = times.type
    if pa.types.is_date(kind) and len(times):
        raise CodeError(0, CLOCK)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        text = pc.utf8_trim_whitespace(times.cast(pa.string()))
        dated = pc.match_substring_regex(text, "^[0-9]{4}-?[0-9]{2}-?[0-9]{2}$")
        alone = pc.fill_null(dated, fill_value=False)
        require_none(alone.to_numpy(zero_copy_only=False), CLOCK)


@dataclass(eq=False)
class RecordLabels:
    """Labels of records from columns, over all files.

    Attributes
    ----------
    attributes : tuple of Attribute
    columns : tuple of str
        Column of each.
    """

    attributes: tuple[Attribute, ...]
    columns: tuple[str, ...]
    _tables: list[InputTable] = field(default_factory=list, repr=False)
    _starts: list[int] = field(default_factory=lambda: [0], repr=False)

    @classmethod
    def of(cls, labelled: TripLabels) -> RecordLabels:
        """Make the reader of the attributes that have columns."""
        some = tuple(one for one in labelled.attributes if one.name in labelled.columns)
        return cls(some, tuple(labelled.columns[one.name] for one in some))

    @property
    def held(self) -> int:
        """Bytes that the labels and the number of a row take while trips are made; 0 without any.

        All of them twice, as parts are joined, and the labels once more to be sorted.
        """
        labels = len(self.columns)
        return 2 * (4 * labels + 8) + 8 * labels if labels else 0

    def read(self, rows: RowPositions, arrays: Sequence[pa.Array]) -> Columns:
        """Read the labels of a batch; no columns without attributes.

        Returns
        -------
        int32[n] for each attribute
            Numbers of labels; their number where a row has none of them.
        int64[n]
            Numbers of the rows, which increase over all files.

        Raises InputError for a column that holds neither texts nor numbers.
        """
        if not self.columns:
            return ()
        if not self._tables or rows.table is not self._tables[-1]:
            self._tables.append(rows.table)
            self._starts.append(self._starts[-1])
        labels = []
        for attribute, column, array in zip(self.attributes, self.columns, arrays, strict=True):
            with rows.named(column):
                labels.append(fields.find_labels(array, attribute.labels))
        # The last of the starts is that of the next file: above all numbers so far.
        record = self._starts[-2] + rows.records(labels[0].size)
        if record.size:
            self._starts[-1] = int(record[-1]) + 1
        return (*labels, record)

    def split(self, columns: Columns) -> tuple[Columns, Columns]:
        """Split off what :meth:`read` returned from the end of the columns of rows."""
        own = len(columns) - (len(self.columns) + 1 if self.columns else 0)
        return columns[:own], columns[own:]

    def take(self, columns: Columns, row: IntArray) -> Mapping[str, IntArray]:
        """Take the labels of trips from their rows: int64[n] for each attribute, by its name.

        Parameters
        ----------
        columns : as :meth:`read` returns them
        row : int64[n]
            Row of each trip.

        Raises InputError at the first of these rows that has none of the labels of an attribute.
        """
        if not self.columns:
            return {}
        labels = [one[row].astype(np.int64) for one in columns[:-1]]
        sizes = [len(one.labels) for one in self.attributes]
        wrong = np.stack([one >= size for one, size in zip(labels, sizes, strict=True)])
        if wrong.any():
            record = np.where(wrong.any(axis=0), columns[-1][row], np.iinfo(np.int64).max)
            first = int(record.argmin())
            raise self._refuse(int(wrong[:, first].argmax()), int(record[first]))
        return dict(zip((one.name for one in self.attributes), labels, strict=True))

    def _refuse(self, attribute: int, record: int) -> InputError:
        """Return the error for a row without a label of an attribute, by its number."""
        at = bisect_right(self._starts[:-1], record) - 1
        table = self._tables[at]
        labels = ", ".join(self.attributes[attribute].labels)
        rule = Rule(
            "flows-record-label",
            f"a trip has its label from this row, and the labels of the attribute are {labels}; "
            "correct the label, or add one to the list (--labels, labels=).",
        )
        return InputError(
            Rule(rule.code, f"Column {self.columns[attribute]}: {rule}"),
            file=table.name,
            row=table.line(record - self._starts[at]),
        )
