"""The sentence: publish a confidential table under a budget."""

from __future__ import annotations

import secrets
from decimal import Decimal
from numbers import Rational

import numpy as np

from geodp.accounting import ADD_REMOVE, Event, event, rational
from geodp.errors import UsageError
from geodp.ledger import Charge, Ledger
from geodp.loss import PureDP
from geodp.mechanisms import mechanism
from geodp.randomness import NOISE_FORMAT, NoiseKey, digest
from geodp.release import Release
from geodp.table import CountTable


def publish(
    table: CountTable,
    *,
    method: str = "topdown",
    epsilon: str | int | float | Decimal | Rational,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> Release:
    """Release a table with differential privacy.

    Parameters
    ----------
    table : CountTable
        Confidential counts on a public domain.
    method : str
        A name in ``METHODS``, with settings after a colon: ``"hay:fanout=4"``.
    epsilon : str, int, float, Decimal or Fraction
        The budget, read exactly: ``0.1``, ``"1/10"``.
    neighbours : {"add-remove-one", "replace-one"}
        Which tables are to be indistinguishable.
    contribution : int, optional
        The most that one person adds to the sum of all counts. You vouch for it. Default: what
        the table's source tells (``table.bound``), which is 1 where people were counted once.
    unit : str
        Whom the guarantee protects, as a noun: person, household, person-day, trip.
    key : NoiseKey, optional
        Default: fresh from the operating system and forgotten. With a kept key the noise
        depends on the key and a digest of the table, the grid and all parameters: the same
        input gives the same release again, and different inputs never share noise.

    ledger : Ledger, optional
        Charged before any noise is drawn; the charge stays if the run fails afterwards.
        Publishing the same input again with the same kept key is recognised and costs nothing.
    dataset : str, optional
        Name of the data set in the ledger.

    Returns
    -------
    Release

    Raises
    ------
    UsageError
        A call that cannot be carried out; a contribution below the table's bound, or none where
        nothing bounds it; a mask that is the table's own occupied cells.
    BudgetError
        The ledger's cap would be exceeded; no noise was drawn.

    Notes
    -----
    The guarantee is that of the method (``METHODS[method].guarantee``); it holds for this
    release alone, and budgets of releases about the same people add up.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((64, 64))
    >>> table = geodp.CountTable.from_dense(np.full((64, 64), 100), grid)
    >>> release = geodp.publish(table, epsilon=1)
    >>> bool((release.table.to_dense() >= 0).all())
    True
    >>> round(release.standard_error(64), 1)
    10.6
    """
    if not isinstance(table, CountTable):
        raise UsageError("publish takes a CountTable; CountTable.from_dense makes one.")
    chosen = mechanism(method)
    if refusal := chosen.refusal(table.grid):
        raise UsageError(refusal)
    if key is not None and not isinstance(key, NoiseKey):
        raise UsageError("key must be a NoiseKey; NoiseKey(bytes) makes one for tests.")
    most, enforced = _contribution(table, contribution)
    _require_public_mask(table)
    budget = rational(epsilon)
    origin = "entropy" if key is None else key.origin
    spent = event(
        chosen.spec,
        budget,
        neighbours,
        most,
        enforced,
        chosen.sensitivity(table.grid),
        unit,
        origin,
    )
    if key is None:
        own, fingerprint = NoiseKey.generate(), secrets.token_hex(32)
    else:
        identity = release_digest(table, spent)
        own, fingerprint = key.derive(identity), key.fingerprint(identity)
    try:
        charge = None
        if ledger is not None or dataset is not None:
            charge = _charged(ledger, dataset, spent, fingerprint)
        return Release(chosen.release(table, spent, own), charge)
    finally:
        own.forget()


def _charged(ledger: Ledger | None, dataset: str | None, spent: Event, fingerprint: str) -> Charge:
    """Charge an event to a data set; only the fingerprint of a kept key makes it recognisable."""
    if ledger is None or dataset is None:
        raise UsageError("A ledger and the name of a data set in it go together.")
    if not spent.is_private:
        raise UsageError("A release with a fixed key is not private and has no place in a ledger.")
    protected = ledger.account(dataset).unit.removeprefix("one ")
    if protected != spent.unit:
        raise UsageError(
            f"The ledger protects one {protected} of {dataset}, and this release one {spent.unit}; "
            "budgets of different units do not add up."
        )
    return ledger.charge(
        dataset,
        PureDP(spent.epsilon),
        mechanism=spent.mechanism,
        neighbours=spent.neighbours,
        contribution=spent.contribution,
        fingerprint=fingerprint,
    )


def release_digest(table: CountTable, spent: Event) -> bytes:
    """SHA-256 of everything that a release depends on but the key: input, grid, parameters."""
    parameters = (
        NOISE_FORMAT,
        spent.mechanism,
        str(spent.epsilon),
        spent.neighbours,
        str(spent.contribution),
        str(spent.sensitivity),
    )
    return digest(
        table.grid.identity,
        "\n".join(parameters).encode(),
        table.key.astype("<u8"),
        table.count.astype("<i8"),
    )


def _contribution(table: CountTable, claimed: int | None) -> tuple[int, bool]:
    """The contribution bound of a release, and whether the records enforce it."""
    if claimed is None:
        if table.bound is None:
            raise UsageError(
                "Nothing in the input bounds how often one person is counted. Name the column of "
                "persons so that it can be enforced (--person, person=), or vouch for a bound "
                "(--contribution N, contribution=N)."
            )
        return table.bound, table.enforced
    if table.bound is not None and claimed < table.bound:
        raise UsageError(
            f"The table lets a person be counted {table.bound} times; "
            f"contribution must be at least that."
        )
    return claimed, table.enforced


def _require_public_mask(table: CountTable) -> None:
    """Refuse a mask that holds exactly the occupied cells: it was made from the data."""
    mask = table.grid.mask
    if mask is None or not table.key.size:
        return
    under = sum(1 for axis in table.grid.order.axes if axis > 1)
    occupied = np.unique(table.key >> np.uint64(under))
    if occupied.size == mask.cells:  # all occupied cells lie inside, so they are the mask
        raise UsageError(
            "The mask holds exactly the occupied cells, so it was made from the data and tells "
            "them. A mask must come from a public source, such as a coastline."
        )
