"""What a seed stands for: a grid, a table and everything that publish is told."""

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

import geodp
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from tests.combinations.forms import FORMS

METHODS = sorted(geodp.METHODS)
MOST_CELLS = 1500
"""Cells of a grid that is drawn; larger ones are drawn again."""

EPSILONS = ("1/1000", "1/100", "1/10", "1/3", 1, "2.5", 20, 100)
RHOS = ("1/1000", "1/50", "1/2", 5)
DELTAS = ("1e-6", "1/1000")
TEXTS = {
    ("matrix", "workload"): ("ranges", "blocks", "cells"),
    ("matrix", "strategy"): ("optimised", "identity", "wavelet", "tree"),
    ("pyramid", "setting"): (*("auto", "R", "fine", "flat", "informed", "islands", "official"),),
    ("quadtree", "budget"): ("geometric", "uniform"),
}
"""Settings that are names."""

FEWER = {("mwem", "rounds"): (1, 3), ("mwem", "passes"): (1, 5)}
"""Settings that keep a method quick."""


@dataclass(frozen=True, eq=False)
class Draw:
    """One combination.

    Attributes
    ----------
    seed : int
    form, method : str
        Name of the grid's form, and the method with its settings.
    grid : Grid
    index : int64[d, n]
    count : int64[n]
        Confidential counts of the cells at ``index``.
    terms : dict
        Budget, neighbours, contribution, unit and guess of people.
    key : str
        ``entropy``, ``kept`` or ``fixed``.
    ledger : bool
    name : str
        Of the count.
    whole : bool
        Whether the map is drawn, the files are compared byte by byte, and all else that is slow.
    """

    seed: int
    form: str
    method: str
    grid: Grid
    index: np.ndarray
    count: np.ndarray
    terms: dict[str, Any]
    key: str
    ledger: bool
    name: str
    whole: bool

    @property
    def said(self) -> str:
        """For people: what was combined."""
        shape = "x".join(map(str, self.grid.shape))
        return f"{self.form} {shape}, {self.method}, {self.terms}, key {self.key}"


def draw(seed: int) -> Draw:
    """The combination of a seed; every method meets every form as seeds go on."""
    random = np.random.default_rng(seed)
    name = METHODS[seed % len(METHODS)]
    form = list(FORMS)[seed // len(METHODS) % len(FORMS)]
    grid = _grid(random, form)
    index, count = _people(random, grid)
    gaussian = geodp.METHODS[name].gaussian and random.random() < 0.4
    key = str(random.choice(["entropy", "kept", "fixed"], p=[0.3, 0.5, 0.2]))
    terms = {
        **_budget(random, gaussian or random.random() < 0.03),
        "neighbours": str(random.choice(["add-remove-one", "replace-one"])),
        "contribution": int(random.choice([1, 1, 1, 2, 7, 1000])),
        "unit": str(random.choice(["person", "household", "person-day"])),
        "people": float(random.choice([10, 5000, 1e9])) if random.random() < 0.4 else None,
    }
    return Draw(
        seed,
        form,
        _settings(random, name, grid),
        grid,
        index,
        count,
        terms,
        key,
        bool(key != "fixed" and random.random() < 0.7),
        str(random.choice(["population", "trips", "人口", "a-b_c"])),
        bool(random.random() < 0.25),
    )


def _grid(random: np.random.Generator, form: str) -> Grid:
    while True:
        try:
            grid = FORMS[form](random)
        except UsageError:  # such as a mask that leaves nothing of coarser cells
            continue
        if grid.size <= MOST_CELLS:
            return grid


def _people(random: np.random.Generator, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Few or many people in some cells of the domain, at least one."""
    index = np.indices(grid.shape, dtype=np.int64).reshape(len(grid.shape), -1)
    index = index[:, grid.contains(index)]
    kept = random.random(index.shape[1]) < random.choice([0.05, 0.5, 1.0])
    kept[int(random.integers(kept.size))] = True
    index = index[:, kept]
    kind = random.choice(["few", "some", "many", "huge"], p=[0.3, 0.4, 0.2, 0.1])
    if kind == "huge":
        count = np.ones(index.shape[1], np.int64)
        count[int(random.integers(count.size))] = (1 << 59) + int(random.integers(100))
    else:
        count = random.poisson({"few": 2, "some": 60, "many": 1e6}[str(kind)], index.shape[1])
    count[0] = max(count[0], 1)
    return index, count.astype(np.int64)


def _budget(random: np.random.Generator, gaussian: bool) -> dict[str, Any]:
    given: dict[str, Any] = {"epsilon": None, "rho": None, "delta": None}
    if not gaussian:
        given["epsilon"] = random.choice(np.array(EPSILONS, object))
    elif random.random() < 0.5:
        given["epsilon"] = random.choice(np.array(EPSILONS[:-1], object))
        given["delta"] = str(random.choice(DELTAS))
    else:
        given["rho"] = random.choice(np.array(RHOS, object))
        given["delta"] = str(random.choice(DELTAS)) if random.random() < 0.5 else None
    return given


def _settings(random: np.random.Generator, name: str, grid: Grid) -> str:
    """The method with none, some or all of its settings drawn."""
    found, method = [], geodp.METHODS[name]
    for field in fields(method):
        default = getattr(method, field.name)
        left = field.name in ("chain", "shares") or random.random() < 0.5
        if left and (name, field.name) not in FEWER:
            continue
        if (name, field.name) == ("parts", "marginals"):
            found += [f"marginals={one.name}" for one in grid.attributes[-1:]]
            continue
        found.append(f"{field.name}={_value(random, name, field.name, default)}")
    digits = len(grid.order.radices)
    if name == "pyramid" and digits > 1 and random.random() < 0.3:
        own = [setting for setting in found if not setting.startswith("setting")]
        found = [*own, f"chain={digits - 1}-1", "shares=1-3-2"]
    return ":".join([name, *([",".join(found)] if found else [])])


def _value(random: np.random.Generator, name: str, field: str, default: Any) -> str:
    if (name, field) in TEXTS:
        return str(random.choice(TEXTS[name, field]))
    if (name, field) in FEWER:
        return str(random.choice(FEWER[name, field]))
    if isinstance(default, bool):
        return str(random.choice(["yes", "no"]))
    if isinstance(default, int):
        return str(random.choice([0, 1, 2, 2, 3, 4, 7]))
    assert isinstance(default, Fraction), f"{name}:{field} is of a kind that is not drawn yet"
    return str(random.choice(["1/20", "1/4", "1/2", str(default)]))
