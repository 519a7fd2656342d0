"""Methods of geodp and of other libraries that release one table.

A peer takes its input in the form that it would have at hand (a table, an array in index
order, or a vector in key order), and making that form is not timed. A library that is not
installed, or cannot do the job, says so when it is prepared.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.baselines.papers import adaptive_grid, hdmm, privtree
from geodp.mechanisms import mechanism
from geodp.release.publish import publish
from geodp.release.release import Release

Run = Callable[[int], Any]
"""One release; the number of the trial makes its noise where the peer can be seeded."""

Vector = Callable[[Any], NDArray[np.float64]]
"""Converts a run's result to counts of all keys, in key order."""

DELTA = 1e-9
"""Failure probability of the one peer that is not purely private."""

BRANCHES = 16
"""Children of a node of OpenDP's tree: the power of two closest to the 20 that it recommends."""


@dataclass(frozen=True)
class Peer:
    """A method or library that releases a table.

    Attributes
    ----------
    name : str
    package : str
        Package whose version matters.
    guarantee : str
        Guarantee of a release.
    noise : str
        How noise is drawn: exact, secure in floating point, or plain floating point.
    prepare : callable
        Makes a :data:`Run` and a :data:`Vector` from a table and epsilon.
    """

    name: str
    package: str
    guarantee: str
    noise: str
    prepare: Callable[[geodp.CountTable, Fraction], tuple[Run, Vector]]


PURE = "pure epsilon"
EXACT = "exact integers"
PLAIN = "plain floats, which leak"
"""Mironov (2012): the low bits of floating-point noise reveal what it was added to."""


def of_method(spec: str) -> Peer:
    """Wrap a method of geodp as a peer."""

    def prepare(table: geodp.CountTable, epsilon: Fraction) -> tuple[Run, Vector]:
        def run(trial: int) -> Release:
            # A key for each trial: errors can be reproduced, and trials are independent.
            secret = hashlib.sha256(f"bench {spec} {trial}".encode()).digest()
            key = geodp.NoiseKey(secret)
            return publish(table, method=spec, epsilon=epsilon, key=key, contribution=1)

        return run, lambda release: release.table.to_vector().astype(np.float64)

    guarantee = PURE if mechanism(spec).guarantee.variant.startswith("pure") else "see its card"
    return Peer(spec, "geodp", guarantee, EXACT, prepare)


def accepted(specs: list[str], table: geodp.CountTable) -> tuple[list[str], dict[str, str]]:
    """Split methods into those that support a table's grid, and the others with their reasons."""
    refused = {s: reason for s in specs if (reason := mechanism(s).unsupported(table.grid))}
    return [spec for spec in specs if spec not in refused], refused


def _dense(table: geodp.CountTable) -> Vector:
    """Convert an array in index order to key order."""
    grid = table.grid
    return lambda result: grid.domain.to_vector(np.asarray(result, np.float64).reshape(grid.shape))


def _in_key_order(result: Any) -> NDArray[np.float64]:
    return np.asarray(result, np.float64)


def _numpy_laplace(table: geodp.CountTable, epsilon: Fraction) -> tuple[Run, Vector]:
    dense, scale = table.to_dense(), float(1 / epsilon)

    def run(trial: int) -> Any:
        return dense + np.random.default_rng(trial).laplace(0, scale, dense.shape)

    return run, _dense(table)


