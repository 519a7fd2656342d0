"""The finest block whose error still leaves a signal."""

from __future__ import annotations

from collections.abc import Sequence

from geodp.accuracy.blocks import BlockError


def resolution_limit(errors: Sequence[BlockError], people: float, cells: int) -> int | None:
    """Cells of the smallest block whose standard error is at most the people expected in it.

    Below that size a release carries no more signal than publishing zeros would. Expected is the
    mean: where people live f times as densely, the floor is f times smaller.

    Parameters
    ----------
    errors : sequence of BlockError
        From all cells down to one.
    people : float
        A public guess of the sum of all counts; never taken from the data.
    cells : int
        Of the domain.

    Returns
    -------
    int or None
        None where not even the total is large enough.

    Examples
    --------
    >>> blocks = [BlockError(n, e, e) for n, e in [(16, 66.0), (4, 120.0), (1, 70.0)]]
    >>> resolution_limit(blocks, people=160, cells=16)
    16
    """
    each = people / cells
    fine = (e.cells for e in reversed(errors) if e.standard_error <= each * e.cells)
    return next(fine, None)
