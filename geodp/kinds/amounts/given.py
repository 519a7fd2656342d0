"""Earlier releases of the same persons that a release of amounts keeps: ``given=``.

Records are then the released persons, or at most these. The earlier release is public, so that what
is computed of it costs nothing; a copy of its folder is a part of the new release, which states the
loss of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.kinds.amounts.kernels import LEAST, divide
from geodp.kinds.amounts.kind import RecordRelation, StatedRelation
from geodp.kinds.census.given import Given, open_given
from geodp.privacy.event import Measurement
from geodp.typing import IntArray, KeyArray

RELATION = Rule(
    "amounts-relation-unstated",
    "Say how the records go with the persons of the given release: relation='same' (--relation "
    "same), where every person has one record, or 'part', where a part of them has one each.",
)

ALONE = Rule(
    "given-options-without-given",
    "A relation and a source go with a given release only (--given, given=).",
)

NOT_WITH = Rule(
    "amounts-given-with",
    "Amounts of given persons have one record of weight 1 a person, sums and means, and no "
    "classes and no prior: leave the others out, or publish them without a given release.",
)


class Keeping(NamedTuple):
    """What a call says of an earlier release of the same persons.

    Attributes
    ----------
    path : path or None
        Its folder; None: there is none.
    source : str or None
        Where it was published and charged.
    relation : str or None
    """

    path: str | Path | None = None
    source: str | None = None
    relation: str | None = None


@dataclass(frozen=True, eq=False)
class RelatedPersons:
    """The persons of an earlier release that records agree with.

    Attributes
    ----------
    given : Given
    relation : {"same", "part"}
    """

    given: Given
    relation: RecordRelation

    @property
    def noise(self) -> str:
        """The noise of the records, where they are these persons; empty: they are measured."""
        return self.given.noise.write() if self.relation == "same" else ""

    @property
    def stated(self) -> StatedRelation:
        """What the index says of it."""
        return StatedRelation(self.relation, self.given.stated)

    @property
    def fields(self) -> tuple[str, str, str]:
        """What names it in the identity of the draw."""
        return self.given.stated.sha256, self.given.noise.write(), self.relation


def relate_persons(keeping: Keeping, grid: Grid, event: Measurement) -> RelatedPersons | None:
    """Open the given release; None without one.

    ``event``: of what is new. Raises UsageError as :func:`geodp.amounts.publish`.
    """
    path, source, relation = keeping
    if path is None:
        if source is not None or relation is not None:
            raise UsageError(ALONE)
        return None
    if relation not in get_args(RecordRelation):
        raise UsageError(RELATION)
    chosen: RecordRelation = "same" if relation == "same" else "part"
    return RelatedPersons(open_given(path, source, grid, event), chosen)


def fit_related(
    key: KeyArray, sums: IntArray, number: IntArray, related: RelatedPersons, notches: int
) -> tuple[IntArray, IntArray]:
    """Fit records and sums of cells, so that runs of keys follow what was measured.

    Parameters
    ----------
    key : uint64[cells]
    sums : int64[2, cells]
        The streams of sums, in notches.
    number : int64[cells]
        Records that the streams have.
    related : RelatedPersons
    notches : int
        Of the span.

    Returns
    -------
    number, total : int64[cells]
        Records, and sums from 0 to ``notches`` of each.
    """
    persons = np.asarray(related.given.release.table.counts_at(key), np.int64)
    if related.relation == "same":
        number = persons
    else:
        # What is too much in a cell is owed to those after it, as all roundings are.
        number = _divide(np.stack([number, persons - number]), persons)
    return number, _divide(sums, number * notches)


def _divide(measured: IntArray, total: IntArray) -> IntArray:
    """Divide totals of cells in two, near to what was measured; return the first part."""
    parts: IntArray = np.empty_like(measured)
    near = np.maximum(measured.mean(axis=1), LEAST) if measured.size else np.ones(2)
    divide(measured, total, near, np.zeros(2), parts)
    first: IntArray = parts[0]
    return first
