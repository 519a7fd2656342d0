"""What a call says of attributes, without a look at its table.

Most calls say nothing, and no header is asked then; :mod:`geodp.io.read.layout.by` asks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from geodp.errors import UsageError
from geodp.grid.axes import JOINT, Attribute
from geodp.io.read.rows.pairing import Values

if TYPE_CHECKING:
    from geodp.io.read.layout.presets import Preset
    from geodp.io.read.rows.input_files import FilePath

Lists: TypeAlias = "Mapping[str, Sequence[str] | FilePath]"
"""Labels, or files of them, by attributes; under an empty name a file that is for several."""

STAR = "*"
"""What stands for anything in a pattern of columns of counts."""


@dataclass(frozen=True)
class Named:
    """What a call says of the attributes of its table.

    Attributes
    ----------
    by : sequence of str
        Names of attributes.
    labels : mapping
        Public lists of labels, see :func:`geodp.io.read.layout.labels.read_lists`.
    attributes : sequence of Attribute
        Those that the grid has already, with their labels.
    columns : mapping of str to str
        Columns that the call states, by axes.
    values : Values
        Columns of counts; patterns among them.
    taken : sequence of str
        Columns that the call names for something else: codes, coordinates, persons.
    preset : Preset, optional
        Default: the one of the package that fits.
    """

    by: Sequence[str] = ()
    labels: Lists = field(default_factory=dict)
    attributes: Sequence[Attribute] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Values = None
    taken: Sequence[str] = ()
    preset: Preset | None = None

    def __post_init__(self) -> None:
        if self.labels and not self.asks:
            raise UsageError(
                "Labels go with the names of attributes (--by, by=).", code="labels-need-names"
            )

    @property
    def asks(self) -> bool:
        """Whether there is anything to be found in a header, or in lists of labels."""
        found = bool(self.by) and (bool(self.labels) or not stand_side_by_side(self.values))
        return found or has_pattern(self.values)


def stand_side_by_side(values: Values) -> bool:
    """Whether several columns of counts are named, which make the labels of attributes."""
    several = isinstance(values, Mapping) or not (values is None or isinstance(values, str))
    return several and len(values or ()) > 1 and not has_pattern(values)


def name_joint(by: Sequence[str], values: Values) -> str | None:
    """Return the name of the attribute that columns side by side make; None where none do."""
    return JOINT.join(by) if by and stand_side_by_side(values) else None


def has_pattern(values: Values) -> bool:
    """Whether a column of counts is written as a pattern."""
    given = [values] if isinstance(values, str) else values
    if given is None or isinstance(given, Mapping):
        return False
    return any(STAR in one for one in given)
