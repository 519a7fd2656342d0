"""The sentence: publish a confidential table under a budget."""

from __future__ import annotations

from decimal import Decimal
from numbers import Rational

from geodp.accounting import ADD_REMOVE, event, rational
from geodp.errors import UsageError
from geodp.mechanisms import METHODS
from geodp.randomness import NOISE_FORMAT, NoiseKey, digest
from geodp.release import Release
from geodp.table import CountTable


def publish(
    table: CountTable,
    *,
    method: str = "topdown",
    epsilon: str | int | float | Decimal | Rational,
    neighbours: str = ADD_REMOVE,
    contribution: int = 1,
    unit: str = "person",
    key: NoiseKey | None = None,
) -> Release:
    """Release a table with differential privacy.

    Parameters
    ----------
    table : CountTable
        Confidential counts on a public domain.
    method : str
        A name in ``METHODS``.
    epsilon : str, int, float, Decimal or Fraction
        The budget, read exactly: ``0.1``, ``"1/10"``.
    neighbours : {"add-remove-one", "replace-one"}
        Which tables are to be indistinguishable.
    contribution : int
        The most that one person adds to the sum of all counts. You vouch for it.
    unit : str
        Whom the guarantee protects, as a noun: person, household, person-day, trip.
    key : NoiseKey, optional
        Default: fresh from the operating system and forgotten. With a kept key the noise
        depends on the key and a digest of the table, the grid and all parameters: the same
        input gives the same release again, and different inputs never share noise.

    Returns
    -------
    Release

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
    if method not in METHODS:
        raise UsageError(f"method must be one of: {', '.join(METHODS)}.")
    mechanism = METHODS[method]
    budget = rational(epsilon)
    if key is None:
        key = NoiseKey.generate()
    spent = event(
        method,
        budget,
        neighbours,
        contribution,
        mechanism.sensitivity(table.grid),
        unit,
        key.origin,
    )
    if key.origin != "entropy":
        parameters = repr((NOISE_FORMAT, sorted(spent.describe().items())))
        key = key.derive(
            digest(
                table.grid.identity,
                parameters.encode(),
                table.key.astype("<u8"),
                table.count.astype("<i8"),
            )
        )
    return Release(mechanism.release(table, spent, key))
