"""The scale of amounts: clip, step and unit, and the whole numbers that are counted on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from typing import Any

from geodp.errors import Rule, UsageError
from geodp.privacy.noise.law import LARGEST_SCALE

MOST_STEPS = 1 << 40
"""Most steps between the ends of the clip, and of an end from 0: sums then stay within int64."""

COARSEST = 64
"""How many times fewer notches than can be drawn the span may have: the noise of a level is then
at least some hundred notches wide, and rounding the sum of a cell by half of one adds nothing to
it."""

LARGEST = 10**17
"""Largest end of the clip, in units of the amount, as no larger amount is read
exactly, and tables hold sums in whole units."""

MOST_CLASSES = 100
"""Most classes of amounts, each of which is a map."""

MINUS = "\N{MINUS SIGN}"
"""Sign of negative amounts in labels: a spreadsheet reads a hyphen first as a formula."""

CLIP = Rule(
    "amounts-clip-form",
    "clip is a lower and an upper end of the amounts, public and chosen without the data, such as "
    "(0, 1000): --clip 0 1000.",
)

UNIT = Rule(
    "amounts-unit-missing",
    "Say what one amount is counted in, such as unit_of_amount='10,000 yen' (--unit-of-amount): a "
    "sum without a unit is not understood.",
)


def exact(value: Any, name: str) -> Fraction:
    """Return a number exactly as it is written; UsageError for anything else.

    Examples
    --------
    >>> exact(0.01, "step"), exact("1/8", "step")
    (Fraction(1, 100), Fraction(1, 8))
    """
    if isinstance(value, Fraction):
        return value
    try:
        if isinstance(value, bool):
            raise ValueError
        # Labels of amounts, and numbers that are copied from a text, may have a minus sign.
        text = str(value).strip().replace(MINUS, "-")
        return Fraction(text) if "/" in text else Fraction(Decimal(text))
    except (ValueError, InvalidOperation, OverflowError, ZeroDivisionError):
        raise UsageError(
            f"{name} is a number in plain digits, such as 1 or 0.01.", code="amounts-number-form"
        ) from None


@dataclass(frozen=True)
class Scale:
    """Amounts from a lower to an upper end, counted on a step.

    Attributes
    ----------
    lower, upper : int
        Ends of the clip, in steps.
    step : Fraction
        In units of the amount, above 0.
    unit : str
        Of the amount: ``"10,000 yen"``.
    name : str
        Of the amount: ``"income"``.
    """

    lower: int
    upper: int
    step: Fraction
    unit: str
    name: str

    @classmethod
    def of(cls, clip: Any, step: Any, unit: Any, name: Any) -> Scale:
        """Read the arguments of a front door; UsageError for ends that no step reaches.

        Examples
        --------
        >>> Scale.of((0, 1000), "0.5", "EUR", "rent").span
        2000
        """
        if not isinstance(clip, Sequence) or isinstance(clip, str) or len(clip) != 2:
            raise UsageError(CLIP)
        if not isinstance(name, str) or not name.strip():
            raise UsageError("Name the column of amounts (--amount).", code="amounts-column")
        if not isinstance(unit, str) or not unit.strip():
            raise UsageError(UNIT)
        size = exact(step, "step")
        if size <= 0:
            raise UsageError("step must be above 0.", code="amounts-step")
        ends = [exact(end, "clip") / size for end in clip]
        if any(end.denominator != 1 for end in ends):
            raise UsageError(
                "Both ends of the clip must be multiples of the step.", code="amounts-clip-step"
            )
        lower, upper = map(int, ends)
        if lower >= upper:
            raise UsageError(CLIP)
        if max(upper - lower, abs(lower), abs(upper)) > MOST_STEPS:
            raise UsageError(
                "The clip has more than 2**40 steps; choose a larger step.",
                code="amounts-too-many-steps",
            )
        scale = cls(lower, upper, size, " ".join(unit.split()), name.strip())
        if scale.largest * size > LARGEST:
            raise UsageError(
                "An end of the clip is beyond 10**17: choose a larger unit of the amount, such as "
                "one million.",
                code="amounts-clip-too-large",
            )
        return scale

    @property
    def largest(self) -> int:
        """Most steps from 0 to an end of the clip, or from one end to the other."""
        return max(self.span, abs(self.lower), abs(self.upper))

    def require_room(self, records: int, most: int) -> None:
        """Raise UsageError where the amounts of so many records may have too many steps.

        ``most``: steps that sums may have; in units, they may have as many as int64 holds.
        """
        steps = records * self.largest
        if steps > most or steps > (1 << 62) / max(self.step, Fraction(1)):
            raise UsageError(
                "All amounts together may be too large for sums that are exact: choose a larger "
                "step, a smaller clip or a larger unit of the amount.",
                code="amounts-sum-too-large",
            )

    @property
    def span(self) -> int:
        """Steps between the ends: what one record adds to both streams together."""
        return self.upper - self.lower

    @property
    def clip(self) -> tuple[Fraction, Fraction]:
        """The ends, in units of the amount."""
        return self.lower * self.step, self.upper * self.step

    def read_edges(self, edges: Any) -> tuple[int, ...]:
        """Read the edges of classes, in steps above the lower end; empty without classes.

        Parameters
        ----------
        edges : sequence of numbers
            Inner edges, or all of them; the ends of the clip are added.

        Raises UsageError for edges that do not increase, that no step reaches or that lie beyond
        the clip.
        """
        edges = () if edges is None else edges
        if isinstance(edges, str) or not hasattr(edges, "__iter__"):
            raise UsageError(
                "Give the edges of classes as a sequence of numbers, such as (100, 200, 500).",
                code="amounts-edges-form",
            )
        listed = [exact(edge, "classes") / self.step for edge in edges]
        if not listed:
            return ()
        if any(edge.denominator != 1 for edge in listed):
            raise UsageError(
                "Edges of classes must be multiples of the step.", code="amounts-edges-step"
            )
        inner = [int(edge) for edge in listed]
        every = [self.lower, *(e for e in inner if e not in (self.lower, self.upper)), self.upper]
        if any(a >= b for a, b in pairwise(every)) or len(every) > MOST_CLASSES + 1:
            raise UsageError(
                f"Edges of classes increase within the clip, for at most {MOST_CLASSES} classes.",
                code="amounts-edges-order",
            )
        return tuple(edge - self.lower for edge in every)

    def value(self, steps: float) -> float:
        """Convert a number of steps to units of the amount."""
        return float(steps) * float(self.step)

    def notches(self, width: float) -> int:
        """Return on how many parts of the span sums of cells are counted, so that noise is drawn.

        Parameters
        ----------
        width : float
            Largest scale or sigma of the noise of a count of records, at any level.

        Returns
        -------
        int
            The span, where its noise is no wider than can be drawn; otherwise its largest divisor
            for which that holds. UsageError where there is none that is not far smaller.
        """
        limit = int(LARGEST_SCALE / width)
        if self.span <= limit:
            return self.span
        fewest = max(limit // COARSEST, 1)
        found = next((n for n in range(limit, fewest - 1, -1) if self.span % n == 0), 0)
        if not found:
            raise UsageError(
                "The noise of these amounts would be wider than can be drawn: choose ends of the "
                "clip with a round number of steps between them, a larger step or a larger budget.",
                code="amounts-noise-too-wide",
            )
        return found


def show_number(value: Fraction) -> str:
    """Write a number in decimals where that is exact, and as a fraction otherwise.

    Examples
    --------
    >>> show_number(Fraction(1, 8)), show_number(Fraction(1000)), show_number(Fraction(1, 3))
    ('0.125', '1000', '1/3')
    """
    if value.denominator == 1:
        return str(value.numerator)
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return str(value)
    places = max(twos, fives)
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    return f"{'-' * (value < 0)}{digits[:-places]}.{digits[-places:]}"


def label_number(value: Fraction) -> str:
    """Write a number as a label of an axis, which :func:`exact` reads.

    Examples
    --------
    >>> label_number(Fraction(-1, 2)), show_number(exact(label_number(Fraction(-1, 2)), "edge"))
    ('−0.5', '-0.5')
    """
    return show_number(value).replace("-", MINUS)
