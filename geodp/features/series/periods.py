"""Times of the snapshots of a series: years, months, days or hours, none missing and none twice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError, printable

Step = Literal["year", "month", "day", "hour"]

_FORMS: dict[Step, tuple[str, str, str]] = {
    "year": (r"\d{4}", "Y", "2024"),
    "month": (r"\d{4}-\d{2}", "M", "2024-05"),
    "day": (r"\d{4}-\d{2}-\d{2}", "D", "2024-05-31"),
    "hour": (r"\d{4}-\d{2}-\d{2}T\d{2}", "h", "2024-05-31T23"),
}
"""How a time is written, NumPy's unit of it, and an example."""


_CLOCK = re.compile(
    r"(\d{4}-\d{2}-\d{2}T\d{2})(?::?\d{2}){0,2}(Z|[+-]\d{2}(?::?\d{2})?)?", re.ASCII
)
"""An hour with minutes or an offset."""


@dataclass(frozen=True)
class Periods:
    """Times of one step, each as far from the one before as all others are.

    Attributes
    ----------
    names : tuple of str
        As ISO 8601 writes them: ``2024``, ``2024-05``, ``2024-05-31`` or ``2024-05-31T23``; two at
        least.
    step : {"year", "month", "day", "hour"}
        How long a snapshot lasts.
    """

    names: tuple[str, ...]
    step: Step

    def __repr__(self) -> str:
        return f"Periods({self.names[0]} to {self.names[-1]}, {len(self.names)} {self.step}s)"

    @classmethod
    def of(cls, names: Sequence[str]) -> Self:
        """Check times, in their order.

        Raises
        ------
        UsageError
            Fewer than two; a time that is none or of another step than the first; one that is there
            twice, before an earlier one or after a gap. Times are public, so the message names it.

        Examples
        --------
        >>> Periods.of(["2024-12", "2025-01"]).step
        'month'
        """
        given = tuple(names)
        if len(given) < 2:
            raise UsageError(
                "A series has two snapshots at least; publish releases a single one.",
                code="snapshots-fewer-than-two",
            )
        step = _step_of(given)
        found = _read(given, step)
        gaps = np.diff(found).astype(np.int64)
        if len({*given}) < len(given):
            twice = next(name for name in given if given.count(name) > 1)
            raise UsageError(
                f"Two snapshots have the time {twice}; a series has every time once.",
                code="snapshot-twice",
            )
        if int(gaps.min()) < 0:
            late = given[int(np.argmax(gaps < 0)) + 1]
            raise UsageError(
                f"The snapshots are not in the order of time: {late} comes too late.",
                code="snapshots-out-of-order",
            )
        if (wide := gaps != gaps.min()).any():
            missing = found[int(np.argmax(wide))] + gaps.min()
            raise UsageError(
                f"The snapshot of {missing} is missing; a series has one for every {step}, or for "
                "every second, every fifth and so on.",
                code="snapshot-missing",
            )
        return cls(given, step)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Hours from the beginning of the first period to that of each: int64[times]."""
        return self._hours(0)

    @property
    def ends(self) -> NDArray[np.int64]:
        """Return the same to the end of each."""
        return self._hours(1)

    @property
    def origin(self) -> str:
        """The beginning of the first period, as CF writes it."""
        first = _read(self.names[:1], self.step).astype("datetime64[s]")[0]
        return str(first).replace("T", " ")

    def _hours(self, later: int) -> NDArray[np.int64]:
        """Hours from the first beginning to that of each, or of so many periods later."""
        found = _read(self.names, self.step)
        hours = np.append(found[:1], found + later).astype("datetime64[h]").astype(np.int64)
        since: NDArray[np.int64] = hours[1:] - hours[0]
        return since


def _step_of(names: tuple[str, ...]) -> Step:
    """Return how long all of the periods last."""
    for step, (form, _, example) in _FORMS.items():
        if not re.fullmatch(form, names[0], re.ASCII):
            continue
        for name in names:
            if not re.fullmatch(form, name, re.ASCII):
                _refuse_clock(name)
                raise UsageError(
                    f"The times are {step}s, as the first is, and {_quote(name)} not; a {step} is "
                    f"written {example}.",
                    code="snapshot-step-differs",
                )
        return step
    _refuse_clock(names[0])
    examples = ", ".join(example for _, _, example in _FORMS.values())
    raise UsageError(
        f"{_quote(names[0])} is no time of a snapshot, which is written {examples}.",
        code="snapshot-time-form",
    )


def _refuse_clock(name: str) -> None:
    """Raise UsageError for a time that has an offset or minutes, with what to write instead."""
    if not (found := _CLOCK.fullmatch(name)):
        return
    if found[2] is None:
        raise UsageError(
            f"{_quote(name)} has minutes; a snapshot lasts an hour or more.",
            code="snapshot-has-minutes",
        )
    hour = ""
    with suppress(ValueError):
        moment = datetime.fromisoformat(f"{found[1]}:00{found[2]}").astimezone(UTC)
        hour = "" if moment.minute else f": {moment:%Y-%m-%dT%H}"
    raise UsageError(
        f"{_quote(name)} has an offset. Write all hours in universal time, where none is there "
        f"twice at the end of summer time{hour}.",
        code="snapshot-has-offset",
    )


def _read(names: tuple[str, ...], step: Step) -> NDArray[np.datetime64]:
    found = []
    for name in names:
        try:
            found.append(np.datetime64(name, cast(Literal["h"], _FORMS[step][1])))
        except ValueError:
            late = "; 24 is hour 00 of the next day" if name.endswith("T24") else ""
            raise UsageError(
                f"{_quote(name)} is no {step} of the calendar{late}.",
                code="snapshot-not-in-calendar",
            ) from None
    return np.array(found)


def _quote(name: str) -> str:
    return printable(name[:40])
