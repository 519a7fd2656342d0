"""All options of a release except its input, as one frozen value.

The public functions (:func:`geodp.publish`, :func:`geodp.publish_series`,
:func:`geodp.select.top_cells`, :func:`geodp.cluster.publish`, the commands) make a
:class:`Request` of their arguments, and everything behind them takes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from geodp.errors import UsageError
from geodp.mechanisms import Mechanism, mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.terms import Terms
from geodp.table.card import StatedMetadata
from geodp.table.prior import Prior
from geodp.table.public_totals import PublicTotals


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """All options of a release except its input.

    Attributes
    ----------
    terms : Terms
        Budget, neighbours, contribution, unit and the public guess of the people.
    method : str or Mechanism, optional
        None: the default for the grid.
    key : NoiseKey, optional
        None: a fresh one, which is forgotten.
    ledger : Ledger, optional
        Charged for the release.
    dataset, records : str, optional
        Name of the data set in the ledger, and which records the table was made from.
    allow_empty : bool
        Whether to publish a table that counts nothing.
    measurements : bool, str or int
        Which measurements to publish in addition to the counts.
    totals : PublicTotals, optional
        Public totals that the release meets exactly.
    prior : Prior, optional
        Public knowledge of where people are likely to be.
    simulate : int
        Number of releases to simulate for the intervals of cells.
    metadata : StatedMetadata, optional
        Metadata by the publishing office.

    Raises
    ------
    UsageError
        For a key that is no NoiseKey.
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
        """Origin of the noise: ``entropy``, or that of the key."""
        return "entropy" if self.key is None else self.key.origin


def choose_pyramid(chosen: str | Mechanism | None, what: str) -> Pyramid:
    """Return the method of a release whose streams are all released by the pyramid.

    Parameters
    ----------
    chosen : str or Mechanism, optional
        With settings; None: the defaults.
    what : str
        What is released so, to begin a sentence: ``"Amounts"``.

    Raises
    ------
    UsageError
        Another method, or a setting under which its nodes are not those of a plain pyramid.
    """
    method = mechanism("pyramid" if chosen is None else chosen)
    if type(method) is not Pyramid or method.prune or method.passes != 2:
        raise UsageError(
            f"{what} are released by pyramid, with two passes and without prune; its other "
            "settings can be chosen.",
            code="pyramid-needed",
        )
    return method
