"""Resolution floor: the finest block whose error still leaves a signal."""

from __future__ import annotations

from collections.abc import Sequence

from geodp.accuracy.blocks import BlockError


def resolution_floor(errors: Sequence[BlockError], people: float, cells: int) -> int | None:
    """Return the cells of the smallest block whose standard error is at most its expected people.

    Below that size a release carries no more signal than zeros would. The expectation is the mean
    density: where people live f times as densely, the limit is f times smaller.

    Parameters
    ----------
    errors : sequence of BlockError
        Errors of blocks, from all cells down to one.
    people : float
        A public guess of the sum of all counts; never taken from the data.
    cells : int
        Number of cells of the domain.

    Returns
    -------
    int or None
        None if not even the total is large enough.

    Examples
    --------
    >>> blocks = [BlockError(n, e, e) for n, e in [(16, 66.0), (4, 120.0), (1, 70.0)]]
    >>> resolution_floor(blocks, people=160, cells=16)
    16
    """
    each = people / cells
    fine = (e.cells for e in reversed(errors) if e.standard_error <= each * e.cells)
    return next(fine, None)
