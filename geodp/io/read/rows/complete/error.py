"""The error for files that are shorter or longer than they declare."""

from __future__ import annotations

from geodp.errors import InputError, Rule


def incomplete(name: str, what: Rule) -> InputError:
    """Return the error for a file that does not match its own declarations.

    Parameters
    ----------
    name : str
        Name of the file.
    what : Rule
        The mismatch, as a sentence without its full stop. It states no size and no number of
        records, which would reveal something about the data.

    Examples
    --------
    >>> print(incomplete("a.shx", Rule("shx-shorter", "The index is shorter than its header says")))
    a.shx: The index is shorter than its header says. The file is incomplete or damaged; copy or \
download it again, or write it again if it was created like this.
    """
    return InputError(
        f"{what}. The file is incomplete or damaged; copy or download it again, or write it again "
        "if it was created like this.",
        file=name,
        code=what.code,
    )
