"""Pyramids for the purposes of users: families of regions, by closed forms and by simulation."""

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
from geodp.features.plan.shares import LevelShares, best_products, minimise_product
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
"""Number of plans by closed form from which the search starts, besides the default."""

MOVES = 100
"""Number of neighbours that the search tries."""


@dataclass(frozen=True, eq=False)
class Purpose:
    """The purpose of a pyramid, and the public table on which it is tried.

    Attributes
    ----------
    planner : Planner
    objectives : Objectives
    proxy : Proxy
    families : tuple of Family
    releases : int
        Number of releases of each plan that is tried; 0: closed forms only.
    """

    planner: Planner
    objectives: Objectives
    proxy: Proxy
    families: tuple[Family, ...]
    releases: int

    def choose(self, chain: str) -> Plan:
        """Return the best plan of the search, with the reasons."""
        start = self._by_closed_form(chain)
        best = start[0]
        manner = "by closed forms, where nothing is clamped"
        if self.releases:
            if not chain:
                # The default competes, too, so that a plan is never worse than it in the search's
                # releases.
                start += self._settings()
            best, _ = improve(
                start,
                self._value(),
                self.planner.grid.order.radices,
                moves=MOVES,
                fixed=bool(chain),
            )
            proxy = self.proxy.description
            manner = f"by {self.releases} releases of {proxy} for each plan that is tried"
        plan = self.planner.plan(best.spec)
        return replace(plan, reasons=(*self._describe(manner), *self._errors(plan)))

    def _by_closed_form(self, chain: str) -> list[Candidate]:
        """Return the best plans without a clamp, for families that have a closed form."""
        grid, gaussian = self.planner.grid, self.planner.terms.gaussian
        groups = [group for one in self.families for group in one.groups]
        every = [group.squares(grid) for group in groups]
        # Families without a closed form enter with the simulation only.
        some = [i for i, squares in enumerate(every) if squares is not None]
        if not some:
            raise UsageError(
                "None of these families has a closed form on this grid.",
                code="families-without-closed-form",
            )
        weights = weights_of(self.families)[some]
        squares = np.array([every[i] for i in some])
        radices = grid.order.radices
        kwargs: dict[str, Any] = {"gaussian": gaussian, "radices": radices}
        weights = weights / weights.sum()
        if chain:
            candidates: Sequence[LevelShares] = [
                minimise_product(steps_of(chain), squares, weights, **kwargs)
            ]
        else:
            candidates = best_products(len(radices), squares, weights, **kwargs)
        return [Candidate(shares.steps, shares.parts) for shares in candidates[:FIRST]]

    def _settings(self) -> list[Candidate]:
        """Return the default, and for isolated settlements the setting made for them."""
        grid, gaussian = self.planner.grid, self.planner.terms.gaussian
        isolated = any(one.objective.family == ISLANDS for one in self.families)
        suits = isolated and Pyramid(setting="islands").unsupported(grid) is None
        names = ["pyramid", *["pyramid:setting=islands"] * suits]
        methods = [self.planner.plan(name).method for name in names]
        return [Candidate.of_method(method, grid, gaussian=gaussian) for method in methods]

    def _value(self) -> Value:
        simulation = PlanSimulation(self.proxy, self.families)

        def value(candidate: Candidate) -> float:
            method, event = self._run_of(candidate.spec)
            simulated = simulation.run(method, event, range(self.releases))
            return simulated.objective(self.families, relative=self.objectives.relative)

        return value

    def _run_of(self, spec: str) -> tuple[Any, Any]:
        plan = self.planner.plan(spec)
        return plan.method, plan.event

    def _describe(self, manner: str) -> list[str]:
        kind = "relative" if self.objectives.relative else "absolute"
        each = "; ".join(f"{one.objective.name}: {one.description}" for one in self.families)
        return [
            f"Chosen for {self.objectives.text}: the least weighted geometric mean of {kind} "
            f"errors, {manner}.",
            f"Families: {each}.",
        ]

    def _errors(self, plan: Plan) -> list[str]:
        """Return the errors on the proxy, from releases that the search has not used."""
        if not self.releases:
            return []
        simulation, fresh = (
            PlanSimulation(self.proxy, self.families),
            # New releases: those of the search are biased towards the plan that it chose.
            range(FRESH, FRESH + self.releases),
        )
        ours, default = (
            simulation.run(*self._run_of(spec), fresh) for spec in (plan.name, "pyramid")
        )
        groups = [group for one in self.families for group in one.groups]
        isolated = [isinstance(group, Settlements) for group in groups]
        sentences = []
        if not all(isolated):
            text = "; ".join(_compare(ours, default, isolated))
            sentences.append(f"Mean absolute errors there (the default's): {text}.")
        if any(isolated):
            text = "; ".join(_compare_lost(ours, default, isolated))
            sentences.append(
                "Gains and losses of settlements, including their surroundings, in per cent of "
                f"their people (the default's): {text}."
            )
        return sentences


