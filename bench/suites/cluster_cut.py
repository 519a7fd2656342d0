"""How evenly a cluster's workers are kept busy by ranges of keys, and what ranges cost the driver.

The makespan is simulated: it needs no cluster, no clock, and comes out the same everywhere.
"""

from __future__ import annotations

import argparse
import heapq
import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import geodp
from bench.inputs import synthetic
from bench.tables import excerpt, fill_saved, markdown, table
from geodp.cluster import partitions
from geodp.cluster.api import Partitions, publish
from geodp.cluster.partitions import TreePartition, partition_of
from geodp.mechanisms import mechanism
from geodp.mechanisms.trees.layer import Roots
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.table.counts import Cells, coalesce
from geodp.typing import KeyArray

TITLE = """\
Cells that the busiest of some workers releases, over those of each if all released as many. Ranges
go to workers one by one, each to the first that is idle.
  even             ranges of evenly many nodes of the domain, in key order, 2^14 nodes at most
  weight           ranges of about as many people by noisy totals of the same nodes
  weight, finer    the same of at most 2^17 nodes, heaviest range first: what geodp does
Then the CPU seconds of driver and scheduler, in one process, for a whole release."""

SAVED = Path(__file__).parents[1] / "results" / "cluster_cut.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "speed.md"
MARKS = ("<!-- bench:cluster_cut -->", "<!-- /bench:cluster_cut -->")
DRIVER = ("<!-- bench:cluster_cut:driver -->", "<!-- /bench:cluster_cut:driver -->")

BITS, OCCUPIED = 37, 1_000_000
METHODS = "pyramid", "topdown"
RANGES = 64, 200, 400, 1000
WORKERS = 100
COARSE = 1 << 14
"""Most nodes of the cut before it was made finer."""

NAMES = "weight", "weight, finer"
KEY = bytes(range(32))
DRIVEN = 30, 100_000
"""Bits of n, and occupied cells, of the table that the driver is measured with."""

FILES = 8


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--bits", type=int, default=BITS)
    parser.add_argument("--occupied", type=int, default=OCCUPIED, metavar="M")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--ranges", type=int, nargs="+", default=[*RANGES])
    parser.add_argument("--no-driver", dest="driver", action="store_false")


def measure(
    bits: int, occupied: int, workers: int, ranges: list[int], driver: bool
) -> dict[str, Any]:
    """Simulate makespans of all methods, and measure the driver on a cluster of one worker."""
    source = synthetic.clustered(bits, occupied)
    rows = [row for method in METHODS for row in simulate(source, method, workers, ranges)]
    settings = {"bits": bits, "occupied": occupied, "workers": workers}
    return {**settings, "rows": rows, "driver": drive(ranges) if driver else []}


def simulate(
    source: geodp.CountTable, spec: str, workers: int, ranges: list[int]
) -> list[dict[str, Any]]:
    """Simulate a row for each number of ranges."""
    method, key = mechanism(spec), NoiseKey(KEY)
    event = method.event(source.grid, Terms.of(epsilon=1, contribution=1))
    released = method.release(source, event, key).key
    cut = partition_of(method, source.grid, event)
    fine = cut.stride, noisy_roots(cut, source, key)
    with most_roots(COARSE):
        coarse, nodes = (cut.stride, noisy_roots(cut, source, key)), cut.nodes()
    rows = []
    for parts in ranges:
        first = nodes[nodes.size * np.arange(parts) // parts] * np.uint64(coarse[0])
        by_weight = {
            name: weigh(cut, parts) for name, cut in zip(NAMES, (coarse, fine), strict=True)
        }
        rows.append(
            {
                "method": spec,
                "ranges": parts,
                "even": compute_ratio(count_between(first, released), workers),
                **{
                    name: compute_ratio(count_between(starts, released)[order], workers)
                    for name, (starts, order) in by_weight.items()
                },
                "files": by_weight[NAMES[-1]][0].size,
            }
        )
    return rows


def noisy_roots(cut: TreePartition, source: geodp.CountTable, key: NoiseKey) -> Roots:
    """Return the open nodes of a cut with their noisy totals."""
    node, count = coalesce(source.key // np.uint64(cut.stride), source.count)
    return cut.above(Cells(source.grid, node * np.uint64(cut.stride), count), key)


def weigh(cut: tuple[int, Roots], parts: int) -> tuple[KeyArray, NDArray[np.int64]]:
    """Cut by weight; return the first key of every range, and the order from the heaviest on."""
    stride, roots = cut
    ranges = roots.divide(parts)
    starts = np.array([some.prefix[0] for some in ranges], np.uint64) * np.uint64(stride)
    return starts, np.argsort([-int(some.count.sum()) for some in ranges], kind="stable")


def count_between(starts: KeyArray, released: KeyArray) -> NDArray[np.int64]:
    """Count the released cells of every range."""
    first = np.searchsorted(released, starts)
    first[0] = 0
    return np.diff(np.append(first, released.size))


def compute_ratio(work: NDArray[np.int64], workers: int) -> float:
    """Compute makespan over ideal, where each range goes to the worker that is idle first."""
    idle_from = [0] * workers
    for cells in work.tolist():
        heapq.heappush(idle_from, heapq.heappop(idle_from) + cells)
    return float(max(idle_from) * workers / work.sum())


@contextmanager
def most_roots(nodes: int) -> Iterator[None]:
    """Have cuts at most so many nodes for a while."""
    usual = partitions.MAX_ROOTS
    partitions.MAX_ROOTS = nodes
    try:
        yield
    finally:
        partitions.MAX_ROOTS = usual


def drive(ranges: list[int]) -> list[dict[str, Any]]:
    """Measure CPU seconds of driver and scheduler, for whole releases by one worker."""
    import distributed

    logging.disable(logging.CRITICAL)
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        files = save(synthetic.clustered(*DRIVEN), Path(folder))
        terms: dict[str, Any] = {"epsilon": 1, "contribution": 1}
        for method in METHODS:
            # Compiles, and starts what is started once.
            publish(client, files, method=method, parts=2, **terms)
            for parts in ranges:
                start = time.process_time()
                publish(client, files, method=method, parts=parts, key=NoiseKey(KEY), **terms)
                seconds = time.process_time() - start
                rows.append({"method": method, "ranges": parts, "CPU, s": round(seconds, 2)})
    return rows


def save(source: geodp.CountTable, folder: Path) -> Partitions:
    """Save a table as some files of keys."""
    paths = []
    for number in range(FILES):
        columns = {"key": source.key[number::FILES], "count": source.count[number::FILES]}
        paths.append(folder / f"{number}.parquet")
        pq.write_table(pa.table(columns), paths[-1])
    return Partitions.of_keys(paths, grid=source.grid)


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table of makespans."""
    return [
        {name: f"{v:.2f}" if isinstance(v, float) else v for name, v in row.items()}
        for row in result["rows"]
    ]


def show(result: dict[str, Any]) -> str:
    """Format makespans, and the driver's seconds."""
    return f"{table(lines(result))}\n\n{table(result['driver'])}"


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    fill_saved(SAVED, DOCUMENT, DRIVER, lambda saved: markdown(excerpt(saved["driver"], ENDS)))
    return fill_saved(SAVED, DOCUMENT, MARKS, lambda saved: markdown(excerpt(lines(saved), ENDS)))


ENDS = {"ranges": [64, 400]}
"""Rows that the document shows."""
