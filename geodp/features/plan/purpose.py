"""Pyramids for what people ask: families of regions, by closed forms and by simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.features.plan.families import ISLANDS, Family, Objectives, draw_families
from geodp.features.plan.plan import Plan, Planner
from geodp.features.plan.regions import Settlements
from geodp.features.plan.search import Candidate, Value, improve
from geodp.features.plan.shares import LevelShares, best_products, least_product
from geodp.features.plan.simulation import FRESH, PlanSimulation, Simulated, weights_of
from geodp.grid.grid import Grid
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees.levels import steps_of
from geodp.privacy.budget import Budget
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy
from geodp.table.released import ReleasedTable

FIRST = 3
"""Plans by closed form that the search starts from, beside the default's."""

MOVES = 100
"""Neighbours that the search tries."""


@dataclass(frozen=True, eq=False)
class Purpose:
    """What a pyramid is to be good at, and on which public table that is tried.

    Attributes
    ----------
    planner : Planner
    objectives : Objectives
    proxy : Proxy
    families : tuple of Family
    releases : int
        Simulated for each plan that is tried; 0: closed forms only.
    """

    planner: Planner
    objectives: Objectives
    proxy: Proxy
    families: tuple[Family, ...]
    releases: int

    def choose(self, chain: str) -> Plan:
        """Return the best plan that is found, with the reasons."""
        start = self._by_closed_form(chain)
        found = start[0]
        words = "by closed forms, where nothing is clamped"
        if self.releases:
            if not chain:
                start += self._settings()
            found, _ = improve(
                start,
                self._value(),
                self.planner.grid.order.radices,
                moves=MOVES,
                fixed=bool(chain),
            )
            proxy = self.proxy.description
            words = f"by {self.releases} releases of {proxy} for each plan that is tried"
        plan = self.planner.plan(found.spec)
        return replace(plan, reasons=(*self._say(words), *self._errors(plan)))

    def _by_closed_form(self, chain: str) -> list[Candidate]:
        """Return the best plans where nothing is clamped, of families that have a closed form."""
        grid, gaussian = self.planner.grid, self.planner.terms.gaussian
        groups = [group for one in self.families for group in one.groups]
        every = [group.squares(grid) for group in groups]
        some = [i for i, squares in enumerate(every) if squares is not None]
        if not some:
            raise UsageError(
                "None of these families has a closed form on this grid.",
                code="families-without-closed-form",
            )
        weights = weights_of(self.families)[some]
        squares = np.array([every[i] for i in some])
        radices = grid.order.radices
        given: dict[str, Any] = {"gaussian": gaussian, "radices": radices}
        weights = weights / weights.sum()
        if chain:
            found: Sequence[LevelShares] = [
                least_product(steps_of(chain), squares, weights, **given)
            ]
        else:
            found = best_products(len(radices), squares, weights, **given)
        return [Candidate(shares.steps, shares.parts) for shares in found[:FIRST]]

    def _settings(self) -> list[Candidate]:
        """Return the default, and for lone settlements the setting that was made for them."""
        grid, gaussian = self.planner.grid, self.planner.terms.gaussian
        lone = any(one.objective.family == ISLANDS for one in self.families)
        suits = lone and Pyramid(setting="islands").unsupported(grid) is None
        names = ["pyramid", *["pyramid:setting=islands"] * suits]
        methods = [self.planner.plan(name).method for name in names]
        return [Candidate.of_method(method, grid, gaussian=gaussian) for method in methods]

    def _value(self) -> Value:
        simulation = PlanSimulation(self.proxy, self.families)

        def value(candidate: Candidate) -> float:
            method, event = self._run_of(candidate.spec)
            found = simulation.run(method, event, range(self.releases))
            return found.objective(self.families, relative=self.objectives.relative)

        return value

    def _run_of(self, spec: str) -> tuple[Any, Any]:
        plan = self.planner.plan(spec)
        return plan.method, plan.event

    def _say(self, words: str) -> list[str]:
        kind = "relative" if self.objectives.relative else "absolute"
        each = "; ".join(f"{one.objective.name}: {one.words}" for one in self.families)
        return [
            f"Chosen for {self.objectives.text}: the least weighted geometric mean of {kind} "
            f"errors, {words}.",
            f"Families: {each}.",
        ]

    def _errors(self, plan: Plan) -> list[str]:
        """Return the errors on the proxy, of releases that the search has not seen."""
        if not self.releases:
            return []
        simulation, fresh = (
            PlanSimulation(self.proxy, self.families),
            range(FRESH, FRESH + self.releases),
        )
        ours, default = (
            simulation.run(*self._run_of(spec), fresh) for spec in (plan.name, "pyramid")
        )
        groups = [group for one in self.families for group in one.groups]
        lone = [isinstance(group, Settlements) for group in groups]
        found = []
        if not all(lone):
            told = "; ".join(_compare(ours, default, lone))
            found.append(f"Mean absolute errors there (the default's): {told}.")
        if any(lone):
            told = "; ".join(_compare_lost(ours, default, lone))
            found.append(
                "What settlements have more or less than in truth, with all around them, in per "
                f"cent of their people (the default's): {told}."
            )
        return found


