"""List the signatures that commands call kernels with: ``python -m tests.signatures`` writes them.

Small runs call all kernels with all types of arguments that commands use. geodp compiles what is
listed when it is built, so that nobody waits for it.
"""

import json
import subprocess
import sys
import tempfile
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from geodp import local
from geodp.grid.grid import Grid
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.io.read.table import read_table
from geodp.io.verify.verify import verify
from geodp.kernels import jit
from geodp.kernels.jit import count_compiled, full_name
from geodp.kernels.shipped import LIST, text_of
from geodp.kinds.amounts.publish import publish as publish_amounts
from geodp.kinds.amounts.scale import Scale
from geodp.kinds.amounts.streams import AmountTable
from geodp.kinds.flows.publish import publish as publish_flows
from geodp.kinds.flows.reading.stays import read_pings, read_stays
from geodp.kinds.households.publish import publish as publish_households
from geodp.kinds.series.publish import publish_series
from geodp.local.files import write_reports
from geodp.mechanisms import METHODS
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.privacy.noise.node import NodeNoise
from geodp.release.opening import errors_of
from geodp.release.publish import publish
from geodp.table.counts import CountTable
from geodp.tools.evaluate.evaluate import evaluate

SIDE = 8
"""Cells on a side of what is rehearsed on."""


def rehearsals():
    """Small runs, each of which takes a folder that is not there yet."""
    narrow = Grid.regular((SIDE - 1, SIDE), crs="EPSG:3035", transform=(1e3, 0, 0, 0, 1e3, 0))
    inside = blocks_of_array(np.tri(SIDE - 1, SIDE, 3, np.bool_))
    masked = narrow.with_mask(mask_of_blocks(narrow, inside, "made up"))
    areas = Grid.mesh("inspire:1km", bounds=(4e6, 3e6, 4.02e6, 3.02e6)).with_official_order()
    mesh = Grid.mesh("jis:basic", bounds=(139, 35, 139.1, 35.0666666667))
    yield partial(_rehearse, mesh, "pyramid", "epsilon")
    for grid in (narrow.with_attribute("sex", ["f", "m"]), masked, areas):
        for method in ("pyramid", "topdown", *["parts"] * bool(grid.attributes)):
            for noise in ("epsilon", "rho"):
                yield partial(_rehearse, grid, method, noise)
    yield partial(_rehearse_priors, narrow)
    yield partial(_rehearse_priors, masked)
    for grid in (narrow, masked):
        yield partial(_rehearse_households, grid)
        yield partial(_rehearse_amounts, grid)
    yield partial(_rehearse_flows, narrow)
    yield _rehearse_stays
    # Its first level has few children, and the second many, of which devices answer otherwise.
    yield partial(_rehearse_local, Grid.mesh("inspire:1km", bounds=(4e6, 3e6, 4.01e6, 3.01e6)))
    yield _tie


def _rehearse_priors(grid, folder):
    """Publish a few counts of nobody with a prior, and as a series, with either noise."""
    key = np.flatnonzero(grid.contains_keys(np.arange(SIDE * SIDE, dtype=np.uint64)))
    tables = [CountTable.from_keys(grid, key.astype(np.uint64), key + n) for n in (9, 10, 11)]
    times = ["2001", "2002", "2003"]
    for noise in ("epsilon", "rho"):
        spent = {noise: 1, "contribution": 1}
        publish(tables[0], prior=tables[1], prior_source="made up", **spent)
        publish_series(tables, times=times, person="all", method="pyramid", **spent)


def _rehearse_households(grid, folder):
    """Publish persons and households of nobody, with either noise."""
    key = np.flatnonzero(grid.contains_keys(np.arange(SIDE * SIDE, dtype=np.uint64)))
    tables = [CountTable.from_keys(grid, key.astype(np.uint64), key * n + n) for n in (3, 1)]
    for noise in ("epsilon", "rho"):
        release = publish_households(*tables, protect="person", contribution=1, **{noise: 1})
        release.write(folder / noise)
        verify(folder / noise, errors_of)


def _rehearse_amounts(grid, folder):
    """Publish sums and classes of nobody's amounts, with either noise, and estimate some."""
    key = np.flatnonzero(grid.contains_keys(np.arange(SIDE * SIDE, dtype=np.uint64)))
    records = CountTable.from_keys(grid, key.astype(np.uint64), key + 3)
    scale, edges = Scale.of((0, 10), 1, "EUR", "rent"), (0, 5, 10)
    above, classes = 4 * records.count, (records, CountTable.from_keys(grid, [], []))
    table = AmountTable(records, above, scale, (), edges, classes)
    for noise in ("epsilon", "rho"):
        release = publish_amounts(table, contribution=1, **{noise: 1})
        release.write(folder / noise)
        verify(folder / noise, errors_of)
    # Two streams alone are merged in another way than those of sums and classes.
    # With a kept key, as the list must not depend on the noise.
    spent = {"contribution": 1, "epsilon": 1, "key": NoiseKey(bytes(32))}
    release = publish_amounts(AmountTable(records, above, scale), **spent)
    release.estimate((0, 0, 4e3, 4e3))


