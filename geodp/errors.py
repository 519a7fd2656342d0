"""All deliberate errors and warnings of geodp, and the loading of plugins.

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
"""Form of the name of a plugin's method, reader or format."""

_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of characters that control a terminal instead of being text."""


class Rule(str):
    """A message with the code of its rule, for messages that are defined once and raised elsewhere.

    The code stays the same when text is appended or placeholders are filled in.

    >>> rule = Rule("file-exists", "{} exists;") + " replace it with --overwrite."
    >>> rule.code, rule.format("a.csv")
    ('file-exists', 'a.csv exists; replace it with --overwrite.')
    """

    code: str

    def __new__(cls, code: str, message: str) -> Self:
        """Make a message with the code of its rule."""
        rule = super().__new__(cls, message)
        rule.code = code
        return rule

    def __reduce__(self) -> tuple[type[Rule], tuple[str, str]]:
        return Rule, (self.code, str(self))

    def __add__(self, more: str) -> Rule:
        return Rule(self.code, f"{self}{more}")

    def format(self, *args: object, **kwargs: object) -> Rule:
        """Fill in placeholders as for a str; the code stays the same."""
        return Rule(self.code, str(self).format(*args, **kwargs))


class GeodpError(Exception):
    """Base of all deliberate errors; ``exit_code`` is what the command line returns.

    Parameters
    ----------
    message : str
        What was given, what is allowed and what to do.
    code : str, optional
        Code of the broken rule, in lower case, digits and hyphens, such as "file-exists". It stays
        the same when the message is reworded. Default: that of a :class:`Rule` as the message;
        empty for plugins that give none.
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
        Message that states what is allowed and what to do, without any value of the data.
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


def require_none(wrong: Any, rule: str) -> None:
    """Raise CodeError with a rule at the first value that is marked as wrong, bool[n]."""
    if wrong.any():
        raise CodeError(int(wrong.argmax()), rule)


class OutputError(GeodpError):
    """A release that could not be written; nothing was published."""


class UndeclaredDrawError(GeodpError):
    """A draw of noise that its release did not declare: a bug of the method.

    It is refused, as neither the ledger's charge nor the derivation of the key accounts for it.
    """


class BudgetError(GeodpError):
    """A charge that would take a data set over its cap; nothing was charged."""

    exit_code = 4


class LettersWarning(UserWarning):
    """A name with letters that no installed font has."""


class AccessWarning(UserWarning):
    """A confidential file or folder whose access by others is not checked."""


class WithdrawnWarning(UserWarning):
    """A release that its office has withdrawn."""


class PluginWarning(UserWarning):
    """A plugin that geodp cannot use, and why."""


def printable(text: str) -> str:
    """Escape the characters of an untrusted text that control a terminal or reverse lines.

    Control and format characters, lone surrogates and line separators are written as Python
    escapes them.

    >>> printable("a\\x1b[2Jb\\u202ec\\n")
    'a\\\\x1b[2Jb\\\\u202ec\\\\n'
    """
    return "".join(
        character.encode("unicode_escape").decode()
        if category(character) in _STEERING
        else character
        for character in text
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


def require_library(library: str, what: str, extra: str = "", remedy: str = "") -> None:
    """Refuse something that needs a library that is not installed.

    Parameters
    ----------
    library : str
        Name of the module: ``"openpyxl"``; or several with spaces: ``"folium mapclassify"``.
    what : str
        Subject that needs it, as the start of the message.
    extra : str
        Extra that installs it; empty: it is installed by its own name.
    remedy : str
        Further sentences: what to do without it.

    Raises
    ------
    UsageError
        The library is not installed, or one of several.

    Examples
    --------
    >>> require_library("json", "A card")
    """
    from importlib.util import find_spec

    def is_missing(name: str) -> bool:
        try:
            return find_spec(name) is None
        except ImportError:
            return True

    missing = [name for name in library.split() if is_missing(name)]
    if missing:
        package = f"'geodp[{extra}]'" if extra else " ".join(missing)
        named = f"{' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'}"
        raise UsageError(
            f"{what} needs {named} not installed: pip install {package}. {remedy}".rstrip(),
            code="library-missing",
        )


def is_name(value: object) -> TypeGuard[str]:
    """Return whether something is a name as in :data:`NAMES`, without a leading hyphen.

    >>> is_name("json-lines"), is_name("-lines"), is_name("Json"), is_name(3)
    (True, False, False, False)
    """
    return isinstance(value, str) and re.fullmatch("[a-z0-9][a-z0-9-]*", value) is not None


def add_plugins(
    builtin: Mapping[str, Any], group: str, listed: str, fits: Callable[[object], bool]
) -> dict[str, Any]:
    """Add the entries of plugins to geodp's own, sorted by name.

    An entry point of the group names a module with a list of what it offers.
    An entry that cannot be imported, is of another kind or has a taken name is left out, with a
    :class:`PluginWarning` that names its package; all others work.

    Parameters
    ----------
    builtin : mapping
        Geodp's own entries by name.
    group, listed : str
        Such as "geodp.methods", and the name in the module, such as "METHODS".
    fits : callable
        Whether something is of the kind.
    """
    from importlib.metadata import entry_points

    entries = dict(builtin)
    for point in entry_points(group=group):
        package = "unknown" if point.dist is None else point.dist.name
        where = f"{printable(point.value)} of the package {printable(package)} ({group})"
        try:
            offered = tuple(getattr(point.load(), listed))
        # A plugin may fail in any way; that must not stop the commands that do not need it.
        except Exception as error:
            _leave_out(f"{where} cannot be used ({type(error).__name__}).")
            continue
        for one in offered:
            name = getattr(one, "name", None)
            if not (_true(fits, one) and isinstance(name, str)):
                _leave_out(f"{where} lists what geodp cannot use in {listed}.")
            elif not is_name(name):
                _leave_out(f"{where} offers {printable(name)}, which is not {NAMES}.")
            elif name in entries:
                _leave_out(f"{where} offers {printable(name)}, a name that is taken.")
            else:
                entries[name] = one
    return dict(sorted(entries.items()))


def _true(fits: Callable[[object], bool], one: object) -> bool:
    """Return whether something fits; False if the test itself raises."""
    try:
        return fits(one)
    except Exception:
        return False


def _leave_out(why: str) -> None:
    warnings.warn(f"{why} It is left out.", PluginWarning, stacklevel=4)