def _compare(ours: Simulated, other: Simulated, isolated: list[bool]) -> list[str]:
    """Return mean absolute errors of groups that are not settlements."""
    rows = zip(ours.names, ours.mae.tolist(), other.mae.tolist(), isolated, strict=True)
    return [
        f"{name} {error:,.4g} ({theirs:,.4g})" for name, error, theirs, not_ in rows if not not_
    ]


def _compare_lost(ours: Simulated, other: Simulated, isolated: list[bool]) -> list[str]:
    """Return the gains of settlements, with standard errors over the releases."""
    names = [name for name, one in zip(ours.names, isolated, strict=True) if one]
    rows = zip(*(_format_gained(one.gained[:, isolated]) for one in (ours, other)), strict=True)
    return [f"{name} {gain} ({theirs})" for name, (gain, theirs) in zip(names, rows, strict=True)]


def _format_gained(gained: NDArray[np.float64]) -> list[str]:
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
    """Choose a pyramid that is good at given families of regions.

    Levels, fan-outs, shares and passes are searched: first by closed forms, without a clamp; then,
    as most maps are mostly empty, by running the mechanism on a public table. The plan's
    ``reasons`` describe the choice, the regions and the errors. Nothing here sees confidential
    data, and ``prior`` must be public.

    Parameters
    ----------
    grid : Grid
    objectives : str or Objectives
        For example ``"municipalities=3,cells=1,polygons:10km2=1,areas=1,squares=1,relative"``.
    prior : CountTable or ReleasedTable, optional
        A public map on the same grid. Default: a synthetic map of towns on the grid's domain.
    shapes : mapping, optional
        For every file in the objectives, its polygons by name.
    releases : int
        Number of releases simulated for each of about a hundred plans; 0: closed forms only.
    chain : str, optional
        Levels; then only their shares and passes are chosen.
    epsilon, rho, delta, neighbours, contribution, unit, people, regions
        See :func:`geodp.plan`; ``people`` scales the public map.

    Raises
    ------
    UsageError
        The grid does not support a family, or the prior map has another grid.

    Examples
    --------
    >>> plan = serve(Grid.regular((16, 16)), "cells=1,squares=1", releases=0, epsilon=1)
    >>> plan.name.startswith("pyramid:chain=")
    True
    """
    if releases < 0:
        raise UsageError("The number of releases must be 0 or more.", code="releases-negative")
    parsed = Objectives.parse(objectives) if isinstance(objectives, str) else objectives
    # Isolated settlements lose people to the clamp, which closed forms ignore.
    if not releases and any(one.family == ISLANDS for one in parsed.families):
        raise UsageError(
            "Losses of islands are known by simulation only: simulate at least 1 release "
            "(--releases).",
            code="islands-need-simulation",
        )
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people)
    planner = Planner(grid, terms, regions)
    if chain:
        equal = "-".join("1" * (chain.count("-") + 2))
        planner.plan(f"pyramid:chain={chain},shares={equal}")  # refuses an invalid chain
    proxy = Proxy.of(grid, prior, planner.terms.people)
    families = draw_families(parsed, grid, proxy, shapes)
    return Purpose(planner, parsed, proxy, families, releases).choose(chain)