def _numpy_topdown(table: geodp.CountTable, epsilon: Fraction) -> tuple[Run, Vector]:
    """Run the paper's T2 level by level on arrays, in floating point as in the paper."""
    vector, scale = table.to_vector().astype(np.float64), float((1 + table.grid.bits) / epsilon)

    def run(trial: int) -> Any:
        draw = np.random.default_rng(trial)
        levels = [vector]
        while levels[-1].size > 1:
            levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
        # From the root down, with only the nodes that still hold a count.
        node = np.zeros(1, np.int64)
        count = np.maximum(levels[-1] + draw.laplace(0, scale), 0)
        for below in reversed(levels[:-1]):
            node, count = node[count > 0], count[count > 0]
            detail = below[2 * node] - below[2 * node + 1] + draw.laplace(0, scale, node.size)
            # As in the paper: neither half may fall below 0.
            detail = np.clip(detail, -count, count)
            count = np.stack([count + detail, count - detail], axis=1).reshape(-1) / 2
            node = np.stack([2 * node, 2 * node + 1], axis=1).reshape(-1)
        released = np.zeros(vector.size)
        released[node] = count
        return released

    return run, _in_key_order


def _pywt_privelet(table: geodp.CountTable, epsilon: Fraction) -> tuple[Run, Vector]:
    """Privelet along the key order: ``pywt``'s orthonormal Haar with noise of each level's weight.

    A coefficient over 2**i keys is the unnormalised difference over sqrt(2**i), and so is its
    noise: Xiao, Wang, Gehrke (2010) in these units.
    """
    import pywt  # type: ignore[import-untyped]

    vector, k = table.to_vector().astype(np.float64), table.grid.bits
    scale = float((1 + k) / epsilon)

    def run(trial: int) -> Any:
        draw = np.random.default_rng(trial)
        levels = pywt.wavedec(vector, "haar", level=k)
        heights = [k, *range(k, 0, -1)]
        noisy = [
            values + draw.laplace(0, scale / 2 ** (i / 2), values.size)
            for values, i in zip(levels, heights, strict=True)
        ]
        return pywt.waverec(noisy, "haar")

    return run, _in_key_order


