"""The one refusal of a file that is shorter or longer than it says."""

from __future__ import annotations

from geodp.errors import InputError, Rule


def incomplete(name: str, what: Rule) -> InputError:
    """Return the error of a file that is not as it declares itself.

    Parameters
    ----------
    name : str
        Of the file.
    what : Rule
        What does not agree, as a sentence without its full stop. It has no size and no number of
        records, which would tell of the data.

    Examples
    --------
    >>> print(incomplete("a.shx", Rule("shx-shorter", "The index is shorter than its header says")))
    a.shx: The index is shorter than its header says. The file is incomplete or damaged; copy or \
download it again, or write it anew where it was made so.
    """
    return InputError(
        f"{what}. The file is incomplete or damaged; copy or download it again, or write it anew "
        "where it was made so.",
        file=name,
        code=what.code,
    )
