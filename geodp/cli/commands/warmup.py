"""``geodp warmup``: compile once what publish, evaluate and verify will call."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.options import StrictCommand
from geodp.errors import OutputError, Rule

if TYPE_CHECKING:
    from geodp.grid.grid import Grid

NO_CACHE = Rule(
    "no-place-for-compiled",
    "Compiled code can be kept nowhere, so every call would compile anew. {} Let the environment "
    "variable NUMBA_CACHE_DIR name a folder that you alone may write to (what lies in it is run), "
    "here and for every later call.",
)
SIDE = 8
"""Cells on a side of what is rehearsed on."""


@click.command(cls=StrictCommand)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def warmup(as_json: bool) -> None:
    """Compile once what publish, evaluate and verify call, and keep it for later calls.

    geodp compiles its inner loops for this machine when they are first called, and keeps the
    result on disk, until geodp, Numba or the processor change. Without this command the first
    release after an installation does it, and takes the longer. It rehearses with a few made-up
    counts in a temporary folder: no data are read, no budget is spent. Priors and series are
    rehearsed too. Methods other than pyramid, parts and topdown compile the little that they need
    beyond when they are first used.
    """
    from geodp.kernels.jit import CACHE, cache_folder, count_compiled, watch_compiling

    started = time.perf_counter()
    rehearsals = list(_rehearsals())
    folder = cache_folder()
    if folder is None:
        raise OutputError(NO_CACHE.format(CACHE.wrong))
    with (
        tempfile.TemporaryDirectory(prefix="geodp-warmup-") as place,
        progress.show(sys.stderr) as bar,
        watch_compiling(lambda kernel: setattr(bar, "what", f"Compiling {kernel}")),
        progress.unsaid(),
    ):
        for number, rehearse in enumerate(rehearsals):
            rehearse(Path(place, str(number)))
    made, found = count_compiled()
    took = time.perf_counter() - started
    if as_json:
        click.echo(
            json.dumps({"compiled": made, "found": found, "seconds": took, "folder": folder})
        )
        return
    what = f"Compiled {made} functions" if made else "Nothing was left to compile"
    click.echo(f"{what} in {took:.1f} s; {found} were there.")
    click.echo(f"Kept in {folder}; another place: NUMBA_CACHE_DIR.")


COMMAND = warmup


def _rehearsals() -> Iterator[Callable[[Path], None]]:
    """Small runs that call all kernels with all types of arguments that commands use."""
    import numpy as np

    from geodp.grid.grid import Grid
    from geodp.grid.mask import blocks_of_array, mask_of_blocks

    narrow = Grid.regular((SIDE - 1, SIDE), crs="EPSG:3035", transform=(1e3, 0, 0, 0, 1e3, 0))
    inside = blocks_of_array(np.tri(SIDE - 1, SIDE, 3, np.bool_))
    masked = narrow.with_mask(mask_of_blocks(narrow, inside, "made up"))
    areas = Grid.mesh("inspire:1km", bounds=(4e6, 3e6, 4.02e6, 3.02e6)).with_official_order()
    for grid in (narrow.with_attribute("sex", ["f", "m"]), masked, areas):
        for method in ("pyramid", "topdown", *["parts"] * bool(grid.attributes)):
            for noise in ("epsilon", "rho"):
                yield partial(_rehearse, grid, method, noise)
    yield partial(_rehearse_priors, narrow)
    yield partial(_rehearse_priors, masked)
    yield _tie


def _rehearse_priors(grid: Grid, folder: Path) -> None:
    """Publish a few counts of nobody with a prior, and as a series, with either noise."""
    import numpy as np

    from geodp.registry import find_modules
    from geodp.release.publish import publish
    from geodp.table.counts import CountTable

    key = np.flatnonzero(grid.contains_keys(np.arange(SIDE * SIDE, dtype=np.uint64)))
    tables = [CountTable.from_keys(grid, key.astype(np.uint64), key + n) for n in (9, 10, 11)]
    for noise in ("epsilon", "rho"):
        spent: dict[str, Any] = {noise: 1, "contribution": 1}
        publish(tables[0], prior=tables[1], prior_source="made up", **spent)
        for feature in find_modules("rehearsals"):
            feature.rehearse(tables, "pyramid", spent)


def _tie(folder: Path) -> None:
    """Draw so many numbers of a wide law that the first digits leave some of them open."""
    from fractions import Fraction

    from geodp.privacy.key import NoiseKey, Stream
    from geodp.privacy.noise.laplace import DiscreteLaplace
    from geodp.privacy.noise.node import NodeNoise

    NodeNoise(NoiseKey(bytes(32)), Stream.STAGE, DiscreteLaplace.of_scale(Fraction(4000))).sequence(
        1 << 16
    )


def _rehearse(grid: Grid, method: str, noise: str, folder: Path) -> None:
    """Read, publish, write, verify and evaluate a few counts of nobody."""
    from geodp.io.read.table import read_table
    from geodp.io.verify.verify import verify
    from geodp.mechanisms import METHODS
    from geodp.registry import find_modules
    from geodp.release.publish import publish
    from geodp.release.simulated_cells import errors_of

    if METHODS[method].unsupported(grid) is not None:
        return
    folder.mkdir()
    rows = [(x, y, 50 * x, "f") for x in reversed(range(SIDE - 1)) for y in range(SIDE - 1)]
    repeated = rows[:1] if grid.attributes else []  # sorted by another kernel than cells are
    lines = [",".join(map(str, row)) for row in [("x", "y", "count", "sex"), *rows, *repeated]]
    source = folder / "made-up.csv"
    source.write_text("\n".join(lines) + "\n")
    axes = {attribute.name: attribute.name for attribute in grid.attributes}
    table = read_table(
        source,
        grid=grid,
        value="count",
        x="x",
        y="y",
        anchor="index",
        columns=axes,
        duplicates="sum" if repeated else "error",
        outside="drop",
    )
    spent: dict[str, Any] = {noise: 1, "contribution": 1}
    release = publish(table, method=method, **spent)
    release.write(folder / "release")
    verify(folder / "release", errors_of)
    for feature in find_modules("rehearsals"):
        feature.rehearse([table], method, spent)