def _opendp() -> Any:
    import opendp.prelude as dp

    # OpenDP requires consent to mechanisms that are not vetted.
    dp.enable_features("contrib")
    return dp, (dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"))


def _opendp_cells(name: str) -> Callable[[geodp.CountTable, Fraction], tuple[Run, Vector]]:
    def prepare(table: geodp.CountTable, epsilon: Fraction) -> tuple[Run, Vector]:
        dp, space = _opendp()
        measure = getattr(dp.m, name)(*space, scale=float(1 / epsilon))
        counts = table.to_vector().tolist()
        return lambda trial: measure(counts), _in_key_order

    return prepare


def _opendp_tree(table: geodp.CountTable, epsilon: Fraction) -> tuple[Run, Vector]:
    dp, space = _opendp()
    counts = table.to_vector().tolist()
    tree = dp.t.make_b_ary_tree(*space, leaf_count=len(counts), branching_factor=BRANCHES)
    noisy = tree >> dp.m.then_laplace(scale=float(tree.map(1) / epsilon))
    measure = noisy >> dp.t.make_consistent_b_ary_tree(BRANCHES, TIA="i64", TOA="f64")
    return lambda trial: measure(counts), _in_key_order


def _opendp_threshold(table: geodp.CountTable, epsilon: Fraction) -> tuple[Run, Vector]:
    """Add noise to occupied cells only, and show those above a threshold."""
    dp, _ = _opendp()
    cell = dp.atom_domain(T="i64")
    space = dp.map_domain(cell, cell), dp.l01inf_distance(dp.absolute_distance(T="i64"))
    scale = float(1 / epsilon)
    # The noisy count of a single person exceeds it with a probability of at most delta.
    threshold = math.ceil(1 + scale * math.log(1 / (2 * DELTA)) + 1)
    measure = dp.m.make_laplace_threshold(*space, scale=scale, threshold=threshold)
    epsilon_used, delta = measure.map((1, 1, 1))
    # The guarantee is checked, so that a new version cannot change what is compared.
    if epsilon_used > float(epsilon) * 1.0001 or delta > DELTA:
        raise ValueError("the threshold does not keep the budget")
    counts = dict(zip(table.key.tolist(), table.count.tolist(), strict=True))

    def vector(result: dict[int, int]) -> NDArray[np.float64]:
        released = np.zeros(1 << table.grid.bits)
        released[list(result)] = list(result.values())
        return released

    return lambda trial: measure(counts), vector


def _diffprivlib(table: geodp.CountTable, epsilon: Fraction) -> tuple[Run, Vector]:
    """Use the counts of occupied cells as weights; one record a person would take far longer."""
    from diffprivlib.tools import histogramdd  # type: ignore[import-untyped]

    where = table.grid.decode(table.key).T.astype(np.float64) + 0.5
    # Public bounds: without them the library would read the data for them, and warn.
    sides = [(0, side) for side in table.grid.shape]

    def run(trial: int) -> Any:
        with warnings.catch_warnings():
            # Its warnings would be repeated in every trial.
            warnings.simplefilter("ignore")
            return histogramdd(
                where,
                epsilon=float(epsilon),
                bins=table.grid.shape,
                range=sides,
                weights=table.count,
            )[0]

    return run, _dense(table)


def _pydp(table: geodp.CountTable, epsilon: Fraction) -> tuple[Run, Vector]:
    from pydp.algorithms.numerical_mechanisms import (  # type: ignore[import-untyped]
        LaplaceMechanism,
    )

    counts = table.to_dense().reshape(-1).tolist()
    laplace = LaplaceMechanism(epsilon=float(epsilon), sensitivity=1)
    return lambda trial: [laplace.add_noise(count) for count in counts], _dense(table)


def _paper(
    release: Callable[..., Any],
) -> Callable[[geodp.CountTable, Fraction], tuple[Run, Vector]]:
    """Wrap a method of :mod:`bench.baselines.papers`, for maps of two axes."""

    def prepare(table: geodp.CountTable, epsilon: Fraction) -> tuple[Run, Vector]:
        if len(table.grid.shape) != 2:
            raise ValueError("maps of two axes only")
        dense, budget = table.to_dense(), float(epsilon)
        return lambda trial: release(dense, budget, np.random.default_rng(trial)), _dense(table)

    return prepare


OTHERS = (
    Peer("OpenDP laplace, each cell", "opendp", PURE, EXACT, _opendp_cells("make_laplace")),
    Peer("OpenDP geometric, each cell", "opendp", PURE, EXACT, _opendp_cells("make_geometric")),
    Peer(f"OpenDP consistent {BRANCHES}-ary tree", "opendp", PURE, EXACT, _opendp_tree),
    Peer(
        "OpenDP laplace threshold",
        "opendp",
        f"epsilon, delta = {DELTA:g}",
        EXACT,
        _opendp_threshold,
    ),
    Peer(
        "diffprivlib histogramdd",
        "diffprivlib",
        PURE,
        "integers, from floats",
        _diffprivlib,
    ),
    Peer("PyDP laplace, each cell", "python-dp", PURE, "on a safe lattice", _pydp),
    Peer(
        "NumPy laplace, each cell",
        "numpy",
        "pure epsilon on paper",
        PLAIN,
        _numpy_laplace,
    ),
    Peer("NumPy topdown (T2)", "numpy", "pure epsilon on paper", PLAIN, _numpy_topdown),
    Peer(
        "PyWavelets Privelet",
        "PyWavelets",
        "pure epsilon on paper",
        PLAIN,
        _pywt_privelet,
    ),
    *(
        Peer(name, "numpy", "pure epsilon on paper", PLAIN, _paper(release))
        for name, release in (
            ("HDMM, all ranges", hdmm.release),
            ("PrivTree", privtree.release),
            ("AG, as its authors have it", adaptive_grid.release),
        )
    ),
)
"""Other libraries, the usual NumPy code, and methods written from their papers."""


def by_name(name: str) -> Peer:
    """Look up a peer of another library, or a method of geodp."""
    return {other.name: other for other in OTHERS}.get(name) or of_method(name)


def version(package: str) -> str | None:
    """Look up a package's version; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
