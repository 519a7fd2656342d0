"""Rules by which records of places become stays: distances, durations and speeds, all public."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from string import Formatter
from typing import Self, cast

from geodp.errors import Rule, UsageError
from geodp.kinds.flows.kind import StatedStays

RADIUS, DWELL, GAP, SPEED = 200, "10min", "2h", 1000
"""Defaults: metres, durations, and kilometres an hour."""

MOST_METRES, MOST_SPEED, MOST_SECONDS = 100_000, 100_000, 366 * 86_400
"""Largest radius in metres, speed in kilometres an hour, and duration in seconds."""

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
"""Units of durations."""

DURATION = Rule(
    "flows-duration-form",
    "A duration is a whole number with a unit, such as 90s, 10min, 2h or 1d, or a whole number of "
    "seconds, from 1 second to 366 days.",
)

STAYS_FACT = (
    "that trips were made of the stays of each {unit} alone, in the order of their begin: a trip "
    "leads from a stay to the next one, also within a zone; stays of one zone that meet or overlap "
    "are one; of stays that begin at the same time those that end first come first, and no trip "
    "leads from one of them to another"
)
GAP_FACT = "that no trip leads from a stay to another one more than {gap} after it"
PINGS_FACT = (
    "that trips were made of the records of each {unit} alone, in the order of their times: a stay "
    "is a run of records within {radius:g} m of the first of them, over at least {dwell}, and is "
    "in the zone of the record that is closest to their mean position; a trip leads from a stay to "
    "the next one"
)
RESUMED_FACT = (
    "that a stay is one with the stay before if their mean positions are within {radius:g} m, and "
    "they are at most {dwell} apart or no record is between them, and is then in the zone of the "
    "record that is closest to the mean position of all records of both"
)
BROKEN_FACT = (
    "that no stay and no trip extends over more than {gap} without a record, or over a step of "
    "more than {radius:g} m at more than {speed:g} km/h; a record between two such steps was left "
    "out, and so were all but one of the records in one second"
)
DEGREES_FACT = (
    "that no place that was read{further} has a latitude beyond 90 degrees, or a longitude beyond "
    "360"
)
ACCURACY_FACT = (
    "that records whose accuracy is a radius of more than {largest:g} m were left out, by the "
    "column {accuracy}, and that this is a number of metres in every row that was read, and never "
    "negative"
)


def read_duration(value: object) -> int:
    """Return a duration in seconds; UsageError for another form.

    >>> read_duration("10min"), read_duration("2 h"), read_duration(90)
    (600, 7200, 90)
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        seconds = int(value)
    else:
        match = re.fullmatch(r"([0-9]{1,9}) *(s|min|h|d)", str(value).strip())
        if match is None:
            raise UsageError(DURATION)
        seconds = int(match[1]) * SECONDS[match[2]]
    if not 1 <= seconds <= MOST_SECONDS:
        raise UsageError(DURATION)
    return seconds


def say_duration(seconds: int) -> str:
    """Write a duration in its largest unit that is exact.

    >>> say_duration(600), say_duration(86_400), say_duration(90)
    ('10 min', '1 d', '90 s')
    """
    number, unit = split_duration(seconds)
    return f"{number} {unit}"


def split_duration(seconds: int) -> tuple[int, str]:
    """Return a duration in its largest unit that is exact, and this unit.

    >>> split_duration(7200)
    (2, 'h')
    """
    unit = max((one for one in SECONDS if seconds % SECONDS[one] == 0), key=SECONDS.__getitem__)
    return seconds // SECONDS[unit], unit


def find_fact(fact: str, facts: Iterable[str]) -> Mapping[str, str] | None:
    """Find the first of some facts that has a form, and return the texts of its fields.

    ``fact``: the form, with fields in braces. None where no fact has it.

    >>> find_fact("that {n} are {what}", ["else", "that 2 are red"])
    {'n': '2', 'what': 'red'}
    """
    form, seen = "", set[str]()
    for text, name, _, _ in Formatter().parse(fact):
        form += re.escape(text)
        if name is not None:
            form += f"(?P={name})" if name in seen else f"(?P<{name}>.+?)"
            seen.add(name)
    found = next(filter(None, map(re.compile(form).fullmatch, facts)), None)
    return None if found is None else found.groupdict()


def find_stays(facts: Iterable[str]) -> StatedStays | None:
    """Find in the facts of a card by which rules trips were made of pings or stays.

    None where trips were given.
    """
    facts = (*facts,)
    run, broken = find_fact(PINGS_FACT, facts), find_fact(BROKEN_FACT, facts)
    if run is not None and broken is not None:
        radius, dwell, gap = run["radius"], run["dwell"], broken["gap"]
        return StatedStays(read_duration(gap), float(radius), read_duration(dwell))
    if find_fact(STAYS_FACT, facts) is None:
        return None
    apart = find_fact(GAP_FACT, facts)
    return StatedStays(None if apart is None else read_duration(apart["gap"]))


def require_amount(name: str, value: object, most: int, unit: str) -> float:
    """Return a positive number; UsageError for another, or one above ``most``."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if isfinite(number) and 0.01 <= number <= most:
            return number
    raise UsageError(
        f"{name} must be a number from 0.01 to {most:,} {unit}.", code="flows-amount-form"
    )


@dataclass(frozen=True)
class StayRules:
    """Rules by which records of a unit become stays.

    Attributes
    ----------
    radius : float
        Metres within which the records of a stay are.
    dwell, gap : int
        Least seconds of a stay, and most seconds without a record.
    speed : float
        Kilometres an hour above which a step is taken for an error.
    """

    radius: float
    dwell: int
    gap: int
    speed: float

    @classmethod
    def of(cls, radius: object, dwell: object, gap: object, speed: object) -> Self:
        """Read the rules; None is the default of each. UsageError for what is none."""
        return cls(
            require_amount("radius", RADIUS if radius is None else radius, MOST_METRES, "m"),
            read_duration(DWELL if dwell is None else dwell),
            read_duration(GAP if gap is None else gap),
            require_amount("speed", SPEED if speed is None else speed, MOST_SPEED, "km/h"),
        )

    @property
    def limits(self) -> tuple[int, int, int, int]:
        """Radius in centimetres, speed in centimetres a second, dwell and gap in seconds."""
        speed = max(1, round(self.speed * 1e5 / 3600))
        return round(self.radius * 100), speed, self.dwell, self.gap

    def state(self, unit: str) -> tuple[str, ...]:
        """State the rules for the card."""
        dwell, gap = say_duration(self.dwell), say_duration(self.gap)
        return (
            PINGS_FACT.format(unit=unit, radius=self.radius, dwell=dwell),
            RESUMED_FACT.format(radius=self.radius, dwell=dwell),
            BROKEN_FACT.format(gap=gap, radius=self.radius, speed=self.speed),
        )


def require_accuracy(largest: object, accuracy: str | None, rules: StayRules) -> float:
    """Return the largest accuracy radius of records that are used; default: that of stays."""
    if largest is None:
        return rules.radius
    if accuracy is None:
        raise UsageError(
            "A largest accuracy needs the column of accuracies (--accuracy, accuracy=).",
            code="flows-accuracy-missing",
        )
    return require_amount("largest_accuracy", cast(float, largest), MOST_METRES, "m")