def _compare(ours: Simulated, other: Simulated, lone: list[bool]) -> list[str]:
    """Return mean absolute errors of groups that are no settlements."""
    rows = zip(ours.names, ours.mae.tolist(), other.mae.tolist(), lone, strict=True)
    return [f"{name} {own:,.4g} ({theirs:,.4g})" for name, own, theirs, not_ in rows if not not_]


def _compare_lost(ours: Simulated, other: Simulated, lone: list[bool]) -> list[str]:
    """Return what settlements gain, with its standard error over the releases."""
    names = [name for name, one in zip(ours.names, lone, strict=True) if one]
    rows = zip(*(_say_gained(one.gained[:, lone]) for one in (ours, other)), strict=True)
    return [f"{name} {own} ({theirs})" for name, (own, theirs) in zip(names, rows, strict=True)]


def _say_gained(gained: NDArray[np.float64]) -> list[str]:
    mean = 100 * gained.mean(axis=0)
    if len(gained) < 2:
        return [f"{part:+.1f}" for part in mean]
    error = 100 * gained.std(axis=0, ddof=1) / len(gained) ** 0.5
    return [f"{part:+.1f} ± {off:.1f}" for part, off in zip(mean, error, strict=True)]


def serve(
    grid: Grid,
    objectives: str | Objectives,
    *,
    prior: CountTable | ReleasedTable | None = None,
    shapes: Mapping[str, Any] | None = None,
    releases: int = 4,
    chain: str = "",
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    regions: Mapping[str, Any] | None = None,
) -> Plan:
    """Return a pyramid that is good at families of regions that people ask for.

    Levels, fan-outs, shares and passes are searched: first by closed forms, where nothing is
    clamped; then, as most maps are mostly empty, by running the mechanism on a public table. The
    plan's ``reasons`` say which, what was drawn, and the errors that were found. Nothing here sees
    confidential data, and ``prior`` must be public.

    Parameters
    ----------
    grid : Grid
    objectives : str or Objectives
        Such as ``"municipalities=3,cells=1,polygons:10km2=1,areas=1,squares=1,relative"``.
    prior : CountTable or ReleasedTable, optional
        A public map on the same grid. Default: one made up of towns on the grid's domain.
    shapes : mapping, optional
        For every file that the objectives name, its polygons by name.
    releases : int
        Simulated for each of about a hundred plans; 0: closed forms only.
    chain : str, optional
        Own levels; only their shares and passes are chosen then.
    epsilon, rho, delta, neighbours, contribution, unit, people, regions
        As for :func:`geodp.plan`; ``people`` scales the public map.

    Raises
    ------
    UsageError
        A family that the grid does not have, or a prior map of another grid.

    Examples
    --------
    >>> found = serve(Grid.regular((16, 16)), "cells=1,squares=1", releases=0, epsilon=1)
    >>> found.name.startswith("pyramid:chain=")
    True
    """
    if releases < 0:
        raise UsageError("The number of releases is 0 or more.", code="releases-negative")
    asked = Objectives.parse(objectives) if isinstance(objectives, str) else objectives
    if not releases and any(one.family == ISLANDS for one in asked.families):
        raise UsageError(
            "What islands lose is known by simulation only: ask for 1 release or more "
            "(--releases).",
            code="islands-need-simulation",
        )
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people)
    planner = Planner(grid, terms, regions)
    if chain:
        equal = "-".join("1" * (chain.count("-") + 2))
        planner.plan(f"pyramid:chain={chain},shares={equal}")  # refuses what is none
    proxy = Proxy.of(grid, prior, planner.terms.people)
    families = draw_families(asked, grid, proxy, shapes)
    return Purpose(planner, asked, proxy, families, releases).choose(chain)
