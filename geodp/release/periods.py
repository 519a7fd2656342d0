"""Periods of a series of any kind: times without gaps, and draws under a key for each of them.

Keys depend on the data of all periods: adding one to a series gives fresh noise everywhere, so that
no difference of two series reveals the data of one period.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.errors import UsageError, printable
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.noise.draws import Draws
from geodp.release.noise_identity import encode, loss_fields

Drawn = TypeVar("Drawn")

Step = Literal["year", "month", "day", "hour"]

_FORMS: dict[Step, tuple[str, str, str]] = {
    "year": (r"\d{4}", "Y", "2024"),
    "month": (r"\d{4}-\d{2}", "M", "2024-05"),
    "day": (r"\d{4}-\d{2}-\d{2}", "D", "2024-05-31"),
    "hour": (r"\d{4}-\d{2}-\d{2}T\d{2}", "h", "2024-05-31T23"),
}
"""Pattern of a time, NumPy's unit, and an example."""


_CLOCK = re.compile(
    r"(\d{4}-\d{2}-\d{2}T\d{2})(?::?\d{2}){0,2}(Z|[+-]\d{2}(?::?\d{2})?)?", re.ASCII
)
"""Pattern of an hour with minutes or an offset."""


@dataclass(frozen=True)
class Periods:
    """Equally spaced times of one step.

    Attributes
    ----------
    names : tuple of str
        In ISO 8601: ``2024``, ``2024-05``, ``2024-05-31`` or ``2024-05-31T23``; at least two.
    step : {"year", "month", "day", "hour"}
        Length of a snapshot.
    """

    names: tuple[str, ...]
    step: Step

    def __repr__(self) -> str:
        return f"Periods({self.names[0]} to {self.names[-1]}, {len(self.names)} {self.step}s)"

    @classmethod
    def of(cls, names: Sequence[str]) -> Self:
        """Validate times in chronological order.

        Raises
        ------
        UsageError
            There are fewer than two times; a time is no text, invalid or of another step than the
            first; or it is repeated, out of order or after a gap. Times are public, so the
            message contains it.

        Examples
        --------
        >>> Periods.of(["2024-12", "2025-01"]).step
        'month'
        """
        times = tuple(names)
        if not all(isinstance(time, str) for time in times):
            raise UsageError(
                'Times are texts in ISO 8601, such as "2024" or "2024-05".', code="times-not-texts"
            )
        if len(times) < 2:
            raise UsageError(
                "A series needs at least two snapshots; publish releases a single one.",
                code="snapshots-fewer-than-two",
            )
        step = _step_of(times)
        dates = _read(times, step)
        # In steps of the calendar: months have equal gaps, although their days differ.
        gaps = np.diff(dates).astype(np.int64)
        if len({*times}) < len(times):
            twice = next(name for name in times if times.count(name) > 1)
            raise UsageError(
                f"Two snapshots have the time {twice}; each time may occur once only.",
                code="snapshot-twice",
            )
        if int(gaps.min()) < 0:
            late = times[int(np.argmax(gaps < 0)) + 1]
            raise UsageError(
                f"The snapshots are not in chronological order: {late} comes too late.",
                code="snapshots-out-of-order",
            )
        # The smallest gap defines the spacing, as a series of every second or fifth period is
        # valid, too.
        if (wide := gaps != gaps.min()).any():
            missing = dates[int(np.argmax(wide))] + gaps.min()
            raise UsageError(
                f"The snapshot of {missing} is missing; a series has one for every {step}, or for "
                "every second, every fifth and so on.",
                code="snapshot-missing",
            )
        return cls(times, step)

    @property
    def dates(self) -> NDArray[np.datetime64]:
        """Start of each period, as pandas and xarray have it: datetime64[times], in nanoseconds."""
        return _read(self.names, self.step).astype("datetime64[ns]")

    @property
    def starts(self) -> NDArray[np.int64]:
        """Hours from the start of the first period to the start of each: int64[times]."""
        return self._hours(0)

    @property
    def ends(self) -> NDArray[np.int64]:
        """Hours from the start of the first period to the end of each: int64[times]."""
        return self._hours(1)

    @property
    def origin(self) -> str:
        """Start of the first period, in the notation of CF."""
        first = _read(self.names[:1], self.step).astype("datetime64[s]")[0]
        return str(first).replace("T", " ")

    def _hours(self, later: int) -> NDArray[np.int64]:
        """Return hours from the first start to that of each period, or ``later`` periods later."""
        dates = _read(self.names, self.step)
        # Months and years differ in length, so their hours follow from the calendar.
        hours = np.append(dates[:1], dates + later).astype("datetime64[h]").astype(np.int64)
        since: NDArray[np.int64] = hours[1:] - hours[0]
        return since


