"""Every error that geodp raises on purpose.

A message says what was given, where, what is allowed and what to do. It never
quotes a count or the text of a data row: messages reach screens and shared logs.
"""

from __future__ import annotations

from unicodedata import category

_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of marks that are no text."""


class GeodpError(Exception):
    """Base of all deliberate errors; ``exit_code`` is what the command line returns."""

    exit_code = 1


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
    """

    exit_code = 5

    def __init__(self, rule: str, *, file: str | None = None, row: int | None = None) -> None:
        self.rule = rule
        self.file = file
        self.row = row
        where = ", ".join(
            part for part in (file, None if row is None else f"row {row}") if part is not None
        )
        super().__init__(f"{where}: {rule}" if where else rule)


class CodeError(InputError):
    """A value of an array that is no valid code, index or coordinate.

    Parameters
    ----------
    position : int
        Index, from 0, of the first offending value in the given array.
    rule : str
        What is allowed, without the offending value.
    """

    def __init__(self, position: int, rule: str) -> None:
        self.position = position
        super().__init__(rule)


class OutputError(GeodpError):
    """A release that could not be written; nothing was published."""


class BudgetError(GeodpError):
    """A charge that would take a data set over its cap; nothing was charged."""

    exit_code = 4


class LettersWarning(UserWarning):
    """A name that no installed font has all letters of."""


def printable(text: str) -> str:
    """A text that somebody else chose, without what steers a terminal or turns lines around.

    Control and format characters, lone surrogates and line separators are written as Python
    escapes them.

    >>> printable("a\\x1b[2Jb\\u202ec\\n")
    'a\\\\x1b[2Jb\\\\u202ec\\\\n'
    """
    return "".join(
        mark.encode("unicode_escape").decode() if category(mark) in _STEERING else mark
        for mark in text
    )
