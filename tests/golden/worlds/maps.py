"""Maps of at most 16 cells, tables on them, and what may come with a table."""

import geodp
from geodp.io.read.public.mask import read_mask
from geodp.io.read.public.tables import read_hierarchy
from tests.golden.case import Given


def csv(head: str, rows) -> str:
    """Format rows as CSV."""
    return "".join(",".join(map(str, row)) + "\n" for row in [head.split(","), *rows])


def number(n: int, most: int = 90) -> int:
    """Return a count by a rule that no library can change, from 1 to a largest one."""
    return (n * n * 37 + n * 11 + 5) % most + 1


CELLS = [(row, col) for row in range(4) for col in range(4)]
"""Indices of a map of 16 cells."""

SQUARE = "--grid regular:4x4 --x col --y row --anchor index"
AT = {"x": "col", "y": "row", "anchor": "index"}
CENSUS = csv("row,col,n", [(*at, number(i)) for i, at in enumerate(CELLS) if i % 5])
BEFORE = csv("row,col,n", [(*at, number(i) + i) for i, at in enumerate(CELLS) if i % 6])
SEXES = csv("row,col,f,m", [(*at, number(i), number(i + 3, 50)) for i, at in enumerate(CELLS)])
SEXES_BEFORE = csv(
    "row,col,f,m", [(*at, number(i) + 2, number(i, 40)) for i, at in enumerate(CELLS)]
)

REGIONS = csv(
    "cell,town,county", [(f"{r}_{c}", f"t{r // 2}{c // 2}", f"c{r // 2}") for r, c in CELLS]
)
IN_REGIONS = "--regions regions.csv --regions-source 'made up'"
IN_MASK = "--mask mask.txt --mask-source 'made up'"
WITH_PRIOR = "--prior before.csv --prior-is-public --prior-source 'made up'"
SOURCE = "made up"

INSPIRE = "--grid inspire:1km --bounds 4000000 3000000 4004000 3004000"
LOCATED = csv(
    "x,y,n", [(4000500 + 1000 * c, 3000500 + 1000 * r, number(4 * r + c)) for r, c in CELLS]
)
MESH = "--grid jis:basic --bounds 139.5 35.5 139.55 35.5333333333"
CODES = [f"533924{row}{col}" for row, col in CELLS]
LAND = [code for n, code in enumerate(CODES) if n % 5]
"""Codes of the mask."""

MASK = "".join(f"{code}\n" for code in LAND)
MASKED = f"{MESH} --code code {IN_MASK}"


def square(*labels) -> geodp.Grid:
    """Return the map of 16 cells, with attributes."""
    grid = geodp.Grid.regular((4, 4))
    for name, values in labels:
        grid = grid.with_attribute(name, values)
    return grid


def inspire() -> geodp.Grid:
    """Return 16 cells of Europe."""
    return geodp.Grid.mesh("inspire:1km", bounds=(4000000, 3000000, 4004000, 3004000))


def mesh() -> geodp.Grid:
    """Return 16 cells of Japan."""
    return geodp.Grid.mesh("jis:basic", bounds=(139.5, 35.5, 139.55, 35.5333333333))


def masked(given: Given, *labels) -> geodp.Grid:
    """Return the cells of Japan in the mask of the case, with attributes."""
    grid = mesh()
    for name, values in labels:
        grid = grid.with_attribute(name, values)
    return read_mask(given.path("mask.txt"), grid, source=SOURCE)


def in_regions(given: Given, grid: geodp.Grid) -> geodp.Grid:
    """Return a grid in the order of the regions of the case."""
    return grid.with_hierarchy(read_hierarchy(given.path("regions.csv"), grid, source=SOURCE))
