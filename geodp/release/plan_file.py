"""Settings that a plan fixes for a release, and the TOML file that stores them."""

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
from geodp.privacy.terms import NAMES, NEIGHBOURS, Terms
from geodp.reprs import one_line
from geodp.table.counts import CountTable

FORMAT = 1
"""Version of the file format; later versions of geodp still read this one."""

MAX_BYTES = 1 << 20
"""Size limit of a plan file, in bytes."""


@dataclass(frozen=True)
class Settings:
    """Settings of a release that a plan fixes: everything except its input and its key.

    Attributes
    ----------
    method : str
        With its settings.
    terms : Terms
        A contribution of None stands for the bound of the input, which the plan assumes to be 1.
    grid_sha256 : str
        SHA-256 of the grid's identity, hexadecimal.
    """

    __repr__ = one_line

    method: str
    terms: Terms
    grid_sha256: str

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of :func:`geodp.publish`."""
        return {"method": self.method, **self.terms.arguments}

    def require_grid(self, grid: Grid) -> None:
        """Raise UsageError if the plan was made for another grid."""
        if digest_of(grid) != self.grid_sha256:
            raise UsageError(
                "The plan was made for another grid; give the same --grid options.",
                code="plan-of-other-grid",
            )

    def require_bound(self, table: CountTable) -> None:
        """Raise UsageError if a person can be counted more often than the plan assumes."""
        # Noise grows with the contribution, so the levels that are best for 1 are not for more.
        if self.terms.contribution is None and table.bound is None:
            raise UsageError(
                "The plan assumes that a person is counted once, but nothing in the input bounds "
                "it; plan again with the --contribution that you vouch for.",
                code="plan-contribution-unbounded",
            )
        if self.terms.contribution is None and table.bound is not None and table.bound.value != 1:
            contribution = table.bound.value
            raise UsageError(
                "The plan assumes that a person is counted once, but the input lets one be "
                f"counted {contribution} times; plan again with --contribution {contribution}.",
                code="plan-contribution-higher",
            )

    def toml(self, comments: Sequence[str] = ()) -> str:
        """Format the settings as the text of the file."""
        lines = ["# A plan of geodp, for: geodp publish INPUTS --plan FILE ...", "#"]
        lines += [f"# {text}" for text in comments] + ["", f"format = {FORMAT}"]
        # Printable text is written the same way in JSON and TOML, and terms refuse other text.
        lines += [
            f"{name} = {json.dumps(value, ensure_ascii=False, default=str)}"
            for name, value in {**self.arguments, "grid_sha256": self.grid_sha256}.items()
            if value is not None
        ]
        return "\n".join(lines) + "\n"


def digest_of(grid: Grid) -> str:
    """Compute the SHA-256 of a grid's identity, hexadecimal."""
    return hashlib.sha256(grid.identity).hexdigest()


def read_plan(path: str | PathLike[str]) -> Settings:
    """Read a plan file that ``Plan.toml`` or ``geodp plan --output`` has written.

    Raises
    ------
    InputError
        If the file is unreadable or no plan.

    Examples
    --------
    >>> import tempfile, geodp
    >>> from pathlib import Path
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    >>> plan = geodp.plan(grid, epsilon=1, contribution=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "plan.toml"
    ...     _ = file.write_text(plan.toml())
    ...     geodp.planning.read_plan(file) == plan.settings
    True
    """
    file = Path(path)
    require_regular(file)
    try:
        with open(file, "rb") as opened:
            # One byte more than allowed tells a file that is too large without reading all of it.
            text = opened.read(MAX_BYTES + 1)
        values = tomllib.loads(text.decode()) if len(text) <= MAX_BYTES else {}
    except OSError as error:
        raise InputError(
            f"{file.name} cannot be read ({error.strerror}).", code="plan-of-round-unreadable"
        ) from None
    # tomllib raises RecursionError for deeply nested arrays.
    except (ValueError, RecursionError):
        raise InputError(f"{file.name} is no TOML file.", code="plan-not-toml") from None
    # Types are checked here: Terms takes more of them from Python than a file may contain.
    version = values.pop("format", None)
    optional = ("epsilon", "rho", "delta", "contribution", "people")
    names = {"method", "grid_sha256", *NAMES}
    if version != FORMAT or not names - set(optional) <= set(values) <= names:
        raise InputError(
            f"{file.name} is no plan of format {FORMAT}; geodp plan writes one.", code="plan-format"
        )
    contribution, people = values.get("contribution"), values.get("people")
    texts = [value for name, value in values.items() if name not in ("contribution", "people")]
    if (
        not all(isinstance(value, str) for value in texts)
        or not (contribution is None or (type(contribution) is int and contribution > 0))
        or not (people is None or (type(people) in (int, float) and 0 < people < inf))
        or values["neighbours"] not in NEIGHBOURS
    ):
        raise InputError(f"{file.name} has a setting of a wrong type.", code="plan-setting-kind")
    method, grid_sha256 = values.pop("method"), values.pop("grid_sha256")
    try:
        return Settings(method, Terms.of(**values), grid_sha256)
    except UsageError as error:
        raise InputError(f"{file.name}: {error}", code=error.code) from None
