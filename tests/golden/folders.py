"""All golden folders: releases of every kind, in every budget, with all that a kind takes."""

from tests.golden.case import BUDGETS, EXTRAS, RELEASES, Given, Golden
from tests.golden.worlds.amounts import AMOUNTS, SERIES_OF_AMOUNTS
from tests.golden.worlds.census import CENSUSES
from tests.golden.worlds.counts import COUNTS, PARTS
from tests.golden.worlds.flows import FLOWS
from tests.golden.worlds.households import HOUSEHOLDS
from tests.golden.worlds.own import OF_ONES_OWN
from tests.golden.worlds.rounds import LOCAL
from tests.golden.worlds.selections import SELECTIONS
from tests.golden.worlds.series import SERIES

__all__ = ["BUDGETS", "CASES", "EXTRAS", "RELEASES", "TAKES", "Given", "Golden"]

TAKES = {
    "counts": ("prior", "labels", "regions", "mask"),
    "counts in parts": ("labels", "regions", "mask"),
    "series": ("labels", "regions", "mask"),
    "households": ("labels", "regions", "mask"),
    "census": ("mask",),
    "flows": ("prior", "labels", "weights", "mask"),
    "amounts": EXTRAS,
    "series of amounts": EXTRAS,
    "selection": ("labels", "regions", "mask"),
    "local round": (),
    "kind of one's own": (),
}
"""What each kind of release may have."""

CASES = {
    one.name: one
    for one in (
        *COUNTS,
        *PARTS,
        *SERIES,
        *HOUSEHOLDS,
        *CENSUSES,
        *FLOWS,
        *AMOUNTS,
        *SERIES_OF_AMOUNTS,
        *SELECTIONS,
        *LOCAL,
        *OF_ONES_OWN,
    )
}
"""All cases by name."""
