"""Plans: the closed-form errors of a method, or of several, on a grid under a budget.

The setting of the pyramid for a release with a prior is chosen by simulation.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, prod, sqrt
from os import PathLike
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.closed_form import BlockError, resolution_floor
from geodp.accuracy.interval import Z
from geodp.accuracy.style import draw_figure, style_axes, style_curve
from geodp.accuracy.variance import TreeVariance
from geodp.advice import takes
from geodp.errors import UsageError, require_library
from geodp.grid.domain import Domain
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.read.public.land import warn_of_sea
from geodp.mechanisms import METHODS, Mechanism, choose_method
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees.attributes import warnings_of
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.release.plan_file import Settings, digest_of
from geodp.release.preview import warn_of_delta
from geodp.release.request import make_event
from geodp.reprs import one_line
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import Prior
from geodp.table.proxy import Proxy
from geodp.typing import FloatArray


@dataclass(frozen=True)
class Planned:
    """An area and its planned error.

    Attributes
    ----------
    name : str
        Empty for an aligned block.
    cells : int
    standard_error : float or None
        Standard error in counts, without a clamp, of blocks inside the domain; None if there is no
        closed form, or the area has too many cells.
    largest : float, optional
        Largest standard error of any block, including the edges of the domain.
    """

    name: str
    cells: int
    standard_error: float | None
    largest: float | None = None

    @classmethod
    def of(cls, error: BlockError, name: str = "") -> Self:
        """Create the plan of blocks of one size."""
        return cls(name, error.cells, error.standard_error, error.largest)

    @property
    def margin_95(self) -> float | None:
        """Half the width of a 95 % interval, 1.96 standard errors."""
        return None if self.standard_error is None else Z * self.standard_error

    @property
    def title(self) -> str:
        """Description for people."""
        return f"{self.name or 'block'} of {self.cells:,} cell{'s' * (self.cells > 1)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        named = {"name": self.name} if self.name else {}
        return {
            **named,
            "cells": self.cells,
            "standard_error": self.standard_error,
            "margin_95": self.margin_95,
            "largest": self.largest,
        }

    def is_within(self, error: float) -> bool:
        """Whether the standard error is known and at most ``error``."""
        return self.standard_error is not None and self.standard_error <= error


def nodes_of(grid: Grid) -> dict[str, int]:
    """Return areas or regions that are runs of keys, with the number of digits that
    their keys share.
    """
    order, ndim = grid.order, len(grid.shape)
    if grid.areas.nested:
        return grid.areas.list_nodes()
    nodes, full_sides = {}, order.sides(0, ndim)
    for name, side in grid.maps.areas:
        place = grid.places[0]
        for digits in range(len(order.radices) + 1):
            sides = order.sides(digits, ndim)
            # An area is a node only if a block has its size and starts where it starts.
            aligned = (sides[:2] == side).all() and (sides[2:] == full_sides[2:]).all()
            if aligned and not place.row0 % side and not place.col0 % side:
                nodes[name] = digits
    return nodes


PLACES = 16
"""Maximal number of locations at which an official area is tried, if its error depends on it."""

FEW_KEYS = 1 << 16
"""Maximal number of cells at all these locations, unless one location has more."""

MAX_KEYS = 1 << 20
"""Maximal number of cells of an official area that is tried."""

WIDE = 256
"""Number of children of a node above which clamping was measured to increase errors of parts."""

LIVED_IN = 1 / 5
"""Minimal share of populated cells, on a census mesh of land."""

NODE, CELL = 3e-7, 1e-7
"""Seconds per visited node of a sparse method, and per cell of a method that visits all cells."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The expected properties of a release, made by :func:`plan`; it does not depend on data.

    Attributes
    ----------
    grid : Grid
    settings : Settings
        Method and terms, in the form of :func:`geodp.publish`.
    method : Mechanism
        Method with its settings.
    event : Measurement
        Privacy loss of the method.
    wanted : mapping of str to region
        Regions whose errors are requested.
    reasons : tuple of str
        Sentences on the purpose and the manner of the choice.
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
        """Name of the method, with its settings."""
        return self.event.mechanism

    @property
    def people(self) -> float | None:
        """A public estimate of the sum of all counts."""
        return self.settings.terms.people

    @cached_property
    def _tree(self) -> TreeVariance | None:
        return self.method.tree_variance(self.grid, self.event)

    @cached_property
    def _errors(self) -> tuple[BlockError, ...]:
        return self.method.block_errors(self.grid, self.event) or ()

    @cached_property
    def blocks(self) -> tuple[Planned, ...]:
        """Blocks of keys that share their first digits, the cells first: 1, 2, 4 ... cells
        in binary orders.

        Empty if the error depends on the data.
        """
        return tuple(Planned.of(error) for error in reversed(self._errors))

    @cached_property
    def areas(self) -> tuple[Planned, ...]:
        """Published areas of the grid's code system, or official regions.

        If an area is a node of the tree, its standard error is that of its block. Otherwise it
        depends on the location, and is the largest at some random locations within the grid.
        """
        if not self.blocks:
            return ()
        nodes = nodes_of(self.grid)
        if self.grid.areas.nested:
            areas = nodes.items()
            return tuple(replace(self.blocks[-1 - digits], name=name) for name, digits in areas)
        if self._tree is None:
            return ()
        planned = []
        for name, side in self.grid.maps.areas:
            cells = side**2 * prod(len(a.labels) for a in self.grid.attributes)
            # Areas that are nodes have the same error everywhere and need no sampling.
            if name in nodes:
                planned.append(replace(self.blocks[-1 - nodes[name]], name=name))
            elif cells > MAX_KEYS:
                planned.append(Planned(name, cells, None))
            elif errors := self._at_places(side, max(1, min(PLACES, FEW_KEYS // cells))):
                planned.append(Planned(name, cells, max(errors)))
        return tuple(planned)

    def _at_places(self, side: int, max_places: int) -> list[float]:
        """Return standard errors of published areas at some locations within the extent.

        The list is empty if there are none. Areas are clipped to a mask.
        """
        grid, place = self.grid, self.grid.places[0]
        first = (-place.row0 % side, -place.col0 % side)
        down, right = (
            max(0, (size - at) // side)
            for size, at in zip((place.rows, place.cols), first, strict=True)
        )
        # A fixed seed: the same plan gives the same numbers.
        random = np.random.default_rng(0)
        if not grid.domain.is_box:
            row, col = grid.decode(_some_cells(grid.domain, random))[:2]
            row, col = (row - first[0]) // side, (col - first[1]) // side
            inside = (row >= 0) & (row < down) & (col >= 0) & (col < right)
            number = random.permutation(np.unique(row[inside] * right + col[inside]))[:max_places]
        # With replacement: duplicates are harmless, as only the largest error is used.
        elif down * right > max_places:
            number = random.integers(down * right, size=max_places)
        else:
            number = np.arange(down * right)
        rows, cols = (part.reshape(-1) for part in np.indices((side, side)))
        errors = []
        for at in number.tolist():
            row, col = divmod(at, right)
            corner = (first[0] + row * side, first[1] + col * side)
            region = Region.of_map(grid, rows + corner[0], cols + corner[1])
            errors.append(self._error_of(region) or 0.0)
        return errors

    @cached_property
    def regions(self) -> tuple[Planned, ...]:
        """The requested regions: cells whose centre lies inside, all attributes together."""
        regions = []
        for name, shape in self.wanted.items():
            region = Region.of(self.grid, shape)
            regions.append(Planned(name, region.cells, self._error_of(region)))
        return tuple(regions)

    def _error_of(self, region: Region) -> float | None:
        if self._tree is None:
            return None
        # A method that also measures nodes outside the domain has all children everywhere, so that
        # its variance does not depend on the domain.
        grid = self.grid if self.method.skips_outside else None
        return sqrt(max(self._tree.region(region.key, grid), 0.0))

    @property
    def floor(self) -> int | None:
        """Resolution floor, see :func:`geodp.accuracy.closed_form.resolution_floor`, or None."""
        if self.people is None:
            return None
        return resolution_floor(self._errors, self.people, self.grid.size)

    def smallest(self, population: float, percent: float) -> Planned | None:
        """Find the smallest block or area with a 95 % margin within a part of a population."""
        if not (isfinite(population) and isfinite(percent) and min(population, percent) > 0):
            raise UsageError(
                "A population and a percentage must be above 0.", code="population-not-positive"
            )
        max_error = population * percent / 100 / Z
        fine = [area for area in (*self.areas, *self.blocks) if area.is_within(max_error)]
        return min(fine, key=lambda area: area.cells, default=None)

    @property
    def output_cells(self) -> tuple[int, int] | None:
        """Minimal and maximal cells of the output, if people live on a fifth of the
        cells, or evenly.

        A method that visits every cell publishes all of them. A sparse method prunes what lies
        below the noise. If people live in few cells, it keeps at least one cell for every ten noise
        scales, as long as these are few compared with the populated cells; if people are spread
        below the noise, at most one for every two scales times the number of levels. None without
        an estimate of the people.
        """
        n = self.grid.size
        if not self._sparse:
            return n, n
        if self.people is None:
            return None
        error = self.blocks[0].standard_error if self.blocks else None
        # The standard deviation of Laplace noise is sqrt(2) times its scale.
        scale = max(1.0, self.event.width() if error is None else error / sqrt(2))
        # A wide node keeps as many cells as the levels of 16 children that it stands for.
        fanouts = () if self._tree is None else self._tree.fanouts
        depth = max(1, sum(-(-(fanout - 1).bit_length() // 4) for fanout in fanouts))
        scales = self.people / scale
        few, many = scales / (10 + scales / (LIVED_IN * n)), scales * depth / 2
        return min(n, 1 + int(few)), min(n, 1 + int(many))

    @property
    def seconds(self) -> tuple[float, float] | None:
        """Time of the mechanism, to the order of magnitude, without reading and writing."""
        if self.output_cells is None:
            return None
        each = NODE * self.grid.bits if self._sparse else CELL
        few, many = (0.01 + each * cells for cells in self.output_cells)
        return few, many

    @property
    def _sparse(self) -> bool:
        """Whether the method prunes, unlike methods that visit every cell."""
        return self.method.whole and self.method.nonnegative

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings before a release, in the form of publish: a sentence each."""
        about = warnings_of(self.method, self.grid, self.event, self.people)
        delta_notes = warn_of_delta(self.grid, self.method, self.settings.terms)
        return (*about, *warn_of_sea(self.grid), *delta_notes)

    @cached_property
    def parts(self) -> tuple[dict[str, Any], ...]:
        """Parts of counts that carry a signal, by area, the largest first."""
        return tuple(self.method.list_signals(self.grid, self.event, self.people) or ())

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of the numbers: a sentence each."""
        if not self.blocks:
            return (f"The error of {self.name} depends on the data, so it has no closed form.",)
        notes = ["Standard errors hold where no count is clamped at 0."]
        if self.method.nonnegative:
            notes.append("Empty areas have smaller errors, isolated occupied cells larger ones.")
        widest = 0 if self._tree is None else max(self._tree.fanouts, default=0)
        if self.method.nonnegative and widest > WIDE:
            notes.append(
                f"Nodes have up to {widest:,} children. If most of them are empty, the sum of many "
                "of them, but not of all, loses what is clamped: errors of up to 3.5 times these "
                "were measured."
            )
        if any((b.largest or 0) > 1.05 * (b.standard_error or 0) for b in self.blocks):
            notes.append(
                "At the edges of the domain, where nodes have fewer children, errors can be larger "
                "(largest, with --json)."
            )
        if self._tree is None and (nodes_of(self.grid) or self.wanted):
            notes.append(f"{self.name} has no closed form for areas that are not blocks of keys.")
        if self.people is not None and self.floor is None:
            notes.append("Not even the total carries a signal; the budget is too small.")
        elif self.floor is not None and self.floor > 1:
            notes.append(
                f"Blocks of fewer than {self.floor:,} cells carry no more signal than zeros would, "
                "on average; where people live f times as densely, f times smaller ones do."
            )
        notes += describe_balance(
            self.grid, self.method, self.event, self.settings.terms, self._errors, self.people
        )
        if faint := self._faint():
            notes.append(
                f"Nodes of {faint:,} cells are measured with more noise than the people expected "
                "in them, so that many are pruned, although the levels below are measured better: "
                "real errors will be larger than these."
            )
        return tuple(notes)

    def _faint(self) -> int | None:
        """Return the cells of the largest node above the floor whose own noise exceeds its people.

        Such levels have little of the budget; two passes improve them from below unless pruned.
        """
        levels = getattr(self.method, "levels", None)
        if levels is None or self.people is None or self.floor is None:
            return None
        chain = levels(self.grid, gaussian=self.event.rho is not None)
        each = self.people / self.grid.size
        for share, stride in zip(chain.shares, chain.strides, strict=True):
            expected = each * min(stride, self.grid.size)
            # Below the floor nodes are expected to be nearly empty: noise above their people is no
            # defect there.
            if stride >= self.floor and self.event.width(share) > expected:
                return int(stride)
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
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
        """Return the text of a file for ``geodp publish --plan``."""
        lines = [
            f"{area.title}: standard error {area.standard_error:,.1f}, "
            f"95 % margin {area.margin_95:,.1f}"
            # Every second size is enough for a reader, and keeps the file short.
            for area in (*self.blocks[::2], *self.areas)
            if area.standard_error is not None
        ]
        return self.settings.toml([*self.reasons, *self.warnings, *self.notes, *lines])


def _some_cells(domain: Domain, random: np.random.Generator) -> NDArray[np.uint64]:
    """Return the keys of a domain's cells, or of a sample if there are many: uint64[n]."""
    total = domain.cells
    number = np.arange(total) if total <= FEW_KEYS else random.integers(total, size=FEW_KEYS)
    return domain.keys_of_ranks(number)


@takes(Terms.of)
def plan(
    grid: Grid,
    method: str | Mechanism | None = None,
    *,
    regions: Mapping[str, Any] | None = None,
    **terms: Any,
) -> Plan:
    """Plan a release before any data is read.

    Without ``contribution``, plans are of 1, which the input's source has to declare when it is
    published. ``people``, a guess of the sum of all counts, gives the resolution floor, the
    output's size and the bias of small labels.

    Parameters
    ----------
    grid : Grid
    method : str or Mechanism, optional
        See :func:`geodp.publish`.
    regions : mapping, optional
        Names of rectangles (west, south, east, north), polygons or codes of areas.

    Raises
    ------
    UsageError
        The call could not be published either.

    Examples
    --------
    >>> planned = plan(Grid.regular((512, 512)), epsilon=0.1)
    >>> [round(block.standard_error, 1) for block in planned.blocks[:3]]
    [23.0, 32.3, 45.1]
    >>> planned.smallest(5000, 1.3).cells
    1
    """
    return Planner(grid, Terms.of(**terms), regions).plan(method)


@dataclass(frozen=True, eq=False)
class Planner:
    """Inputs that plans of several methods share.

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
        """Plan a method, or with None the default of the grid.

        Raises UsageError as a release of the same grid and terms would.
        """
        chosen, terms = choose_method(method, self.grid), self.terms
        # A plan precedes the data, whose source usually declares that a person is counted once.
        resolved = terms if terms.contribution is not None else replace(terms, contribution=1)
        event = make_event(self.grid, chosen, resolved)
        settings = Settings(chosen.spec, terms, digest_of(self.grid))
        return Plan(self.grid, settings, chosen, event, self.regions or {})


SPARSE = 7
"""People in a cell on average, in standard errors of a cell, below which sums of many cells lose
most by the clamp where cells are measured alone."""

WORSE = 1.25
"""Ratio of a block's standard error to that of the paper's method above which a note is added."""


def describe_balance(
    grid: Grid,
    method: Mechanism,
    event: Measurement,
    terms: Terms,
    errors: Sequence[BlockError],
    people: float | None,
) -> list[str]:
    """Compare the default with what serves sums of many cells better; other methods have no notes.

    Parameters
    ----------
    grid : Grid
    method : Mechanism
    event : Measurement
    terms : Terms
        Those of the event.
    errors : sequence of BlockError
        Errors of the method, the total's first.
    people : float or None
        A public estimate of the sum of all counts.
    """
    if not isinstance(method, Pyramid) or method.setting != "auto" or method.chain:
        return []
    if len(method.levels(grid, gaussian=event.rho is not None).fanouts) == 1:
        return [] if people is None else [_describe_cells(people / grid.size, errors[-1])]
    paper = METHODS["topdown"]
    if paper.unsupported(grid) is not None:
        return []
    bounded = replace(terms, contribution=event.contribution)
    theirs = paper.block_errors(grid, paper.event(grid, bounded)) or ()
    pairs = zip(errors, theirs, strict=True)
    ratio, one, other = max(
        ((ours.standard_error / error.standard_error, ours, error) for ours, error in pairs),
        key=lambda found: found[0],
    )
    if ratio <= WORSE:
        return []
    return [
        f"Large aligned blocks are less accurate: those of {one.cells:,} cells have a standard "
        f"error of {one.standard_error:,.1f}, instead of {other.standard_error:,.1f} with topdown; "
        "for these use pyramid:setting=R."
    ]


def _describe_cells(mean: float, cell: BlockError) -> str:
    if mean < SPARSE * cell.standard_error:
        return (
            f"In this small domain single cells are measured. Each has {mean:,.1f} people on "
            "average, few compared with the noise: for sums of many cells, "
            "pyramid:setting=fine is better."
        )
    return (
        f"In this small domain single cells are measured. Each has {mean:,.1f} people on average, "
        "many compared with the noise, so this is suitable."
    )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Plans of several methods or settings on one grid.

    Attributes
    ----------
    plans : tuple of Plan
    refused : dict of str to str
        Methods that cannot take the grid or the budget, and why.
    """

    __repr__ = one_line

    plans: tuple[Plan, ...]
    refused: dict[str, str]

    def table(self) -> dict[int, dict[str, float]]:
        """Return standard errors by number of cells of a block, and by method."""
        errors: dict[int, dict[str, float]] = {}
        for one in self.plans:
            for block in one.blocks:
                if block.standard_error is not None:
                    errors.setdefault(block.cells, {})[one.name] = block.standard_error
        return dict(sorted(errors.items()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"plans": [one.to_dict() for one in self.plans], "refused": self.refused}


@takes(Terms.of)
def compare(
    grid: Grid,
    methods: Sequence[str | Mechanism],
    *,
    regions: Mapping[str, Any] | None = None,
    **terms: Any,
) -> Comparison:
    """Plan several methods; raises UsageError if none of them can be planned.

    Parameters
    ----------
    grid : Grid
    methods : sequence of str or Mechanism
        See :func:`geodp.publish`.
    regions : mapping, optional
        See :func:`geodp.plan`.

    Examples
    --------
    >>> comparison = compare(Grid.regular((64, 64)), ["pyramid", "topdown"], epsilon=1)
    >>> {name: round(error, 1) for name, error in comparison.table()[64].items()}
    {'pyramid': 11.3, 'topdown': 10.6}
    """
    planner = Planner(grid, Terms.of(**terms), regions)
    plans: dict[str, Plan] = {}
    refused = {}
    for method in methods:
        try:
            one = planner.plan(method)
        # One method that does not support the grid must not prevent the comparison of the others.
        except UsageError as error:
            refused[method if isinstance(method, str) else method.spec] = str(error)
        else:
            plans[one.name] = one
    if not plans:
        raise UsageError(
            "; ".join(f"{name}: {why}" for name, why in refused.items()), code="methods-refused"
        )
    return Comparison(tuple(plans.values()), refused)


SETTINGS = "pyramid", "pyramid:setting=informed"
"""The default, and the setting for who trusts a prior."""

FIRST = 1000
"""Number of the first simulated release, from which its public key is derived."""


def trust(
    grid: Grid,
    prior: CountTable | ReleasedTable,
    *,
    table: CountTable | ReleasedTable | None = None,
    releases: int = 4,
    regions: dict[str, Any] | None = None,
    **terms: Any,
) -> Plan:
    """Choose between the default and the setting ``informed`` for a release with a prior.

    Both are simulated on a public map with the prior; the plan's ``reasons`` give the errors.
    Nothing here sees confidential data.

    Parameters
    ----------
    grid : Grid
    prior : CountTable or ReleasedTable
        The prior of the planned release, a public map on the same grid.
    table : CountTable or ReleasedTable, optional
        Another public map, such as a census between both dates, whose releases are simulated.
        Default: the prior itself, from which nothing has changed.
    releases : int
        Number of simulated releases of each setting, 1 or more.
    regions, **terms
        See :func:`geodp.plan`; ``people`` scales the map.

    Examples
    --------
    >>> grid = Grid.regular((16, 16))
    >>> prior = CountTable.from_keys(grid, [3, 9, 80], [50, 900, 40])
    >>> trust(grid, prior, epsilon=1).name.startswith("pyramid")
    True
    """
    if releases < 1:
        raise UsageError(
            "With a prior alone, simulate at least 1 release (--releases).",
            code="prior-needs-simulation",
        )
    budget = Terms.of(**terms)
    planner = Planner(grid, budget, regions)
    proxy = Proxy.of(grid, prior if table is None else table, budget.people)
    expected = Prior.of(grid, Proxy.of(grid, prior, None).table, "the prior of the plan")
    plans = [planner.plan(name) for name in SETTINGS]
    errors = [mean_error(plan, proxy.table, expected, releases) for plan in plans]
    best = plans[errors[1] < errors[0]]
    of = "the prior itself" if table is None else "another public map"
    means = "; ".join(f"{name} {error:,.4g}" for name, error in zip(SETTINGS, errors, strict=True))
    reason = (
        f"Chosen by {releases} releases of {of} with the prior, for cells and aligned blocks: "
        f"geometric mean of errors: {means}."
    )
    changes = (
        "What has changed since the prior is not simulated: with many changes errors are larger."
    )
    return replace(best, reasons=(reason, *[changes] * (table is None)))


def mean_error(plan: Plan, table: CountTable, prior: Prior, releases: int) -> float:
    """Return the geometric mean of the errors of cells, and of aligned blocks of all sizes.

    Both have half of the weight; the errors are means over releases under public keys.
    """
    means = np.zeros(len(plan.grid.order.radices) + 1)
    for number in range(FIRST, FIRST + releases):
        # The same key for both settings, so that they differ less by chance.
        key = NoiseKey(hashlib.sha256(f"geodp plan, public, {number}".encode()).digest())
        with progress.silence():
            released, _ = plan.method.release_informed(table, plan.event, key, prior)
        means += block_errors(table, released) / releases
    # A perfect release has no logarithm.
    logs = np.log(np.maximum(means, 1e-9))
    return float(np.exp((logs[-1] + logs.mean()) / 2))


def block_errors(table: CountTable, released: ReleasedTable) -> FloatArray:
    """Return mean absolute errors of aligned blocks, by the number of digits that they share.

    Parameters
    ----------
    table : CountTable
        The true counts.
    released : ReleasedTable

    Returns
    -------
    float64[digits + 1]
        Of the domain first, of single cells last.
    """
    grid = table.grid
    key = np.union1d(table.key, released.key)
    error = np.zeros(key.size)
    error[np.searchsorted(key, released.key)] = released.count
    error[np.searchsorted(key, table.key)] -= table.count
    radices = grid.order.radices
    means = np.zeros(len(radices) + 1)
    for digits in range(len(radices), -1, -1):
        means[digits] = np.abs(error).sum() / grid.domain.count_nodes(digits)
        if digits and key.size:
            key = key // np.uint64(radices[digits - 1])
            first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
            key, error = key[first], np.add.reduceat(error, first)
    return means


WRAP = 26
"""Maximal characters of a line of the legend."""


def plot_plans(
    comparison: Comparison, file: str | PathLike[str] | IO[bytes], form: str = "png"
) -> None:
    """Draw planned standard errors of blocks against their size, on logarithmic axes.

    If the number of people was estimated, a dotted line shows the people expected in a block: to
    the left of its intersection with an error, a release carries no more signal than zeros would.

    Parameters
    ----------
    comparison : Comparison
    file : path or binary stream
    form : {"png", "pdf", "svg"}

    Raises UsageError if Matplotlib is not installed.
    """
    require_library("matplotlib", "A plot", "plots")
    from matplotlib.ticker import LogLocator

    main = comparison.plans[0]
    with draw_figure((8.6, 4.8), file, form) as figure:
        axes = figure.subplots()
        figure.subplots_adjust(left=0.09, right=0.7, top=0.86, bottom=0.12)
        errors = []
        for number, one in enumerate(comparison.plans):
            blocks = [(b.cells, b.standard_error) for b in one.blocks if b.standard_error]
            errors += [error for _, error in blocks]
            axes.plot(
                [cells for cells, _ in blocks],
                [error for _, error in blocks],
                label=_fold(one.name) if blocks else f"{_fold(one.name)}\n(no closed form)",
                **style_curve(number),
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        low, high = (end(errors, default=1.0) for end in (min, max))
        axes.set_ylim(low / 1.5, high * 1.5)
        # Ticks at 1, 2 and 5, as powers of ten alone would be too few.
        if high < 100 * low:
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        each = (main.people or 0) / main.grid.size
        if 0 < each < high * 1.5:
            ends = [1, main.grid.size]
            people = [each * n for n in ends]
            axes.plot(ends, people, ":", color="#777777", label="people expected", zorder=2)
        _frame(axes, [block.cells for block in main.blocks])
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, fontsize=8.5)
        symbols = {"ε": main.event.epsilon, "ρ": main.event.rho, "δ": main.event.delta}
        budget = ", ".join(f"{s} = {float(n):.3g}" for s, n in symbols.items() if n is not None)
        title = f"Planned error by area at {budget}"
        figure.text(0.09, 0.93, title, fontsize=12.5, fontweight="bold")


def _frame(axes: Any, sizes: list[int]) -> None:
    """Set ticks at powers of two and a light grid."""
    from matplotlib.ticker import FixedLocator, NullLocator

    top = math.log2(max(sizes, default=1))
    step = max(1, math.ceil(top / 12))
    axes.xaxis.set_major_locator(FixedLocator([2.0**i for i in range(0, int(top) + 1, step)]))
    style_axes(axes, "Standard error of a block, in counts", "size of a block, in cells")
    axes.yaxis.set_minor_locator(NullLocator())


def _fold(name: str) -> str:
    """Wrap a method's name after commas, colons and hyphens.

    Examples
    --------
    >>> print(_fold("pyramid:chain=2-4-4-4-4,shares=2-2-4-4-4-4"))
    pyramid:chain=2-4-4-4-4,
      shares=2-2-4-4-4-4
    """
    lines, line = [], ""
    for part in name.replace(",", ",\0").replace("-", "-\0").split("\0"):
        if line and (len(line) + len(part) > WRAP or line.endswith(",")):
            lines.append(line)
            line = "  "
        line += part
    return "\n".join([*lines, line])
