"""Options of a call for attributes, evaluated without the header of its table.

Most calls have none, and need no header then; :mod:`geodp.io.read.layout.by` evaluates it.
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
"""Labels, or files of them, by attribute; under an empty name a file that is for several."""

STAR = "*"
"""Wildcard in a pattern of columns of counts."""


@dataclass(frozen=True)
class Named:
    """Options of a call that describe the attributes of its table.

    Attributes
    ----------
    by : sequence of str
        Names of attributes.
    labels : mapping
        Public lists of labels, see :func:`geodp.io.read.layout.labels.read_lists`.
    attributes : sequence of Attribute
        Attributes that the grid has already, with their labels.
    columns : mapping of str to str
        Columns that the call names, by axis.
    values : Values
        Columns of counts, possibly as patterns.
    taken : sequence of str
        Columns that the call names for other roles: codes, coordinates, persons.
    preset : Preset, optional
        Default: the packaged one that fits.
    """

    by: Sequence[str] = ()
    labels: Lists = field(default_factory=dict)
    attributes: Sequence[Attribute] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Values = None
    taken: Sequence[str] = ()
    preset: Preset | None = None

    def __post_init__(self) -> None:
        if self.labels and not self.needs_header:
            raise UsageError(
                "Labels go with the names of attributes (--by, by=).", code="labels-need-names"
            )

    @property
    def needs_header(self) -> bool:
        """Whether anything must be looked up in a header, or in lists of labels."""
        attributes = bool(self.by) and (bool(self.labels) or not stand_side_by_side(self.values))
        return attributes or has_pattern(self.values)


def stand_side_by_side(values: Values) -> bool:
    """Test whether several columns of counts are named, which make the labels of attributes."""
    # A single column counts everybody and makes no labels, however it is written.
    several = isinstance(values, Mapping) or not (values is None or isinstance(values, str))
    return several and len(values or ()) > 1 and not has_pattern(values)


def name_joint(by: Sequence[str], values: Values) -> str | None:
    """Return the name of the attribute of columns side by side; None if there are none."""
    return JOINT.join(by) if by and stand_side_by_side(values) else None


def has_pattern(values: Values) -> bool:
    """Test whether a column of counts is given as a pattern."""
    names = [values] if isinstance(values, str) else values
    if names is None or isinstance(names, Mapping):
        return False
    return any(STAR in one for one in names)
