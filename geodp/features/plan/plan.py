"""A plan: the closed-form errors of a method on a grid under a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.blocks import BlockError
from geodp.accuracy.interval import Z
from geodp.accuracy.resolution import resolution_limit
from geodp.accuracy.variance import TreeVariance
from geodp.errors import UsageError
from geodp.features.plan.areas import Planned, nodes_of
from geodp.grid.domain import Domain
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.read.public.land import warn_of_sea
from geodp.mechanisms import Mechanism, choose_method
from geodp.mechanisms.trees.attributes import warnings_of
from geodp.privacy.budget import Budget
from geodp.privacy.event import Measurement
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.terms import Terms
from geodp.release.plan_file import Settings, digest_of

PLACES = 16
"""Most places at which an official area is tried, where its error depends on the place."""

FEW_KEYS = 1 << 16
"""Cells at all these places together, unless one place has more."""

MOST_KEYS = 1 << 20
"""Cells of an official area that is tried at all."""

WIDE = 256
"""Children of a node above which clamping was measured to add to the errors of parts of it."""

LIVED_IN = 1 / 5
"""Share of the cells that people live on at least, on a census mesh of land."""

NODE, CELL = 3e-7, 1e-7
"""Seconds for a visited node of a sparse method, and for a cell of one that visits all."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What a release is expected to be like; :func:`plan` makes one. Nothing in it knows data.

    Attributes
    ----------
    grid : Grid
    settings : Settings
        Method and terms, as :func:`geodp.publish` takes them.
    method : Mechanism
        With its settings.
    event : Measurement
        What that spends.
    wanted : mapping of str to region
        Whose errors are asked for.
    reasons : tuple of str
        What it was chosen for, and how; a sentence each.
    """

    grid: Grid
    settings: Settings
    method: Mechanism
    event: Measurement
    wanted: Mapping[str, Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Plan({self.name}, {self.event.loss}, {self.grid!r})"

    @property
    def name(self) -> str:
        """The method and its settings."""
        return self.event.mechanism

    @property
    def people(self) -> float | None:
        """A public guess of the sum of all counts."""
        return self.settings.terms.people

    @cached_property
    def _tree(self) -> TreeVariance | None:
        return self.method.tree_variance(self.grid, self.event)

    @cached_property
    def _errors(self) -> tuple[BlockError, ...]:
        return self.method.block_errors(self.grid, self.event) or ()

    @cached_property
    def blocks(self) -> tuple[Planned, ...]:
        """Blocks of keys that share their first digits, the cells first; 1, 2, 4 ... on bits.

        Empty where the error depends on the data.
        """
        return tuple(Planned.of(error) for error in reversed(self._errors))

    @cached_property
    def areas(self) -> tuple[Planned, ...]:
        """Published areas of the grid's code system, or an office's regions.

        Where an area is a node of the tree, its standard error is that of its block. Elsewhere it
        depends on the place, and is the largest at some places within the grid, drawn at random.
        """
        if not self.blocks:
            return ()
        nodes = nodes_of(self.grid)
        if self.grid.areas.nested:
            areas = nodes.items()
            return tuple(replace(self.blocks[-1 - digits], name=name) for name, digits in areas)
        if self._tree is None:
            return ()
        found = []
        for name, side in self.grid.maps.areas:
            cells = side**2 * prod(len(a.labels) for a in self.grid.attributes)
            if name in nodes:
                found.append(replace(self.blocks[-1 - nodes[name]], name=name))
            elif cells > MOST_KEYS:
                found.append(Planned(name, cells, None))
            elif errors := self._at_places(side, max(1, min(PLACES, FEW_KEYS // cells))):
                found.append(Planned(name, cells, max(errors)))
        return tuple(found)

    def _at_places(self, side: int, most: int) -> list[float]:
        """Return standard errors of published areas within the extent, at some places.

        The list is empty where none lies there.

        With a mask: of what it holds of areas that it holds a cell of.
        """
        grid, place = self.grid, self.grid.places[0]
        first = (-place.row0 % side, -place.col0 % side)
        down, right = (
            max(0, (size - at) // side)
            for size, at in zip((place.rows, place.cols), first, strict=True)
        )
        random = np.random.default_rng(0)
        if not grid.domain.is_box:
            row, col = grid.decode(_some_cells(grid.domain, random))[:2]
            row, col = (row - first[0]) // side, (col - first[1]) // side
            whole = (row >= 0) & (row < down) & (col >= 0) & (col < right)
            number = random.permutation(np.unique(row[whole] * right + col[whole]))[:most]
        elif down * right > most:
            number = random.integers(down * right, size=most)
        else:
            number = np.arange(down * right)
        rows, cols = (part.reshape(-1) for part in np.indices((side, side)))
        found = []
        for at in number.tolist():
            row, col = divmod(at, right)
            corner = (first[0] + row * side, first[1] + col * side)
            region = Region.of_map(grid, rows + corner[0], cols + corner[1])
            found.append(self._error_of(region) or 0.0)
        return found

    @cached_property
    def regions(self) -> tuple[Planned, ...]:
        """The wanted regions: cells whose centre lies inside, all attributes together."""
        found = []
        for name, shape in self.wanted.items():
            region = Region.of(self.grid, shape)
            found.append(Planned(name, region.cells, self._error_of(region)))
        return tuple(found)

    def _error_of(self, region: Region) -> float | None:
        if self._tree is None:
            return None
        grid = self.grid if self.method.skips_outside else None
        return sqrt(max(self._tree.region(region.key, grid), 0.0))

    @property
    def floor(self) -> int | None:
        """See :func:`geodp.accuracy.resolution.resolution_limit`; None without a guess too."""
        if self.people is None:
            return None
        return resolution_limit(self._errors, self.people, self.grid.size)

    def smallest(self, population: float, percent: float) -> Planned | None:
        """Find the smallest block or area whose 95 % margin is within so many % of a population."""
        if not (isfinite(population) and isfinite(percent) and min(population, percent) > 0):
            raise UsageError(
                "A population and a percentage are numbers above 0.", code="population-not-positive"
            )
        most = population * percent / 100 / Z
        fine = [area for area in (*self.areas, *self.blocks) if area.at_most(most)]
        return min(fine, key=lambda area: area.cells, default=None)

    @property
    def output_cells(self) -> tuple[int, int] | None:
        """Fewest and most cells of the output, if people live on a fifth of the cells, or evenly.

        A method that visits every cell publishes them all. A sparse one prunes what lies below
        the noise. Of people who live in few cells it leaves at least one cell for every ten noise
        scales, as long as these are few beside the cells that are lived in; of people who are
        spread below the noise at most one for every two scales by the number of levels that share
        them out. None without a guess of the people.
        """
        n = self.grid.size
        if not self._sparse:
            return n, n
        if self.people is None:
            return None
        error = self.blocks[0].standard_error if self.blocks else None
        scale = max(1.0, self.event.width() if error is None else error / sqrt(2))
        depth = 1 if self._tree is None else len(self._tree.fanouts)
        scales = self.people / scale
        few, many = scales / (10 + scales / (LIVED_IN * n)), scales * depth / 2
        return min(n, 1 + int(few)), min(n, 1 + int(many))

    @property
    def seconds(self) -> tuple[float, float] | None:
        """Time of the mechanism itself, to the order of magnitude; no reading, no writing."""
        if self.output_cells is None:
            return None
        each = NODE * self.grid.bits if self._sparse else CELL
        few, many = (0.01 + each * cells for cells in self.output_cells)
        return few, many

    @property
    def _sparse(self) -> bool:
        """Whether it prunes: the methods that visit every cell have other values, too."""
        return self.method.whole and self.method.nonnegative

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What must be known before a release, as publish says it: a sentence each."""
        about = warnings_of(self.method, self.grid, self.event, self.people)
        return (*about, *warn_of_sea(self.grid))

    @cached_property
    def parts(self) -> tuple[dict[str, Any], ...]:
        """Which parts of counts carry a signal at which areas, the largest first."""
        return tuple(self.method.list_signals(self.grid, self.event, self.people) or ())

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known to read the numbers: a sentence each."""
        if not self.blocks:
            return (f"The error of {self.name} depends on the data, so it has no closed form.",)
        found = ["Standard errors hold where no count is clamped at 0."]
        if self.method.nonnegative:
            found.append("Empty areas have smaller errors, lone occupied cells larger ones.")
        widest = 0 if self._tree is None else max(self._tree.fanouts, default=0)
        if self.method.nonnegative and widest > WIDE:
            found.append(
                f"Nodes have up to {widest:,} children: where most are empty, the sum of many of "
                "them, but not of all, loses what is clamped; errors up to 3.5 times these were "
                "measured."
            )
        if any((b.largest or 0) > 1.05 * (b.standard_error or 0) for b in self.blocks):
            found.append(
                "At the edges of the domain, where nodes have fewer children, errors can be larger "
                "(largest, with --json)."
            )
        if self._tree is None and (nodes_of(self.grid) or self.wanted):
            found.append(f"{self.name} has no closed form for areas that are no blocks of keys.")
        if self.people is not None and self.floor is None:
            found.append("Not even the total carries a signal; the budget is too small.")
        elif self.floor is not None and self.floor > 1:
            found.append(
                f"Blocks of fewer than {self.floor:,} cells carry no more signal than zeros would, "
                "on average; where people live f times as densely, f times smaller ones do."
            )
        if faint := self._faint():
            found.append(
                f"Nodes of {faint:,} cells are measured with more noise than the people expected "
                "in them, so that many are pruned, although what is measured below is better: "
                "real errors will be larger than these."
            )
        return tuple(found)

    def _faint(self) -> int | None:
        """Cells of the largest node above the floor whose own noise exceeds its people.

        Levels with little of the budget: two passes improve them from below, where they are open.
        """
        levels = getattr(self.method, "levels", None)
        if levels is None or self.people is None or self.floor is None:
            return None
        chain = levels(self.grid, gaussian=self.event.rho is not None)
        each = self.people / self.grid.size
        for share, stride in zip(chain.shares, chain.strides, strict=True):
            expected = each * min(stride, self.grid.size)
            if stride >= self.floor and self.event.width(share) > expected:
                return int(stride)
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "method": self.name,
            "budget": self.event.describe(),
            "grid": self.grid.describe(),
            "people": self.people,
            "blocks": [block.to_dict() for block in self.blocks],
            "areas": [area.to_dict() for area in self.areas],
            "regions": [region.to_dict() for region in self.regions],
            "parts": list(self.parts),
            "floor": self.floor,
            "output_cells": self.output_cells,
            "seconds": self.seconds,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    def toml(self) -> str:
        """Return the text of a file that ``geodp publish --plan`` takes."""
        lines = [
            f"{area.title}: standard error {area.standard_error:,.1f}, "
            f"95 % margin {area.margin_95:,.1f}"
            for area in (*self.blocks[::2], *self.areas)
            if area.standard_error is not None
        ]
        return self.settings.toml([*self.reasons, *self.warnings, *self.notes, *lines])


def _some_cells(domain: Domain, random: np.random.Generator) -> NDArray[np.uint64]:
    """Return keys of a domain's cells, or of some where they are many: uint64[n]."""
    total = domain.cells
    number = np.arange(total) if total <= FEW_KEYS else random.integers(total, size=FEW_KEYS)
    return domain.keys_of_ranks(number)


