"""Numbers as a raster or an array stores them, and the integer counts that they represent.

A pixel means ``(stored * scale + offset) / unit`` people. Scale, offset and unit are the decimals
that somebody wrote, so that they are held as fractions: stored integers become counts by integer
arithmetic, and stored floats only where they can hold every whole number of that size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError, require_none
from geodp.table.source import Fact

Number: TypeAlias = int | float

INTEGER_TOLERANCE = Fraction(1, 10_000)
"""Largest distance of a count from an integer, apart from the rounding of its floats."""

MAX_COUNT = 1 << 60
"""Exclusive upper limit of a count."""

FINITE = Rule("stored-not-finite", "a value must be finite; nodata or NaN mean no people.")
NEGATIVE = Rule(
    "stored-negative",
    "a value is negative; if it means no people, give the stored number as missing (--missing, "
    "missing=).",
)
FRACTION = Rule(
    "stored-fraction",
    "a value is not a whole number of units (--raster-unit, value_unit=); round fractional counts "
    "of a model with --round (rounding=; an array in memory with array.round()).",
)
TOO_LARGE = Rule(
    "stored-too-large", "a value is above 2**60, which no population is; check the unit."
)
LOSSY = Rule(
    "stored-digits-lost",
    "a floating-point number this large may have lost digits, as {} cannot hold every whole number "
    "of its size; write the data again from their source with an integer type, such as int64, "
    "which is exact.",
)

CLASSES = ("flag_values", "flag_masks", "flag_meanings")
"""Attributes of variables whose numbers are classes."""

DENSITY = re.compile(r"densit|dichte|密度", re.IGNORECASE)
RATE = re.compile(r"/|%|[²⁻]|\bper\b|\bpercent|\*\*|\b(?:km|m|ha)\^?-[12]\b|\bpro\b", re.IGNORECASE)
MULTIPLE = re.compile(r"\d|hundred|thousand|milli?on|billion|\bdozen|tausend|千|万", re.IGNORECASE)
QUANTITIES = re.compile(
    r"[kcm]?m2?|(?:kilo|centi|milli)?met(?:re|er)s?|foot|feet|ft|inch(?:es)?|miles?|sq ?k?m|"
    r"k|kelvin|(?:deg ?)?[cf]|celsius|fahrenheit|deg(?:ree)?s?(?:_.*)?|rad(?:ian)?s?|"
    r"k?g|t|tonnes?|s|sec(?:ond)?s?|min(?:ute)?s?|h|hours?|d|days?|months?|years?|"
    r"[hk]?pa|m?bar|db|[km]?w|[km]?j|v|a|hz|ha|hectares?|acres?|fraction|ratio",
    re.IGNORECASE,
)
"""Units of measured quantities, which are not counts."""


@dataclass(frozen=True)
class Stored:
    """Conversion of stored numbers to counts.

    Attributes
    ----------
    scale, offset : Fraction
        Value = stored * scale + offset.
    unit : Fraction
        Value of one person.
    missing : tuple of int or float
        Stored numbers that mean no people.
    low, high : int, float or None
        Smallest and largest valid stored number; others mean no people.
    digits : int or None
        Binary digits of the narrowest floating-point type that the numbers went through; None:
        the type of the array says it.

    Examples
    --------
    >>> Stored(scale=Fraction(1, 10)).counts(np.array([10, 30], np.int16)).tolist()
    [1, 3]
    """

    scale: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    unit: Fraction = Fraction(1)
    missing: tuple[Number, ...] = ()
    low: Number | None = None
    high: Number | None = None
    digits: int | None = None

    def present(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which stored numbers, of any shape, are valid counts and not missing values."""
        valid = np.ones(values.shape, np.bool_)
        if values.dtype.kind == "f":
            # NaN is missing by convention, whether or not the file declares it.
            valid &= ~np.isnan(values)
        for number in self.missing:
            valid &= ~_equal(values, number)
        with np.errstate(invalid="ignore"):
            if self.low is not None:
                valid &= values >= self.low
            if self.high is not None:
                valid &= values <= self.high
        return valid

    def nonzero(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which stored numbers, of any shape, do not mean exactly 0."""
        # The stored number that means 0 people, which need not be 0 itself.
        zero = -self.offset / self.scale
        if zero.denominator == 1:
            return ~_equal(values, int(zero))
        return ~_equal(values, float(zero)) if values.dtype.kind == "f" else _all(values)

    def counts(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Convert stored numbers to counts: int64[n]; CodeError at the first invalid one."""
        return self._of_floats(values) if values.dtype.kind == "f" else self._of_integers(values)

    def fractions(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Convert stored numbers to fractional people, for rounding: float64[n].

        CodeError at the first float that may have lost whole people.
        """
        if values.dtype.kind == "f":
            require_none(~self._keeps_digits(values), LOSSY.format(values.dtype))
        each = self.scale / self.unit, self.offset / self.unit
        return np.asarray(values.astype(np.float64) * float(each[0]) + float(each[1]), np.float64)

    def _of_integers(self, values: NDArray[Any]) -> NDArray[np.int64]:
        each, shift = self.scale / self.unit, self.offset / self.unit
        denominator = lcm(each.denominator, shift.denominator)
        times, plus = int(each * denominator), int(shift * denominator)
        if (denominator, times, plus) == (1, 1, 0):
            if values.dtype.kind == "i":
                require_none(values < 0, NEGATIVE)
            require_none(values >= MAX_COUNT, TOO_LARGE)
            return values.astype(np.int64)
        # Largest magnitude, to see whether the scaled numerators still fit int64.
        reach = max(-int(values.min(initial=0)), int(values.max(initial=0)))
        # Fractions as integer arithmetic over a common denominator; Python integers only if int64
        # overflows.
        wide = 2 * (reach * abs(times) + abs(plus)) + denominator >= 1 << 63
        numerator = values.astype(object if wide else np.int64) * times + plus
        nearest = (2 * numerator + denominator) // (2 * denominator)
        away = np.abs(numerator - nearest * denominator)
        require_none(numerator < 0, NEGATIVE)
        require_none(away > int(denominator * INTEGER_TOLERANCE), FRACTION)
        require_none(nearest >= MAX_COUNT, TOO_LARGE)
        return np.asarray(nearest, np.int64)

    def _of_floats(self, values: NDArray[Any]) -> NDArray[np.int64]:
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = values.astype(np.float64) * float(self.scale) / float(self.unit)
            people = scaled + float(self.offset / self.unit)
            nearest = np.rint(people)
            # An offset can cancel most of a value, so the rounding is relative to the value before
            # it.
            size = np.maximum(np.abs(nearest), np.abs(scaled))
            allowed = np.minimum(float(INTEGER_TOLERANCE) + np.finfo(values.dtype).eps * size, 0.1)
            require_none(~np.isfinite(people), FINITE)
            require_none(people < 0, NEGATIVE)
            require_none(~self._keeps_digits(values), LOSSY.format(values.dtype))
            require_none(np.abs(people - nearest) > allowed, FRACTION)
            require_none(people >= MAX_COUNT, TOO_LARGE)
        return nearest.astype(np.int64)

    def _keeps_digits(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where stored floats are spaced by at most one person, or are not finite.

        Beyond that, one float stands for several integers, and the original count is lost.
        """
        type_digits = np.finfo(values.dtype).nmant + 1
        digits = type_digits if self.digits is None else min(type_digits, self.digits)
        wide = np.abs(values.astype(np.float64))
        step = np.ldexp(1.0, np.frexp(wide)[1] - digits)
        return np.asarray(~np.isfinite(wide) | (step * float(abs(self.scale) / self.unit) <= 1))


def read_stored(
    attributes: Mapping[str, Any],
    dtype: np.dtype[Any],
    *,
    unit: float | None = None,
    missing: Sequence[float] = (),
) -> Stored:
    """Read the conversion of stored numbers from attributes of the conventions CF and NUG.

    Parameters
    ----------
    attributes : mapping of str
        ``scale_factor``, ``add_offset``, ``_FillValue``, ``missing_value``, ``valid_min``,
        ``valid_max``, ``valid_range`` and others, with numbers, arrays of numbers or texts. A
        fill may be signed where the type is not, as ``_Unsigned`` makes it.
    dtype : dtype
        Type of the stored numbers.
    unit : float, optional
        Value of one person, as somebody stated it. Default: 1.
    missing : sequence of float
        Further stored numbers that mean no people.

    Raises
    ------
    UsageError
        Attributes that are not numbers, or that contradict each other.
    """
    scale = _one(attributes, "scale_factor")
    offset = _one(attributes, "add_offset")
    factor = Fraction(1) if scale is None else exact(scale)
    if not factor:
        raise UsageError(
            "The scale_factor is 0; every number would mean the same.", code="scale-factor-0"
        )
    low, high = _one(attributes, "valid_min"), _one(attributes, "valid_max")
    limits = _numbers(attributes, "valid_range")
    if limits:
        if len(limits) != 2 or (low, high) != (None, None):
            raise UsageError(
                "valid_range is two numbers, without valid_min and valid_max beside it; delete "
                "the attribute that is wrong.",
                code="valid-range-form",
            )
        low, high = limits
    for number in (low, high):
        if number is not None and not isfinite(number):
            raise UsageError(
                "A limit of valid values is no finite number; delete the attribute.",
                code="valid-limit-not-finite",
            )
    packed = factor != 1 or bool(offset)
    # CF leaves open whether limits refer to packed or unpacked data unless their type shows it.
    if packed and dtype.kind in "iu" and any(isinstance(one, float) for one in (low, high)):
        raise UsageError(
            "The limits of valid values are of another type than the stored integers, so that it "
            "is not certain whether they are meant before or after scale_factor; write them in "
            "the type of the stored numbers.",
            code="valid-limit-type",
        )
    fills = [
        *_numbers(attributes, "_FillValue"),
        *_numbers(attributes, "missing_value"),
    ]
    if dtype.kind == "u":  # attributes are signed where _Unsigned says that numbers are not
        wraps = 1 << (8 * dtype.itemsize)
        fills = [one + wraps if one < 0 else one for one in fills]
        low, high = (one + wraps if one is not None and one < 0 else one for one in (low, high))
    if unit is not None and not (isfinite(unit) and unit > 0):
        raise UsageError("The unit is a finite number above 0.", code="raster-unit-not-positive")
    return Stored(
        factor,
        Fraction(0) if offset is None else exact(offset),
        Fraction(1) if unit is None else exact(unit),
        (*fills, *missing),
        low,
        high,
    )


def require_counts(attributes: Mapping[str, Any], unit: float | None) -> None:
    """Raise UsageError if attributes say that numbers are not counts of people.

    Classes never are. Densities, rates, multiples and measures need the value of one person
    (``unit``), by which they become counts.

    Parameters
    ----------
    attributes : mapping of str
        Such as ``units``, ``standard_name``, ``long_name``, ``cell_methods``, ``flag_values``.
    unit : float, optional
        None: nobody stated it.
    """
    if any(name in attributes for name in CLASSES):
        raise UsageError(
            "The numbers stand for classes (flag_values, flag_meanings), and classes are not "
            "counted; give the variable of counts.",
            code="numbers-are-classes",
        )
    if unit is not None:
        return
    units = str(attributes.get("units") or "").strip()
    names = [str(attributes.get(name) or "") for name in ("standard_name", "long_name")]
    methods = str(attributes.get("cell_methods") or "")
    why = ""
    if any(DENSITY.search(text) for text in (units, *names)) or RATE.search(units):
        why = "a density or a rate, which is no count"
    elif re.search(r"\b(area|lat|lon|latitude|longitude|x|y) *: *(mean|median|maxi|mini)", methods):
        why = "a mean of its cell (cell_methods), which is no count"
    elif QUANTITIES.fullmatch(units):
        why = "measured and not counted"
    elif units != "1" and MULTIPLE.search(units):
        why = "a multiple of a person"
    if why:
        raise UsageError(
            f"The file says that its numbers are {why}. If they are counts nevertheless, state the "
            "value of one person, such as 1, or 0.001 for thousands (--raster-unit, value_unit=).",
            code="numbers-in-unit",
        )


def exact(number: Number) -> Fraction:
    """Recover the decimal that was written from the float that stores it.

    A float that single precision holds exactly is the shortest decimal of single precision, as
    ``scale_factor = 0.1f`` is 0.100000001490116 in double precision.

    Examples
    --------
    >>> exact(0.1), exact(float(np.float32(0.1))), exact(3)
    (Fraction(1, 10), Fraction(1, 10), Fraction(3, 1))
    """
    if isinstance(number, int):
        return Fraction(number)
    if not isfinite(number):
        raise UsageError("A scale or an offset is no finite number.", code="scale-not-finite")
    with np.errstate(over="ignore"):
        single = np.float32(number)
    return Fraction(str(single) if float(single) == number else repr(float(number)))


def signed_as(attributes: Mapping[str, Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of stored integers, with the sign that ``_Unsigned`` declares.

    UsageError if it is neither true nor false.
    """
    unsigned = attributes.get("_Unsigned")
    if unsigned is None or dtype.kind not in "iu":
        return dtype
    kind = {"true": "u", "false": "i"}.get(str(unsigned).lower())
    if kind is None:
        raise UsageError(
            "The attribute _Unsigned is true or false; correct or delete it.",
            code="unsigned-not-bool",
        )
    return np.dtype(f"{dtype.byteorder}{kind}{dtype.itemsize}")


def describe_stored(
    stored: Stored, kind: str, unit: float | None, missing: Sequence[float]
) -> list[Fact]:
    """Describe stored numbers as facts.

    ``unit`` and ``missing`` are what the operator stated, as :func:`read_stored` takes them.
    """
    facts = [Fact("stored type", kind, "file")]
    if stored.scale != 1:
        facts.append(Fact("scale", _decimal(stored.scale), "file"))
    if stored.offset:
        facts.append(Fact("offset", _decimal(stored.offset), "file"))
    if unit is not None:
        facts.append(Fact("value of one person", _decimal(stored.unit), "operator"))
    for name, limit in (("smallest valid", stored.low), ("largest valid", stored.high)):
        if limit is not None:
            facts.append(Fact(name, str(limit), "file"))
    fills = stored.missing[: len(stored.missing) - len(missing)]
    if fills:
        facts.append(Fact("missing", ", ".join(dict.fromkeys(map(str, fills))), "file"))
    if missing:
        facts.append(Fact("missing", ", ".join(map(str, missing)), "operator"))
    return facts


def _decimal(number: Fraction) -> str:
    return str(int(number)) if number.denominator == 1 else repr(float(number))


def _equal(values: NDArray[Any], number: Number) -> NDArray[np.bool_]:
    """Return where values of any shape equal a number, as far as their type can represent it."""
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.asarray(values == values.dtype.type(number))
    # Casting an out-of-range fill value would wrap around to a number that occurs.
    limits = np.iinfo(values.dtype)
    if not isfinite(number) or number != int(number):
        return ~_all(values)
    if not limits.min <= number <= limits.max:
        return ~_all(values)
    return np.asarray(values == values.dtype.type(int(number)))


def _all(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.ones(values.shape, np.bool_)


def _numbers(attributes: Mapping[str, Any], name: str) -> list[Number]:
    """Return the numbers of an attribute, [] if it is absent; UsageError if they are none."""
    value = attributes.get(name)
    if value is None:
        return []
    array = np.atleast_1d(np.asarray(value))
    if array.dtype.kind not in "iuf" or array.ndim != 1:
        raise UsageError(
            f"The attribute {name} is no number; write it as one, or delete it.",
            code="stored-attribute-not-number",
        )
    return [one for one in array.tolist() if one == one]  # NaN is missing anyway


def _one(attributes: Mapping[str, Any], name: str) -> Number | None:
    numbers = _numbers(attributes, name)
    if name in attributes and attributes[name] is not None and len(numbers) != 1:
        raise UsageError(
            f"The attribute {name} is not one number; write it as one, or delete it.",
            code="stored-attribute-several",
        )
    return numbers[0] if numbers else None
