"""One option as data, and the one check of values, of what options need and of what they exclude.

The command line makes its options of these values (:mod:`geodp.cli.options`) and checks all of them
by one rule each. Front doors of Python check the range of single keywords by the same entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

from geodp.errors import UsageError

Spelling = Callable[["Option"], str]
"""How an option is named in a sentence: :func:`as_flag` or :func:`as_keyword`."""


@dataclass(frozen=True)
class Option:
    """An option of a command, or a keyword of a function.

    Attributes
    ----------
    flag : str
        On the command line: ``"--max-size"``.
    help : str
        Sentences.
    name : str
        Keyword of its value. Default: that of the flag, ``max_size``.
    group : str
        Heading under which help shows it, one of ``geodp.cli.help.GROUPS``.
    type : type or str
        str, int, float, Path; bool for a flag; ``"bounds"``, or ``"files"`` for files and patterns.
        Default: that of ``low``, or str.
    choices : tuple of str
        Allowed texts; empty for any.
    low, high : float or None
        Range of a number, with both ends; an upper one has a lower one, too.
    default : object
        Value without the option.
    show : bool or None
        Whether help shows the default; None: unless it is 0 or nothing.
    many : bool
        Whether it may be repeated.
    values : int
        Number of values after one flag.
    required, everyday : bool
        Everyday options are in the short help of a command with many, as are required ones.
    needs, excludes : tuple of str
        Names of options of which one must be, and of which none must be, given with it.
    field : str
        Field of :class:`geodp.release.request.Request`, or of its terms, that the option sets.
        Default: its name.
    metavar : str or None
        Word for the value in help.
    others : tuple of str
        Further flags that mean the same, such as ``"-o"``.
    kinds : tuple of str
        Kinds of release for which it is, such as ``"flows"``; empty: all.
    pairs : bool
        Whether each value is NAME=VALUE.
    """

    flag: str
    help: str
    name: str = ""
    group: str = "Options"
    type: Any = None
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    default: Any = None
    show: bool | None = None
    many: bool = False
    values: int = 1
    required: bool = False
    everyday: bool = False
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    field: str = field(default="", compare=False)
    metavar: str | None = None
    others: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    pairs: bool = False

    def __post_init__(self) -> None:
        name = self.name or self.flag.removeprefix("--").replace("-", "_")
        # The instance is frozen; these follow from others where they are not given.
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "field", self.field or name)
        kind = str if self.low is None else type(self.low)
        object.__setattr__(self, "type", self.type or kind)

    @property
    def shows_default(self) -> bool:
        """Whether help shows the default."""
        return bool(self.default) if self.show is None else self.show

    def _say_range(self, name: str) -> str:
        """Say in a sentence which values the option of a name takes."""
        if self.choices:
            return f"{name} takes one of {', '.join(self.choices)}."
        noun = "a whole number" if self.type is int else "a number"
        if self.low is None:
            return f"{name} takes {noun}."
        if self.high is None:
            return f"{name} takes {noun} from {self.low:,.10g} on."
        return f"{name} takes {noun} from {self.low:,.10g} to {self.high:,.10g}."

    def check(self, value: Any, spelling: Spelling) -> Any:
        """Return a value, a number as int or float; UsageError for what the option does not take.

        Examples
        --------
        >>> size = Option("--max-size", "Most persons.", type=int, low=2, high=100)
        >>> size.check(7, as_keyword)
        7
        >>> size.check(1, as_keyword)
        Traceback (most recent call last):
        geodp.errors.UsageError: max_size= takes a whole number from 2 to 100.
        """
        kind: type = {int: Integral, float: Real}.get(self.type, object)
        fits = not self.choices or (isinstance(value, str) and value in self.choices)
        if kind is not object:
            fits = isinstance(value, kind) and not isinstance(value, bool)
            fits = fits and (self.low is None or self.low <= value)
            fits = fits and (self.high is None or value <= self.high)
        if not fits:
            raise UsageError(self._say_range(spelling(self)), code="option-out-of-range")
        return value if kind is object else self.type(value)

    def describe(self) -> dict[str, Any]:
        """Return the option as plain values, without what says nothing."""
        kind = self.type if isinstance(self.type, str) else self.type.__name__
        names = [
            *("group", "choices", "low", "high", "default", "many", "values", "required"),
            *("everyday", "needs", "excludes", "metavar", "others", "kinds", "help"),
        ]
        stated = {name: getattr(self, name) for name in names}
        said = {name: value for name, value in stated.items() if is_present(value) and value != ""}
        if isinstance(self.default, Path):
            said["default"] = str(self.default)
        return {"name": self.name, "flag": self.flag, "type": kind.lower(), **said}


class OptionTable(tuple[Option, ...]):
    """Options of one purpose, in the order of help."""

    __slots__ = ()

    def of(self, *fields: str) -> OptionTable:
        """Return the options that set these fields."""
        return OptionTable(one for one in self if one.field in fields)

    def without(self, *fields: str) -> OptionTable:
        """Return the options that set other fields."""
        return OptionTable(one for one in self if one.field not in fields)

    def one(self, name: str, **values: Any) -> Option:
        """Return the option of a name, with other values where they are given, such as the help."""
        (found,) = (option for option in self if option.name == name)
        return replace(found, **values)


class KindOptions(NamedTuple):
    """Options that a command has for a kind of release, and not for all kinds.

    Attributes
    ----------
    kind : str
        Name of the kind.
    options : OptionTable
    reading : tuple of str
        Names of options of readers, with which a public file is read again.
    """

    kind: str
    options: OptionTable
    reading: tuple[str, ...] = ()


def grouped(group: str, *options: Option, **shared: Any) -> OptionTable:
    """Make a table of options that help shows under one heading, and that share other fields."""
    return OptionTable(replace(one, group=group, **shared) for one in options)


def joined(*parts: Option | Iterable[Option]) -> OptionTable:
    """Join options and tables to one; of several options of one name, the first is kept."""
    options = [one for part in parts for one in ([part] if isinstance(part, Option) else part)]
    # The first one keeps its place, too: a kind's own option stands where the kind has put it.
    return OptionTable(
        {one.name: one for one in reversed(options)}[name]
        for name in dict.fromkeys(one.name for one in options)
    )


def is_present(value: Any) -> bool:
    """Test whether the value of an option is one that was given, and not that of its absence."""
    return value is not None and value is not False and value != ()


def as_flag(option: Option) -> str:
    """Return the name of an option on the command line: ``--max-size``."""
    return option.flag


def as_keyword(option: Option) -> str:
    """Return the name of an option in a call from Python: ``max_size=``."""
    return f"{option.name}="


def check_together(
    options: Iterable[Option], values: Mapping[str, Any], spelling: Spelling = as_flag
) -> None:
    """Raise UsageError for a given option whose need is not given, or which another one excludes.

    Parameters
    ----------
    options : iterable of Option
        Those of the command or function.
    values : mapping
        By name, as of :func:`is_present`.
    spelling : callable

    Examples
    --------
    >>> table = grouped("Domain", Option("--mask", "-"), Option("--source", "-", needs=("mask",)))
    >>> check_together(table, {"source": "census"})
    Traceback (most recent call last):
    geodp.errors.UsageError: --source goes with --mask only.
    """
    known = {one.name: one for one in options}
    given = {name for name in known if is_present(values.get(name))}
    # A default that is written out, such as in a recipe, asks for nothing else.
    used = {name for name in given if values[name] != known[name].default}
    for one in (known[name] for name in known if name in used):
        needed = [*_known(one.needs, known)]
        if needed and given.isdisjoint(other.name for other in needed):
            others = " or ".join(map(spelling, needed))
            raise UsageError(
                f"{spelling(one)} goes with {others} only.", code="option-needs-option"
            )
        for other in _known(one.excludes, known):
            if other.name in used:
                raise UsageError(
                    f"Give {spelling(one)} or {spelling(other)}, not both.",
                    code="option-excludes-option",
                )


def _known(names: Iterable[str], known: Mapping[str, Option]) -> Iterator[Option]:
    """Yield the options of these names that a command has."""
    return (known[name] for name in names if name in known)