def plan(
    grid: Grid,
    method: str | Mechanism | None = None,
    *,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    regions: Mapping[str, Any] | None = None,
) -> Plan:
    """Plan a release before any data is read.

    Parameters
    ----------
    grid : Grid
    method, epsilon, rho, delta, neighbours, unit
        As for :func:`geodp.publish`.
    contribution : int, optional
        The most that one person adds to the sum of all counts. Default: 1, if the input's source
        says so when it is published.
    people : float, optional
        A public guess of the sum of all counts; for the resolution floor, the output's size and
        the bias of small labels.
    regions : mapping, optional
        Names of rectangles (west, south, east, north), polygons or codes of areas.

    Raises
    ------
    UsageError
        A call that could not be published either.

    Examples
    --------
    >>> found = plan(Grid.regular((512, 512)), epsilon=0.1)
    >>> [round(block.standard_error, 1) for block in found.blocks[:3]]
    [31.1, 43.7, 60.8]
    >>> found.smallest(5000, 1.3).cells
    1
    """
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people)
    return Planner(grid, terms, regions).plan(method)


@dataclass(frozen=True, eq=False)
class Planner:
    """What plans of several methods share.

    Attributes
    ----------
    grid : Grid
    terms : Terms
    regions : mapping of str to region, optional
    """

    grid: Grid
    terms: Terms
    regions: Mapping[str, Any] | None = None

    def plan(self, method: str | Mechanism | None) -> Plan:
        """Plan a method; with None, the default of the grid.

        UsageError where it cannot take the grid or the terms.
        """
        chosen, terms = choose_method(method, self.grid), self.terms
        if refusal := chosen.unsupported(self.grid):
            raise UsageError(refusal)
        settled = terms if terms.contribution is not None else replace(terms, contribution=1)
        spent = chosen.event(self.grid, settled)
        if overload := chosen.explain_noise_limit(self.grid, spent):
            raise UsageError(overload)
        settings = Settings(chosen.spec, terms, digest_of(self.grid))
        return Plan(self.grid, settings, chosen, spent, self.regions or {})
