"""Measurements for docs/measured/speed.md: every part is one table of side-by-side figures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.baselines import libraries, numpy_t2
from bench.inputs import synthetic
from bench.measure import cost
from bench.measure import refinement as refining
from bench.measure.refinement import METHODS, Refinement
from bench.suites import noise
from geodp.kernels import chacha, key_lists
from geodp.kernels import noise as kernels
from geodp.kernels.chacha import LANES
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.privacy.noise.node import NodeNoise

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Sizes:
    """Sizes of all measurements.

    Attributes
    ----------
    tables : tuple of (str, int, int)
        Tables for the refinement: kind, bits of n, occupied cells. The second is the summary's.
    million : int
        Occupied cells of the table for T2 in NumPy, at ``2**37``.
    held : tuple of (str, int)
        Kind and occupied cells of the tables for the memory, at ``2**37``.
    dense, listed : int
        Bits of n for dense NumPy Laplace (Privelet: 2 less), and for OpenDP, which takes lists.
    sorted : int
        Number of keys to sort.
    same : int
        Bits of n for the equality of all ways to run.
    bits, occupied : tuple of int
        Sizes of the tables of the growth.
    rounds : int
        Number of rounds of all peers.
    patience : float
        Seconds after which a peer is skipped.
    instructions : bool
        Whether valgrind counts instructions.
    """

    tables: tuple[tuple[str, int, int], ...]
    million: int
    held: tuple[tuple[str, int], ...]
    dense: int
    listed: int
    sorted: int
    same: int
    bits: tuple[int, ...]
    occupied: tuple[int, ...]
    rounds: int
    patience: float
    instructions: bool


FULL = Sizes(
    tables=(
        ("clustered", 18, 40_000),
        ("clustered", 37, 10_000_000),
        ("clustered", 62, 1_000_000),
        ("isolated", 37, 10_000),
    ),
    million=1_000_000,
    held=(
        *(("clustered", occupied) for occupied in (30_000, 250_000, 1_000_000, 4_000_000)),
        *(("isolated", occupied) for occupied in (10_000, 100_000)),
    ),
    dense=26,
    listed=20,
    sorted=10_000_000,
    same=22,
    bits=(18, 26, 37, 50, 62),
    occupied=(10_000, 100_000, 1_000_000),
    rounds=4,
    patience=40,
    instructions=True,
)
QUICK = Sizes(
    tables=(
        ("clustered", 18, 10_000),
        ("clustered", 37, 30_000),
        ("clustered", 62, 3_000),
        ("isolated", 37, 50),
    ),
    million=10_000,
    held=(("clustered", 10_000),),
    dense=18,
    listed=12,
    sorted=100_000,
    same=16,
    bits=(18, 37),
    occupied=(2_000, 20_000),
    rounds=2,
    patience=2,
    instructions=False,
)

ISOLATED = 12_000
"""People of an isolated cell."""


def table_of(kind: str, bits: int, occupied: int) -> geodp.CountTable:
    """Make a table of clustered cells, or of isolated ones with many people."""
    if kind == "clustered":
        return synthetic.clustered(bits, occupied)
    return synthetic.isolated(bits, occupied, ISOLATED * occupied)


def refinement(sizes: Sizes) -> Rows:
    """Measure both methods on every table, serial and on two threads, and the noise alone."""
    block, draw = floor(sizes.rounds)
    rows = []
    for kind, bits, occupied in sizes.tables:
        table = table_of(kind, bits, occupied)
        calls: dict[str, Callable[[], Any]] = {}
        runs = {method: Refinement(method, table) for method in METHODS}
        for method, run in runs.items():
            for threads in (1, 2):
                calls[f"{method} {threads}"] = partial(run.run, threads)
        fastest, results = cost.best(calls, sizes.rounds, sizes.patience)
        for method, run in runs.items():
            output, _, visited = results[f"{method} 1"]
            seconds, work = fastest[f"{method} 1"], run.work(output)
            rows.append(
                {
                    "table": kind,
                    "method": method,
                    "bits": bits,
                    "occupied": occupied,
                    # Not confidential: the table is synthetic.
                    "people": int(table.count.sum()),
                    "output": int(output.size),
                    "visited": int(visited),
                    "without_data": 1 - work.with_data / visited,
                    "blocks": work.blocks,
                    "seconds_1": seconds,
                    "seconds_2": fastest[f"{method} 2"],
                    "ns_a_node": seconds / visited * 1e9,
                    "floor_ns": (work.blocks * block + visited * draw) / visited,
                    "floor": (work.blocks * block + visited * draw) / seconds / 1e9,
                }
            )
    return rows


def floor(rounds: int) -> tuple[float, float]:
    """Measure nanoseconds of a ChaCha20 block, and of a draw from it, which no method can avoid."""
    law, state = DiscreteLaplace(Fraction(38)), np.empty(16 * LANES, np.uint32)
    secret, address = np.zeros(8, np.uint32), np.arange(1 << 13, dtype=np.uint64)
    word = NodeNoise(NoiseKey(bytes(32)), 1, law).words(address).reshape(-1)
    drawn, todo = np.empty(word.size, np.int64), np.empty(word.size + 1, np.int32)
    one = np.uint32(1)

    def blocks() -> None:
        for start in range(0, address.size, LANES):
            chacha.lanes(secret, one, one, address[start : start + LANES], state)

    # The cost of calls alone, for subtraction.
    def nothing() -> None:
        for start in range(0, address.size, LANES):
            chacha.lanes(secret, one, one, address[start:start], state)

    def draws() -> None:
        kernels.look_up(word, law.table, drawn, todo)

    calls = {"block": blocks, "nothing": nothing, "draw": draws}
    # Compiles, or loads compiled code.
    for call in calls.values():
        call()
    fastest, _ = cost.best(calls, 20 * rounds, 10)
    # The empty call costs as much per call, and is subtracted.
    block = (fastest["block"] - fastest["nothing"]) / address.size
    return block * 1e9, fastest["draw"] / word.size * 1e9


def baselines(sizes: Sizes) -> Rows:
    """Measure others on one table each, and both methods."""
    sparse = synthetic.clustered(37, sizes.million)
    sides = (sizes.dense, sizes.dense - 2, sizes.listed)
    dense, smaller, listed = (synthetic.clustered(bits, _few(bits)) for bits in sides)
    people = int(sparse.count.sum())
    scale = float(Refinement("topdown", sparse).event.scale)
    noise_of_cells = np.random.default_rng(1)

    def laplace() -> Any:
        # A dense method must allocate all cells, which is part of its time.
        counts = np.zeros(1 << sizes.dense)
        counts[dense.key.astype(np.int64)] = dense.count
        counts += noise_of_cells.laplace(0, 1.0, counts.size)
        return counts

    jobs: list[tuple[str, str, geodp.CountTable, Callable[[], Any] | None]] = [
        (
            "T2, NumPy",
            "numpy",
            sparse,
            lambda: numpy_t2.topdown(sparse, people, numpy_t2.plain(scale)),
        ),
        ("Laplace, NumPy", "numpy", dense, laplace),
        ("Laplace, OpenDP", "opendp", listed, _run("OpenDP laplace, each cell", listed)),
        ("Privelet, geodp", "geodp", smaller, _run("privelet", smaller)),
        ("Privelet, PyWavelets", "PyWavelets", smaller, _run("PyWavelets Privelet", smaller)),
    ]
    rows = []
    for name, package, table, baseline in jobs:
        row = {
            **{"baseline": name, "version": libraries.version(package) or "not installed"},
            **{"bits": table.grid.bits, "occupied": int(table.key.size)},
        }
        if baseline is not None:
            # Baseline and methods alternate, so that load on the machine affects both.
            calls = {"baseline": baseline} | {m: Refinement(m, table).run for m in METHODS}
            fastest, _ = cost.best(calls, sizes.rounds, sizes.patience)
            row["seconds"] = fastest["baseline"]
            for method in METHODS:
                row[method] = fastest[method]
                row[f"over_{method}"] = fastest["baseline"] / fastest[method]
        rows.append(row)
    return rows


def _few(bits: int) -> int:
    """Compute 0.15 % of the cells."""
    return (1 << bits) * 15 // 10_000


def _run(name: str, table: geodp.CountTable) -> Callable[[], Any] | None:
    """Prepare a library of ``bench peers`` with its input; None if it is not installed."""
    peer = libraries.by_name(name)
    if libraries.version(peer.package) is None:
        return None
    run, _ = peer.prepare(table, Fraction(1))
    return lambda: run(0)


def draws(sizes: Sizes) -> Rows:
    """Measure exact discrete Laplace noise and floating-point noise, as ``bench noise`` does."""
    scales = [Fraction(1), Fraction(38), Fraction(4000)]
    return [noise.row("laplace", scale, rounds=5 * sizes.rounds) for scale in scales]


def sorting(sizes: Sizes) -> Rows:
    """Sort keys of 40 bits with counts, by radix and by NumPy."""
    random = np.random.default_rng(1)
    # As many bits as keys of large maps have, since radix sort depends on them.
    key = random.integers(0, 1 << 40, sizes.sorted, dtype=np.uint64)
    count = random.integers(1, 100, sizes.sorted)
    buffers = key.copy(), count.copy(), np.empty_like(key), np.empty_like(count)
    moved = key_lists.sort_pairs(*buffers)

    def gathered() -> Any:
        order = np.argsort(key)
        return key[order], count[order]

    def stable() -> Any:
        order = np.argsort(key, kind="stable")
        return key[order], count[order]

    calls: dict[str, Callable[[], Any]] = {
        "radix, keys with counts": lambda: key_lists.sort_pairs_into(key, count),
        "np.sort, keys alone": lambda: np.sort(key),
        "np.sort(kind='stable'), keys alone": lambda: np.sort(key, kind="stable"),
        "np.argsort, both gathered": gathered,
        "np.argsort(kind='stable'), both gathered": stable,
    }
    fastest, _ = cost.best(calls, sizes.rounds, sizes.patience)
    ours = fastest["radix, keys with counts"]
    return [
        {
            "sort": name,
            "keys": sizes.sorted,
            "ns_a_key": seconds / sizes.sorted * 1e9,
            "over_radix": seconds / ours,
            "moves_a_key": moved / sizes.sorted if name.startswith("radix") else None,
        }
        for name, seconds in fastest.items()
    ]


def memory(sizes: Sizes) -> Rows:
    """Measure peak memory of a refinement in a separate process, and per output cell."""
    rows, bits = [], 37
    for kind, occupied in sizes.held:
        with tempfile.TemporaryDirectory(prefix="geodp-bench-") as folder:
            synthetic.save(table_of(kind, bits, occupied), Path(folder))
            measured = {m: refining.alone(Path(folder), bits, m) for m in METHODS}
        for method, usage in measured.items():
            rows.append(
                {
                    **{"table": kind, "method": method, "bits": bits, "occupied": occupied},
                    **{"output": usage["output"], "peak_bytes": usage["peak_bytes"]},
                    "bytes_an_output_cell": (usage["peak_bytes"] - 16 * occupied) / usage["output"],
                }
            )
    return rows


def identical(sizes: Sizes) -> Rows:
    """Compute the SHA-256 of keys and counts, for every way to run both methods."""
    rows = []
    for bits in (sizes.same, 37):
        table = synthetic.clustered(bits, sizes.million // 10 if bits == 37 else 1 << bits - 4)
        for method in METHODS:
            run = Refinement(method, table)
            ways: dict[str, Callable[[], refining.Cells]] = {
                "serial": run.run,
                "2 threads": partial(run.run, 2),
                "4 threads": partial(run.run, 4),
                "7 parts": partial(run.run, 1, 7),
                "64 parts on 2 threads": partial(run.run, 2, 64),
            }
            if bits == sizes.same:
                ways["dense"] = run.dense
            # Only topdown has an implementation in NumPy.
            if method == "topdown":
                ways["NumPy, same noise"] = partial(_numpy, run)
            digests = {name: refining.digest(way()) for name, way in ways.items()}
            rows.append(
                {
                    **{"method": method, "bits": bits, "ways": list(digests)},
                    "identical": len(set(digests.values())) == 1,
                    "sha256": digests["serial"],
                }
            )
    return rows


def _numpy(run: Refinement) -> refining.Cells:
    """Run T2 in NumPy with geodp's noise."""
    total = run.noise.refined_total(int(run.table.count.sum()))
    detail = run.noise.detail
    bits = run.table.grid.bits

    def draw(node: numpy_t2.Integers, level: int) -> tuple[numpy_t2.Integers, numpy_t2.Integers]:
        return detail.at(node.view(np.uint64), level, bits)

    return numpy_t2.topdown(run.table, total, draw)


def np_sort() -> str:
    """Find which code np.sort runs for 64-bit keys on this processor."""
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    features = {*extensions["baseline"], *extensions.get("found", ())}
    for names, code in (({"AVX512_SKX", "X86_V4"}, "AVX-512"), ({"AVX2", "X86_V3"}, "AVX2")):
        if names & features:
            return f"NumPy {np.__version__} with {code}"
    return f"NumPy {np.__version__} without AVX2 or AVX-512"
