"""All that a release is asked for beside its input, as one frozen value.

A front door (:func:`geodp.publish`, :func:`geodp.publish_series`, :func:`geodp.select.top_cells`,
:func:`geodp.cluster.publish`, the commands) makes a :class:`Request` of what it is given, and
everything behind it takes that value.
"""

from __future__ import annotations

from dataclasses import dataclass

from geodp.errors import UsageError
from geodp.mechanisms import Mechanism
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.terms import Terms
from geodp.table.card import StatedMetadata
from geodp.table.prior import Prior
from geodp.table.public_totals import PublicTotals


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """All that a release is asked for beside its input.

    Attributes
    ----------
    terms : Terms
        Budget, neighbours, contribution, unit and the public guess of the people.
    method : str or Mechanism, optional
        None: the default of the grid.
    key : NoiseKey, optional
        None: a fresh one, which is forgotten.
    ledger : Ledger, optional
        Charged for the release.
    dataset, records : str, optional
        Name of the data set in the ledger, and what the table was made from.
    allow_empty : bool
        Whether a table that counts nothing is published.
    measurements : bool, str or int
        Which measurements are published beside the counts.
    totals : PublicTotals, optional
        Public totals that are met.
    prior : Prior, optional
        Where people are likely to be.
    simulate : int
        Releases that are simulated for the intervals of cells.
    metadata : StatedMetadata, optional
        What the office says of the release.

    Raises
    ------
    UsageError
        A key that is no NoiseKey.
    """

    terms: Terms
    method: str | Mechanism | None = None
    key: NoiseKey | None = None
    ledger: Ledger | None = None
    dataset: str | None = None
    records: str | None = None
    allow_empty: bool = False
    measurements: bool | str | int = False
    totals: PublicTotals | None = None
    prior: Prior | None = None
    simulate: int = 0
    metadata: StatedMetadata | None = None

    def __post_init__(self) -> None:
        if self.key is not None and not isinstance(self.key, NoiseKey):
            raise UsageError(
                "key must be a NoiseKey; NoiseKey(bytes) makes one for tests.", code="key-expected"
            )

    @property
    def key_origin(self) -> str:
        """Where the noise comes from: entropy, or the origin of the key."""
        return "entropy" if self.key is None else self.key.origin
