"""Answers of ``geodp estimate`` about a census, beyond other kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from geodp.cli.figures import ShownRows
from geodp.cli.using import Parts, estimate_quantities
from geodp.errors import UsageError


def estimate(parts: Parts, options: Mapping[str, Any]) -> ShownRows:
    """Estimate columns of areas, with shares and differences of two."""
    columns = next(iter(parts.values())).quantities
    return estimate_quantities(
        parts,
        options,
        shares=[read_pair(one, "/", columns) for one in options["share"]],
        differences=[read_pair(one, "-", columns) for one in options["difference"]],
    )


def read_pair(text: str, mark: str, columns: Sequence[str]) -> tuple[str, str]:
    """Read the names of two columns, with a mark between them that names may have, too.

    Raises UsageError for other texts, and for one that may be read in two ways.

    Examples
    --------
    >>> read_pair("15-64 - 65+", "-", ["15-64", "65+"])
    ('15-64', '65+')
    """
    found = [
        (first.strip(), second.strip())
        for at, character in enumerate(text)
        if character == mark
        for first, second in [(text[:at], text[at + 1 :])]
        if {first.strip(), second.strip()} <= {*columns}
    ]
    if len(found) != 1:
        raise UsageError(
            f"{text!r} must be the names of two columns with {mark} between them, each one of: "
            f"{', '.join(columns)}.",
            code="census-pair",
        )
    return found[0]
