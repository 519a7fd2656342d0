"""Questions that files can answer, each with the command that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter

ASK_PERIODS = (
    "Which are the first and the last period (--periods FIRST..LAST, such as 2024-01..2024-12)? "
    "They are public and never taken from the rows; rows of other periods are not read."
)
ASK_PERSON_IN = (
    "In how many periods may one person be? With --person-in all, they share the budget; with "
    "--person-in one, each has all of it."
)
"""What is asked of every series."""

ASK_CONTRIBUTION = (
    "How often is one person counted at most, in all rows and files together (--contribution)? You "
    "vouch for it, as no row shows it."
)
"""What is asked where no column of persons lets geodp bound it."""

ASK_TIMES = "Which values of {} are published (--where), so that a cell has one row in a period?"
"""What is asked of counts in periods with columns such as hours."""


COUNTS = "publish"
"""Command that answers how many are where, of which no file question is needed."""

HOW_MANY = "How many persons, or other units, are where?"
"""The question that counts answer."""

WHERE = "--where"

OF_GRID = "--grid GRID"
OF_UNITS = "--grid units:TABLE.csv --units-source WORDS"
OF_OUTLINES = "--grid units:OUTLINES.gpkg --units-source WORDS"
OF_ROWS = "--grid regular:ROWSxCOLS"
"""Placeholders of a grid, of areal units and those between which trips lead, and of rows."""


@dataclass(frozen=True)
class FileQuestion:
    """A question that a file can answer if its columns have certain roles.

    Attributes
    ----------
    question : str
        In whole sentences. What a row is stands in it, as only the operator knows that.
    command : str
        The command that answers it, without ``geodp``.
    columns : str
        Options that name columns, such as ``"--household {household}"``, by the roles that
        :func:`geodp.io.read.layout.inspect.name_roles` finds: a file must have all of them.
    persons : (str, str)
        Options that say how often one is counted: those with a column of persons, and those
        without one.
    more : str
        Further options; in capitals what only the operator knows.
    roles : tuple of str
        Further roles that columns must have.
    without : tuple of str
        Roles that no column may have.
    dated : bool
        Whether it is one of several files, or members of an archive, whose names say their period.
    located : bool
        Whether further columns say where a row is (``--code``, or ``--x`` and ``--y``).
    records : bool
        Whether a row is a record at a point, whose CRS is named (``--points-crs``), and not a
        count of a cell.
    asks : tuple of str
        What the operator decides, as no file says it, in whole sentences.
    python : tuple of str
        Lines of Python that do the same: in braces ``file`` and ``grid``, the keywords that say how
        it is read (``reading``) and those of the release (``terms``), of a series ``where`` and
        ``times``, and the roles of columns.
    """

    question: str
    command: str
    columns: str = ""
    persons: tuple[str, str] = ("", "")
    more: str = ""
    roles: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    dated: bool = False
    located: bool = True
    records: bool = True
    asks: tuple[str, ...] = ()
    python: tuple[str, ...] = ()

    def fits(self, roles: Mapping[str, str]) -> bool:
        """Test whether columns have all roles that this needs, and none that it excludes."""
        needed = {*_roles_of(self.columns), *self.roles}
        return roles.keys() >= needed and roles.keys().isdisjoint(self.without)

    def list_options(self, roles: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Return the values of its options by their flags, with the names of columns."""
        known, unknown = self.persons
        persons = known if roles.keys() >= {*_roles_of(known)} else unknown
        options: dict[str, tuple[str, ...]] = {}
        flag = ""
        for word in f"{self.columns} {persons} {self.more}".split():
            if word.startswith("--"):
                flag = word
                options[flag] = ()
            else:
                options[flag] += (word.format_map(roles),)
        return options


def _roles_of(text: str) -> list[str]:
    """Return the roles that stand in braces."""
    return [name for _, name, _, _ in Formatter().parse(text) if name is not None]