def _rehearse_flows(grid, folder):
    """Publish flows of nobody, with either noise, and estimate some of them."""
    key = np.arange(0, grid.pairs().size, 7).astype(np.uint64)
    pairs = grid.pairs()
    key = key[pairs.contains_keys(key)]
    table = CountTable.from_keys(pairs, key, np.full(key.size, 3))
    for noise in ("epsilon", "rho"):
        release = publish_flows(table, contribution=1, levels={2: "1/4", 4: "1/4"}, **{noise: 1})
        release.write(folder / noise)
        verify(folder / noise, errors_of)
        release.estimate((0, 0, 4e3, 4e3), (2e3, 2e3, 5e3, 5e3))
    before = CountTable.from_keys(pairs, key, np.full(key.size, 5))
    publish_flows(table, contribution=1, epsilon=1, prior=before, prior_source="nobody's")
    labelled = pairs.with_attribute("mode", ["walk", "car"])
    index = np.concatenate([pairs.decode(key), key[None].astype(np.int64) % 2])
    table = CountTable.from_index(labelled, index, np.full(key.size, 3))
    release = publish_flows(table, contribution=1, levels={2: "1/4"}, epsilon=1)
    release.estimate((0, 0, 4e3, 4e3), (2e3, 2e3, 5e3, 5e3), mode="car")


def _rehearse_stays(folder):
    """Make trips of a few stays and records of places of nobody."""
    mesh = Grid.mesh("jis:basic", bounds=(139, 35, 139.1, "35.0666666667"))
    hours, at = range(0, 24, 2), [0.005, 0.03] * 6
    times = [f"2024-05-01T{hour:02d}:{minute}" for hour in hours for minute in (10, 30)]
    places = {"lat": 35 + np.repeat(at, 2), "lon": 139 + np.repeat(at, 2)}
    rows = pa.table({"id": ["a"] * len(times), "t": times, **places})
    where = {"place": ("lon", "lat"), "time": "t", "person": "id", "unit": "person-day"}
    read_pings(rows, grid=mesh, **where, trips=9)
    read_stays(rows, grid=mesh, **where, trips=9)


def _rehearse_local(grid, folder):
    """Collect the reports of a few devices of nobody in files, write a release and verify it."""
    folder.mkdir()
    collection = local.open_round(local.plan(grid, devices=1000, epsilon=1))
    reports, sums = folder / "reports.parquet", folder / "devices.sums"
    made = local.randomize(collection, np.zeros((2, 1000), np.int64))
    write_reports(reports, collection.digest, made)
    local.aggregate(collection, [reports]).write(sums)
    release = local.publish(collection, local.Sums.read(sums))
    release.write(folder / "release")
    verify(folder / "release", errors_of)


def _tie(folder):
    """Draw so many numbers of a wide law that the first digits leave some of them open."""
    law = DiscreteLaplace.of_scale(Fraction(4000))
    NodeNoise(NoiseKey(bytes(32)), Stream.STAGE, law).sequence(1 << 16)


def _rehearse(grid, method, noise, folder):
    """Read, publish, write, verify and evaluate a few counts of nobody."""
    if METHODS[method].unsupported(grid) is not None:
        return
    folder.mkdir()
    rows = [(x, y, 50 * x, "f") for x in reversed(range(SIDE - 1)) for y in range(SIDE - 1)]
    repeated = rows[:1] if grid.attributes else []  # sorted by another kernel than cells are
    lines = [",".join(map(str, row)) for row in [("x", "y", "count", "sex"), *rows, *repeated]]
    source = folder / "made-up.csv"
    source.write_text("\n".join(lines) + "\n")
    table = read_table(
        source,
        grid=grid,
        value="count",
        x="x",
        y="y",
        anchor="index",
        columns={attribute.name: attribute.name for attribute in grid.attributes},
        duplicates="sum" if repeated else "error",
        outside="drop",
    )
    spent = {noise: 1, "contribution": 1}
    publish(table, method=method, **spent).write(folder / "release")
    verify(folder / "release", errors_of)
    evaluate(table, methods=method, trials=1, rectangles=2, **spent)


def called_once():
    """Return the signatures that a run called kernels with, by name; None if it compiled any.

    What is compiled for another kernel is not loaded for it, once that is kept itself.
    """
    with tempfile.TemporaryDirectory() as place:
        for number, rehearse in enumerate(rehearsals()):
            rehearse(Path(place, str(number)))
    if count_compiled()[0]:
        return None
    found = {full_name(kernel): kernel.stats.cache_hits for kernel in jit._kernels}
    return {name: sorted(map(text_of, hits)) for name, hits in found.items() if hits}


def called():
    """Return all signatures that the rehearsals call kernels with, from a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.signatures", "--once"]
    for _ in range(2):
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        if found is not None:
            return found
    raise OSError("Compiled functions cannot be kept here.")


def main():
    if sys.argv[1:] == ["--once"]:
        print(json.dumps(called_once()))
        return
    found = called()
    lines = [
        f" {json.dumps(name)}: [\n  " + ",\n  ".join(found[name]) + "\n ]" for name in sorted(found)
    ]
    LIST.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{sum(map(len, found.values()))} signatures of {len(found)} kernels: {LIST}")


if __name__ == "__main__":
    main()
