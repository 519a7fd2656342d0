"""What a plan settles for a release, and its TOML file."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.opening import require_regular
from geodp.privacy.neighbours import NEIGHBOURS
from geodp.privacy.terms import NAMES, Terms
from geodp.reprs import one_line
from geodp.table.counts import CountTable

FORMAT = 1
"""Of the file; a later geodp that writes another one still reads this."""

MOST_BYTES = 1 << 20
"""A larger file is no plan."""


@dataclass(frozen=True)
class Settings:
    """What a plan settles: everything of a release but its input and its key.

    Attributes
    ----------
    method : str
        With its settings.
    terms : Terms
        With a contribution of None, it is what the input's source tells, which the plan takes to
        be 1.
    grid_sha256 : str
        Of the grid's identity, hexadecimal.
    """

    __repr__ = one_line

    method: str
    terms: Terms
    grid_sha256: str

    @property
    def arguments(self) -> dict[str, Any]:
        """Keywords of :func:`geodp.publish`."""
        return {"method": self.method, **self.terms.arguments}

    def require_grid(self, grid: Grid) -> None:
        """Raise UsageError where the plan was made for another grid."""
        if digest_of(grid) != self.grid_sha256:
            raise UsageError(
                "The plan was made for another grid; give the same --grid options.",
                code="plan-of-other-grid",
            )

    def require_bound(self, table: CountTable) -> None:
        """Raise UsageError where persons count more often than the plan takes them to."""
        if self.terms.contribution is None and table.bound is None:
            raise UsageError(
                "The plan takes a person to be counted once, and nothing in the input bounds it; "
                "plan again with the --contribution that you vouch for.",
                code="plan-contribution-unbounded",
            )
        if self.terms.contribution is None and table.bound is not None and table.bound.value != 1:
            most = table.bound.value
            raise UsageError(
                f"The plan takes a person to be counted once and the input lets one be counted "
                f"{most} times; plan again with --contribution {most}.",
                code="plan-contribution-higher",
            )

    def toml(self, comments: Sequence[str] = ()) -> str:
        """Return the file's text."""
        lines = ["# A plan of geodp, for: geodp publish INPUTS --plan FILE ...", "#"]
        lines += [f"# {text}" for text in comments] + ["", f"format = {FORMAT}"]
        # A printable text is the same in JSON and TOML, and terms refuse others.
        lines += [
            f"{name} = {json.dumps(value, ensure_ascii=False, default=str)}"
            for name, value in {**self.arguments, "grid_sha256": self.grid_sha256}.items()
            if value is not None
        ]
        return "\n".join(lines) + "\n"


def digest_of(grid: Grid) -> str:
    """SHA-256 of a grid's identity, hexadecimal."""
    return hashlib.sha256(grid.identity).hexdigest()


def read_plan(path: str | PathLike[str]) -> Settings:
    """Read a plan's file, as ``Plan.toml`` and ``geodp plan --output`` write it.

    Raises
    ------
    InputError
        A file that is unreadable or no plan.

    Examples
    --------
    >>> import tempfile, geodp
    >>> from pathlib import Path
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    >>> found = geodp.plan(grid, epsilon=1, contribution=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "plan.toml"
    ...     _ = file.write_text(found.toml())
    ...     geodp.planning.read_plan(file) == found.settings
    True
    """
    file = Path(path)
    require_regular(file)
    try:
        with open(file, "rb") as opened:
            text = opened.read(MOST_BYTES + 1)
        found = tomllib.loads(text.decode()) if len(text) <= MOST_BYTES else {}
    except OSError as error:
        raise InputError(
            f"{file.name} cannot be read ({error.strerror}).", code="plan-of-round-unreadable"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(f"{file.name} is no TOML file.", code="plan-not-toml") from None
    version = found.pop("format", None)
    optional = ("epsilon", "rho", "delta", "contribution", "people")
    names = {"method", "grid_sha256", *NAMES}
    if version != FORMAT or not names - set(optional) <= set(found) <= names:
        raise InputError(
            f"{file.name} is no plan of format {FORMAT}; geodp plan writes one.", code="plan-format"
        )
    most, people = found.get("contribution"), found.get("people")
    texts = [value for name, value in found.items() if name not in ("contribution", "people")]
    if (
        not all(isinstance(value, str) for value in texts)
        or not (most is None or (type(most) is int and most > 0))
        or not (people is None or (type(people) in (int, float) and 0 < people < inf))
        or found["neighbours"] not in NEIGHBOURS
    ):
        raise InputError(f"{file.name} has a setting of a wrong kind.", code="plan-setting-kind")
    method, grid_sha256 = found.pop("method"), found.pop("grid_sha256")
    try:
        return Settings(method, Terms.of(**found), grid_sha256)
    except UsageError as error:
        raise InputError(f"{file.name}: {error}", code=error.code) from None
