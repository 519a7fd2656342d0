"""Every error that geodp raises on purpose, and what is said of packages that cannot be used.

A message says what was given, where, what is allowed and what to do. It never
quotes a count or the text of a data row: messages reach screens and shared logs.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeGuard
from unicodedata import category

NAMES = "a name of letters a-z, digits and hyphens"
"""What a method, a reader or a format of somebody else's has."""

_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of marks that are no text."""


class Rule(str):
    """A sentence that names the rule it is about by a code, wherever it is raised.

    It is what a sentence is that is said in one place and raised in another. What is added to it,
    and what it is filled in with, changes nothing about which rule it is.

    >>> rule = Rule("file-exists", "{} exists;") + " replace it with --overwrite."
    >>> rule.code, rule.format("a.csv")
    ('file-exists', 'a.csv exists; replace it with --overwrite.')
    """

    code: str

    def __new__(cls, code: str, sentence: str) -> Self:
        """Make a sentence of a rule."""
        rule = super().__new__(cls, sentence)
        rule.code = code
        return rule

    def __reduce__(self) -> tuple[type[Rule], tuple[str, str]]:
        return Rule, (self.code, str(self))

    def __add__(self, more: str) -> Rule:
        return Rule(self.code, f"{self}{more}")

    def format(self, *given: object, **named: object) -> Rule:
        """Fill it in, as a text is; it keeps its code."""
        return Rule(self.code, str(self).format(*given, **named))


class GeodpError(Exception):
    """Base of all deliberate errors; ``exit_code`` is what the command line returns.

    Parameters
    ----------
    message : str
        What was given, what is allowed and what to do.
    code : str, optional
        Which rule was broken, in small letters, digits and hyphens, such as "file-exists". It stays
        what it is when the message is worded otherwise. Left out, that of a :class:`Rule`, and
        empty where a package of somebody else's says none.
    """

    exit_code = 1

    def __init__(self, message: str = "", *, code: str | None = None) -> None:
        self.code: str = getattr(message, "code", "") if code is None else code
        super().__init__(message)


class UsageError(GeodpError, ValueError):
    """A call or an option that cannot be carried out as given."""

    exit_code = 2


class VerificationError(GeodpError):
    """A published release that does not agree with itself."""

    exit_code = 3


class InputError(GeodpError, ValueError):
    """Input data that must not be used as it is.

    Parameters
    ----------
    rule : str
        What is allowed and what to do, in one sentence, without any value of the data.
    file : str, optional
        The file (and, of an archive, its member).
    row : int, optional
        Line of the file, counted from 1.
    code : str, optional
        As every error has.
    """

    exit_code = 5

    def __init__(
        self,
        rule: str,
        *,
        file: str | None = None,
        row: int | None = None,
        code: str | None = None,
    ) -> None:
        self.rule = Rule(getattr(rule, "code", "") if code is None else code, rule)
        self.file = file
        self.row = row
        where = ", ".join(
            part for part in (file, None if row is None else f"row {row}") if part is not None
        )
        super().__init__(f"{where}: {rule}" if where else rule, code=self.rule.code)


class CodeError(InputError):
    """A value of an array that is no valid code, index or coordinate.

    Parameters
    ----------
    position : int
        Index, from 0, of the first offending value in the given array.
    rule : str
        What is allowed, without the offending value.
    code : str, optional
        As every error has.
    """

    def __init__(self, position: int, rule: str, *, code: str | None = None) -> None:
        self.position = position
        super().__init__(rule, code=code)


class OutputError(GeodpError):
    """A release that could not be written; nothing was published."""


class UndeclaredDrawError(GeodpError):
    """Noise was to be drawn that its release did not declare: a fault of the method.

    It is refused, as neither the ledger's charge nor the derivation of the key accounts for it.
    """


class BudgetError(GeodpError):
    """A charge that would take a data set over its cap; nothing was charged."""

    exit_code = 4


class LettersWarning(UserWarning):
    """A name that no installed font has all letters of."""


class AccessWarning(UserWarning):
    """A confidential place of which nobody has looked at who else may read it."""


class WithdrawnWarning(UserWarning):
    """A release that its office has withdrawn."""


class PluginWarning(UserWarning):
    """What a package of somebody else offers and geodp does without, and why."""


def printable(text: str) -> str:
    """Return a text that somebody else chose, without what steers a terminal or turns lines around.

    Control and format characters, lone surrogates and line separators are written as Python
    escapes them.

    >>> printable("a\\x1b[2Jb\\u202ec\\n")
    'a\\\\x1b[2Jb\\\\u202ec\\\\n'
    """
    return "".join(
        mark.encode("unicode_escape").decode() if category(mark) in _STEERING else mark
        for mark in text
    )


def is_utf8(text: str | os.PathLike[str]) -> bool:
    """Return whether a text or a path is UTF-8; other bytes are surrogates in Python.

    Old archives from Japan unpack to such names on Linux. Python opens them; GDAL, Arrow and public
    files take none.

    Examples
    --------
    >>> is_utf8("人口.csv"), is_utf8("\\udc90l\\udc8c\\udcfb.csv")
    (True, False)
    """
    try:
        os.fspath(text).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def why_without(library: str, what: str, extra: str = "") -> str | None:
    """Return why something cannot be done without a library, whose extra has its name.

    Parameters
    ----------
    library : str
        As it is imported, and as the extra is called: ``"scipy"``.
    what : str
        What needs it, as a sentence begins.
    extra : str
        That installs it, where it is called otherwise.

    Returns
    -------
    str or None
        One sentence; None where the library is installed.

    Examples
    --------
    >>> why_without("json", "A card")
    >>> why_without("no_such_library", "A card")
    "A card needs no_such_library, which is not installed: pip install 'geodp[no_such_library]'."
    """
    from importlib.util import find_spec

    try:
        there = find_spec(library) is not None
    except ImportError:
        there = False
    if there:
        return None
    return (
        f"{what} needs {library}, which is not installed: pip install 'geodp[{extra or library}]'."
    )


def require_library(library: str, what: str, extra: str = "") -> None:
    """Raise a UsageError, which is :func:`why_without`, where a library is not installed."""
    why = why_without(library, what, extra)
    if why is not None:
        raise UsageError(why, code="library-missing")


def is_name(given: object) -> TypeGuard[str]:
    """Whether something is what :data:`NAMES` says; the first mark is no hyphen.

    >>> is_name("json-lines"), is_name("-lines"), is_name("Json"), is_name(3)
    (True, False, False, False)
    """
    return isinstance(given, str) and re.fullmatch("[a-z0-9][a-z0-9-]*", given) is not None


def add_plugins(
    own: Mapping[str, Any], group: str, listed: str, fits: Callable[[object], bool]
) -> dict[str, Any]:
    """Add to what geodp has what packages of others list, by the same name; sorted by names.

    An entry point of the group names a module, which lists what it offers as a file of geodp does.
    What cannot be imported, is nothing of the kind or has a name that is taken is left out, and a
    :class:`PluginWarning` says which package it is; nothing else suffers.

    Parameters
    ----------
    own : mapping
        From names to what geodp has.
    group, listed : str
        Such as "geodp.methods", and the name in the module, such as "METHODS".
    fits : callable
        Whether something is of the kind.
    """
    from importlib.metadata import entry_points

    found = dict(own)
    for point in entry_points(group=group):
        package = "unknown" if point.dist is None else point.dist.name
        where = f"{printable(point.value)} of the package {printable(package)} ({group})"
        try:
            offered = tuple(getattr(point.load(), listed))
        except Exception as error:
            _leave_out(f"{where} cannot be used ({type(error).__name__}).")
            continue
        for one in offered:
            name = getattr(one, "name", None)
            if not (_true(fits, one) and isinstance(name, str)):
                _leave_out(f"{where} lists what geodp cannot use in {listed}.")
            elif not is_name(name):
                _leave_out(f"{where} offers {printable(name)}, which is not {NAMES}.")
            elif name in found:
                _leave_out(f"{where} offers {printable(name)}, a name that is taken.")
            else:
                found[name] = one
    return dict(sorted(found.items()))


def _true(fits: Callable[[object], bool], one: object) -> bool:
    """Whether something fits; what cannot even be asked does not."""
    try:
        return fits(one)
    except Exception:
        return False


def _leave_out(why: str) -> None:
    warnings.warn(f"{why} It is left out.", PluginWarning, stacklevel=4)