def _step_of(names: tuple[str, ...]) -> Step:
    """Return the step of all times."""
    for step, (form, _, example) in _FORMS.items():
        if not re.fullmatch(form, names[0], re.ASCII):
            continue
        for name in names:
            if not re.fullmatch(form, name, re.ASCII):
                _refuse_clock(name)
                raise UsageError(
                    f"The first time is a {step}, but {_quote(name)} is not; a {step} is written "
                    f"{example}.",
                    code="snapshot-step-differs",
                )
        return step
    _refuse_clock(names[0])
    examples = ", ".join(example for _, _, example in _FORMS.values())
    raise UsageError(
        f"{_quote(names[0])} is not a time of a snapshot; times are written {examples}.",
        code="snapshot-time-form",
    )


def _refuse_clock(name: str) -> None:
    """Raise UsageError, with the correct form, for a time that has an offset or minutes."""
    if not (match := _CLOCK.fullmatch(name)):
        return
    if match[2] is None:
        raise UsageError(
            f"{_quote(name)} has minutes; a snapshot lasts an hour or more.",
            code="snapshot-has-minutes",
        )
    hour = ""
    with suppress(ValueError):
        moment = datetime.fromisoformat(f"{match[1]}:00{match[2]}").astimezone(UTC)
        hour = "" if moment.minute else f": {moment:%Y-%m-%dT%H}"
    raise UsageError(
        f"{_quote(name)} has an offset. Write all hours in universal time, in which none is "
        f"repeated at the end of summer time{hour}.",
        code="snapshot-has-offset",
    )


def _read(names: tuple[str, ...], step: Step) -> NDArray[np.datetime64]:
    dates = []
    for name in names:
        try:
            dates.append(np.datetime64(name, cast(Literal["h"], _FORMS[step][1])))
        except ValueError:
            late = "; 24 is hour 00 of the next day" if name.endswith("T24") else ""
            raise UsageError(
                f"{_quote(name)} is not a {step} of the calendar{late}.",
                code="snapshot-not-in-calendar",
            ) from None
    return np.array(dates)


def _quote(name: str) -> str:
    return printable(name[:40])


def name_part(label: bytes, number: int) -> bytes:
    """Return the digest from which the key of a period is derived, counted from 0.

    ``label``: separates the kind of series from others.
    """
    return digest(label, encode(number))


def declare_periods(label: bytes, number: int, each: Draws) -> Draws:
    """Declare the draws of a period with the key of every period."""
    return Draws.of((), {name_part(label, t): each for t in range(number)})


def identify_periods(
    label: bytes, times: tuple[str, ...], person: str, total: Measurement, parts: Iterable[bytes]
) -> bytes:
    """Return the SHA-256 of everything that a series depends on except the key.

    Parameters
    ----------
    label : bytes
        Separates the kind of series from others.
    times : tuple of str
    person : str
        Whether a person may be in all periods or in one.
    total : Measurement
        Event of all periods together.
    parts : iterable of bytes
        Digest of each period.
    """
    named = ("times", times), ("person", person), ("whole", loss_fields(total))
    return digest(label, encode(named), *parts)


def draw_periods(
    label: bytes, times: Sequence[str], key: NoiseKey, draws: Sequence[Callable[[NoiseKey], Drawn]]
) -> tuple[Drawn, ...]:
    """Draw the periods, each with a key of its own."""
    drawn = []
    for number, (time, draw) in enumerate(zip(times, draws, strict=True)):
        progress.begin(f"Releasing {time}")
        with key.derive(name_part(label, number)) as own:
            drawn.append(draw(own))
    return tuple(drawn)
