"""Labels of trips: hours and day types from their times, other labels from columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import CodeError, Rule, UsageError, printable
from geodp.features.flows.reading.periods import TIME_FORM, read_local_times
from geodp.grid.axes import Attribute
from geodp.io.read.rows.known_attributes import STANDARD
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

CLOCK = Rule(
    "flows-hour-needs-clock",
    "an hour needs a date and a time, such as 2024-05-01T07:30; dates alone have none.",
)

LABELS_UNUSED = Rule(
    "flows-labels-unused",
    "Labels are of attributes that trips are published by: name each of them (--by, by=).",
)

TIMED_FACT = "that {} are those of the column {}, in {}"
"""Statement on labels that were made from times."""

DAY_TYPE_FACT = "that day types know weekends, and no public holidays"
"""Statement on day types that were made from times."""


@dataclass(frozen=True)
class LabelColumns:
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
    def of(
        cls, by: By | None, labels: Mapping[str, Iterable[str]], time: str | None
    ) -> LabelColumns:
        """Read what trips are published by; ``time``: the column of times, if one is named.

        UsageError for an attribute without labels, and for labels without their attribute.
        """
        named = by if isinstance(by, Mapping) else dict.fromkeys(split_names(by), "")
        if not {*labels} <= {*named}:
            raise UsageError(LABELS_UNUSED)
        attributes = tuple(_make_attribute(name, labels.get(name)) for name in named)
        columns = {
            name: column or name
            for name, column in named.items()
            if column or name not in TIMED or time is None
        }
        return cls(attributes, columns)

    @property
    def timed(self) -> tuple[str, ...]:
        """Attributes that are made from times."""
        return tuple(one.name for one in self.attributes if one.name not in self.columns)

    def require_timed_labels(self) -> None:
        """Raise UsageError where labels that are made from times were listed otherwise."""
        for one in self.attributes:
            if one.name in self.timed and one.labels != TIMED[one.name]:
                raise UsageError(
                    "Hours and day types that are made from times have labels of their own: leave "
                    "--labels (labels=) of them out, or name the column that holds yours.",
                    code="flows-timed-labels",
                )

    def state(self, time: str | None, zone: str | None) -> tuple[str, ...]:
        """State for the card which labels were made from times."""
        if not self.timed:
            return ()
        where = zone or "local time, as the times say it"
        names = {HOUR: "hours", DAY_TYPE: "day types"}
        made = " and ".join(names[one] for one in self.timed)
        facts = [TIMED_FACT.format(made, time, where)]
        return (*facts, *([DAY_TYPE_FACT] if DAY_TYPE in self.timed else []))


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
        _require_clock(times)
    local = read_local_times(times, zone)
    missing = local.is_null().to_numpy(zero_copy_only=False)
    if missing.any():
        raise CodeError(int(np.argmax(missing)), TIME_FORM)
    made = {
        HOUR: lambda: pc.hour(local),
        DAY_TYPE: lambda: pc.greater_equal(
            pc.day_of_week(local, count_from_zero=False), SATURDAY
        ).cast(pa.int64()),
    }
    return [np.asarray(made[name]().to_numpy(zero_copy_only=False), np.int64) for name in names]


def _require_clock(times: pa.Array) -> None:
    """Raise CodeError where a time is a date alone."""
    kind = times.type
    if pa.types.is_dictionary(kind):
        times, kind = times.cast(kind.value_type), kind.value_type
    if pa.types.is_date(kind) and len(times):
        raise CodeError(0, CLOCK)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        text = pc.utf8_trim_whitespace(times.cast(pa.string()))
        dated = pc.match_substring_regex(text, "^[0-9]{4}-?[0-9]{2}-?[0-9]{2}$")
        alone = pc.fill_null(dated, fill_value=False).to_numpy(zero_copy_only=False)
        if alone.any():
            raise CodeError(int(np.argmax(alone)), CLOCK)
