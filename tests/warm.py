"""What nearly every test needs compiled is compiled by one worker, and not by all at once.

Workers begin with the same imports and want the same kernels soon. Where none are kept yet, each
would compile all of them; so each compiles its share first, and finds the others' in the cache.
"""

import numpy as np

from geodp.accuracy.closed_form import keys_of_domain
from geodp.grid.grid import Grid
from geodp.release.publish import publish
from geodp.table.counts import CountTable
from tests.grids import half, masked

SHAPE = (8, 8)
PLAIN = Grid.regular(SHAPE)
MASKED = masked(PLAIN, half(SHAPE, 1))

SHARES = (
    (("pyramid", PLAIN), ("pyramid", MASKED)),
    (("topdown", PLAIN), ("dawa", PLAIN), ("mwem", PLAIN)),
)
"""Methods whose kernels take the compiler longest. Who has less to compile is the first to collect,
and leaves the rewritten tests to the others."""


def compile_share(number, workers):
    """Release by every method of the shares that fall to one of so many workers."""
    for share in SHARES[number::workers]:
        for method, grid in share:
            key = keys_of_domain(grid)[:9]
            publish(
                CountTable.from_keys(grid, key, np.arange(9)),
                method=method,
                epsilon=1,
                contribution=1,
            )
