"""All options of a release except its input, as one frozen value.

The public functions (:func:`geodp.publish`, :func:`geodp.publish_series`,
:func:`geodp.select.top_cells`, :func:`geodp.cluster.publish`, the commands) make a
:class:`Request` of their arguments, and everything behind them takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geodp.advice import pick, takes
from geodp.errors import UsageError
from geodp.grid.domain import PAIRS_OF_MASK
from geodp.grid.grid import Grid
from geodp.mechanisms import Mechanism, mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.terms import Terms
from geodp.release.metadata import require_series_metadata, state_metadata
from geodp.table.card import StatedMetadata
from geodp.table.prior import Prior
from geodp.table.public_totals import PublicTotals

OF_TABLES = ("prior", "totals", "measurements", "simulate")
"""Options that other releases than that of a table lack, or have in forms of their own."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """All options of a release except its input.

    Attributes
    ----------
    terms : Terms
        Budget, neighbours, contribution, unit and the public guess of the people.
    method : str or Mechanism, optional
        A name in ``METHODS``, with settings after a colon: ``"hay:fanout=4"``; or a method of your
        own, whose releases under a kept key are identified by its name, version, settings and
        queries. Default: parts on a grid with attributes below its cells, otherwise pyramid.
    prior : Prior, optional
        Public knowledge of where people are likely to be.
    totals : PublicTotals
        Totals of areas that are already public (:mod:`geodp.table.public_totals`): the table must
        agree with them, and the release meets them exactly.
    measurements : bool, str or int
        Also publish the noisy measurements before any clamp (:mod:`geodp.release.measurements`),
        at no further cost: True, or the smallest areas that are published completely, such as
        ``"basic"`` in the order of official areas, ``"cell"``, or a number of cells of a block.
    simulate : int
        Number of releases to simulate for the biases of settlements on the card, 20 to 10,000
        (:mod:`geodp.release.settlements`); each costs the time of a release. Default: 0, none.
    metadata : mapping, optional
        Metadata by the publishing office, such as ``title``, ``contact`` and ``reference_date``;
        all names are the fields of :class:`geodp.table.card.StatedMetadata`.
    allow_empty : bool
        Also publish a table that counts nothing, or to which a file adds nothing. Otherwise that
        is an error before anything is charged, and the card states as a public fact that at least
        one row of every file was counted.
    key : NoiseKey, optional
        Default: fresh from the operating system and forgotten. With a kept key the noise
        depends on the key and a digest of the table, the grid, all parameters and what the method
        measures (see :mod:`geodp.release.noise_identity`): the same input gives the same release
        again, and different inputs, or a method that has changed, never share noise.
    ledger : Ledger, optional
        Checked before any noise is drawn, and charged before anything that was drawn is returned;
        the charge stays if the run fails afterwards. Publishing the same input again with the same
        kept key is recognised and costs nothing.
    dataset : str, optional
        Name of the data set in the ledger.
    records : {"all", "fresh-sample", "same-sample"}, optional
        Which records the table was made from; needed if a table of a secret sample was charged to
        the data set (see :mod:`geodp.audit`), and an error if it is the same sample.

    Raises
    ------
    UsageError
        For a key that is no NoiseKey.
    """

    terms: Terms
    method: str | Mechanism | None = None
    prior: Prior | None = None
    totals: PublicTotals | None = None
    measurements: bool | str | int = False
    simulate: int = 0
    metadata: StatedMetadata | None = None
    allow_empty: bool = False
    key: NoiseKey | None = None
    ledger: Ledger | None = None
    dataset: str | None = None
    records: str | None = None

    def __post_init__(self) -> None:
        if self.key is not None and not isinstance(self.key, NoiseKey):
            raise UsageError(
                "key must be a NoiseKey; NoiseKey(bytes) makes one for tests.", code="key-expected"
            )

    @property
    def key_origin(self) -> str:
        """Origin of the noise: ``entropy``, or that of the key."""
        return "entropy" if self.key is None else self.key.origin


@takes(Terms.of, Request, without=("terms", "metadata"))
def make_request(*, metadata: Mapping[str, str | int] | None = None, **options: Any) -> Request:
    """Make the request of the keywords that a front door takes, and hands on.

    Raises
    ------
    UsageError
        A value that makes no sense.

    Examples
    --------
    >>> make_request(epsilon="1/2", dataset="census").terms.loss
    PureDP(epsilon=Fraction(1, 2))
    """
    terms = Terms.of(**pick(Terms.of, options))
    stated = state_metadata(metadata) if metadata else None
    return Request(terms=terms, metadata=stated, **options)


def make_series_request(**options: Any) -> Request:
    """Make the request of a series as :func:`make_request`; UsageError for a reference date, too.

    Examples
    --------
    >>> make_series_request(epsilon=1, metadata={"title": "Stays"}).metadata.title
    'Stays'
    """
    request = make_request(**options)
    require_series_metadata(request.metadata)
    return request


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


def make_event(
    grid: Grid, method: Mechanism, terms: Terms, key_origin: str = "entropy"
) -> Measurement:
    """Make the event of a method on a grid, under terms with a contribution.

    Raises
    ------
    UsageError
        For a grid or a budget that the method does not support.
    """
    if grid.mask is not None and grid.maps.ends:
        raise UsageError(PAIRS_OF_MASK)
    if refusal := method.unsupported(grid):
        raise UsageError(refusal)
    event = method.event(grid, terms, key_origin)
    # A plug-in could charge less than it was given, or for another unit: the ledger trusts this.
    names = ("loss", "neighbours", "contribution", "enforced", "layout", "unit")
    if any(getattr(event, name) != getattr(terms, name) for name in names):
        raise UsageError(
            f"The event of {method.name} has another budget, contribution or unit than its terms.",
            code="method-spends-otherwise",
        )
    if overload := method.explain_noise_limit(grid, event):
        raise UsageError(overload)
    return event
