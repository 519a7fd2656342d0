"""Build the public card of a release: guarantee, budget, mechanism and expected errors.

Every value of a card is computed from public things, or from the released table after the draw.
The classes of a card's parts are in :mod:`geodp.table.stated`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from geodp import __version__
from geodp.accuracy.cell_interval import ClampedIntervals
from geodp.accuracy.closed_form import resolution_floor
from geodp.accuracy.part_errors import VERSION as PARTS
from geodp.accuracy.region_interval import VERSION
from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.mechanisms.trees.attributes import describe
from geodp.privacy.assumption import Assumption
from geodp.privacy.ledger import Charge
from geodp.release.base import BaseRelease
from geodp.release.estimates import PartErrors
from geodp.table.card import SCHEMA, Card
from geodp.table.plain import read_plain, write_plain
from geodp.table.public_totals import PublicTotals
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.error import (
    StatedBlock,
    StatedCells,
    StatedError,
    StatedFloor,
    StatedIsolatedBlock,
    StatedIsolatedCell,
    StatedLabels,
    StatedLevel,
    StatedPixel,
    StatedTree,
)
from geodp.table.stated.release import (
    Software,
    StatedCharge,
    StatedGuarantee,
    StatedMechanism,
    StatedPrior,
)

PRIOR_PUBLIC = "The prior is public, or a release that was charged itself."
"""The assumption on a prior, which geodp cannot check."""


def list_assumptions(
    contribution: Assumption,
    grid: Grid,
    prior: StatedPrior | None = None,
    totals: PublicTotals | None = None,
) -> tuple[Assumption, ...]:
    """List the assumptions of a release: contribution, domain, and what was public before.

    geodp cannot check whether a domain or a prior was derived from the data, and an error raised
    because it looks derived would itself reveal data. The operator vouches by naming a source.
    ``contribution``: the assumption on how often a unit is counted.
    """
    domain = grid.domain
    # Contribution and domain come first: without them no definition of neighbours applies at all.
    assumptions = [
        contribution,
        Assumption(
            "domain", "The grid and the domain were chosen without the records.", "operator"
        ),
    ]
    if domain.source:
        statement = f"The {domain.kind} is public and was not made from the records."
        assumptions.append(Assumption(domain.kind, statement, "operator", domain.source))
    if prior is not None:
        assumptions.append(Assumption("prior", PRIOR_PUBLIC, "operator", prior.source))
    if totals is not None:
        statement = "The totals that the release meets exactly were public before."
        assumptions.append(Assumption("public totals", statement, "operator", totals.source))
    return tuple(assumptions)


PUBLIC_CARD = "the domain, the grid and every value of this card: public by construction"
"""The first sentence of every card on what is not protected."""


def card_of(release: BaseRelease) -> Card:
    """Build the card of a release, without its list of files; see :meth:`geodp.Release.card`."""
    grid, method = release.grid, release.method
    return Card(
        schema=SCHEMA,
        software=Software("geodp", __version__),
        private=release.event.is_private,
        guarantee=_guarantee(release),
        budget=state_budget(release.charge),
        domain=StatedDomain.of(grid),
        reading=release.reading,
        mechanism=_mechanism(release),
        expected_error=_error(release),
        post_processing=(
            *method.list_postprocessing(),
            *release.postprocessing,
            *([] if release.prior is None else [f"Prior: {release.prior.meaning}."]),
        ),
        prior=release.prior,
        metadata=release.metadata,
    )


def state_budget(charge: Charge | StatedCharge | None) -> StatedCharge | None:
    """Convert the charge to a ledger into its form on the card."""
    return None if charge is None else read_plain(StatedCharge, charge.describe(), "budget")


def _guarantee(release: BaseRelease) -> StatedGuarantee:
    """Describe the guarantee: the event's loss, the method's proof, and all assumptions."""
    method, event, grid = release.method, release.event, release.grid
    values = {
        "in_words": event.statement,
        "variant": event.variant,
        "precondition": method.guarantee.precondition,
        "assumptions": [
            write_plain(one)
            for one in list_assumptions(method.assume(event), grid, release.prior, release.totals)
        ],
        "source": method.guarantee.source,
        "sensitivity_counts": method.describe_sensitivity(grid, event),
        "not_protected": [
            PUBLIC_CARD,
            *event.not_protected,
            *release.public_facts,
        ],
    }
    return read_plain(StatedGuarantee, {**values, **event.describe()}, "guarantee")


def _mechanism(release: BaseRelease) -> StatedMechanism:
    """Describe the method with its version and all settings."""
    method = release.method
    # A method names its noise under epsilon; under rho the law is Gaussian whatever it names.
    kind = "whole numbers" if method.whole else "real numbers"
    sign = "none negative" if method.nonnegative else "negative ones among them"
    return StatedMechanism(
        name=method.name,
        version=method.version,
        title=method.title,
        citation=method.citation,
        spec=method.spec,
        settings={name: _plain(value) for name, value in method.settings},
        noise=method.noise
        if release.event.rho is None
        else "discrete Gaussian on integers, sampled exactly",
        noise_format=method.noise_format,
        values=f"{kind}, {sign}",
        whole=method.whole,
        nonnegative=method.nonnegative,
    )


def _error(release: BaseRelease) -> StatedError:
    """Describe the expected error, as far as it is known before any data are read."""
    grid, event, method = release.grid, release.event, release.method
    blocks, isolated = release.expected_error(), method.isolated_cell(grid, event)
    if not blocks:
        holds = None
        meaning = (
            "no closed form: the error of this method depends on the data, or is not worked "
            "out on so many cells, so there are no standard errors here or in the files; "
            "post_processing says what is done to the noisy values"
            # Errors of parts depend on the released map, so they are in the tables only.
            if release.parts is None
            else "no closed form without the release: see cells"
        )
    else:
        holds = "where nothing is clamped" if method.nonnegative else "wherever it lies"
        meaning = (
            f"closed form for an aligned block of cells {holds}; independent of the data; "
            "margin_95 = 1.96 standard errors; largest: of all such blocks, including those at the "
            "edges of the domain; with a mask an upper bound"
        )
        if isolated is not None:
            holds += "; isolated cells are lowered"
    about = "one isolated populous cell, which the clamp lowers"
    settlement = method.isolated_block(grid, event)
    labels = describe(method, grid, event, release.people)
    intervals = release.intervals()
    sums = intervals.map.expected_error() if isinstance(intervals, PartErrors) else ()
    return StatedError(
        meaning=meaning,
        holds=holds,
        blocks=tuple(StatedBlock(**block) for block in blocks) or None,
        areas=_area_errors(release),
        map=tuple(StatedPixel(**pixel) for pixel in release.pixel_errors),
        floor=_floor(release),
        isolated_cell=None if isolated is None else StatedIsolatedCell(about, **isolated),
        isolated_block=None if settlement is None else StatedIsolatedBlock(**settlement),
        attributes=None
        if labels is None
        else read_plain(StatedLabels, labels, "expected_error.attributes"),
        cells=state_cells(release),
        settlements=release.settlements,
        sums=tuple(StatedBlock(**block) for block in sums) or None,
    )


def state_cells(release: BaseRelease) -> StatedCells | None:
    """Describe how intervals of single cells are made; None without a closed form.

    States the interval of cells that are not listed, as the files have no rows for them.
    """
    intervals, errors = release.intervals(), release.block_errors
    if isinstance(intervals, PartErrors):
        return _cells_of_parts(intervals)
    if intervals is None or errors is None:
        return None
    # A verifier computes the interval of every row again, with what the card says of the levels.
    low, high = (float(f"{one:.6g}") for one in intervals.unlisted(errors[-1].largest))
    meaning = (
        "low and high of listed cells are in the files; the interval of an unlisted cell of the "
        "domain reaches from low to at most high; the raster has each interval"
    )
    tree = _state_tree(intervals.tree) if isinstance(intervals, ClampedIntervals) else None
    return StatedCells(meaning, VERSION, low, high=high, simulated=release.simulated, tree=tree)


def _state_tree(tree: TreeVariance) -> StatedTree:
    """State the levels that the intervals of a method that clamps follow from."""
    return StatedTree(
        fanouts=tree.fanouts,
        variances=_round(tree.variances),
        fourth_cumulants=_round(tree.fourths),
        dropped=tuple(_round_pair(drop.threshold, drop.scale) for drop in tree.drops),
    )


def _round(values: Iterable[float]) -> tuple[float, ...]:
    """Round numbers to nine digits, which libraries of all platforms agree on."""
    return tuple(float(f"{value:.9g}") for value in values)


def _round_pair(first: float, second: float) -> tuple[float, float]:
    """Round two numbers as :func:`_round` does."""
    return float(f"{first:.9g}"), float(f"{second:.9g}")


def _cells_of_parts(parts: PartErrors) -> StatedCells:
    """Describe the intervals of parts of cells, and the areas at which parts were measured."""
    errors = parts.map.block_errors
    assert errors is not None  # as the method of the map has a closed form
    low, high = (float(f"{one:.6g}") for one in parts.unlisted(errors[-1].largest))
    noise = np.sqrt(parts.split.steps[0].variance.max(axis=0))
    levels = zip(parts.split.tree.strides, noise, strict=True)
    measured = [f"{keys:,} ({error:.3g})" for keys, error in levels if np.isfinite(error)]
    meaning = (
        "standard_error, low and high of listed parts of cells are in the tables, computed from "
        "the release: errors of the map, noise of parts, and how much places differ from their "
        f"surroundings, by public tables. Parts were measured at areas of {', '.join(measured)} "
        "keys (in brackets the standard error of a part of them). A part of a cell of which "
        "nothing is listed has at most the cell's interval, from low to high; that of another part "
        "is computed by the software"
    )
    return StatedCells(meaning, VERSION, low, high=high, parts=PARTS)


def _area_errors(release: BaseRelease) -> tuple[StatedLevel, ...]:
    """List the errors of every level of official areas or regions, the coarsest first."""
    errors = release.block_errors
    if errors is None:
        return ()
    return tuple(
        StatedLevel(at, **errors[n].describe()) for at, n in release.grid.areas.above_cells
    )


def _floor(release: BaseRelease) -> StatedFloor | None:
    """Compute the smallest useful block; None without a public guess of the people."""
    errors = release.block_errors
    if release.people is None or errors is None:
        return None
    return StatedFloor(
        meaning="smallest block whose standard error is at most the people expected in it, "
        "by a public guess of all people; below it, on average, the release carries no more "
        "signal than zeros would",
        people=release.people,
        cells=resolution_floor(errors, release.people, release.grid.size),
    )


def _plain(setting: Any) -> bool | int | str:
    """Convert a setting to a JSON value; a fraction becomes text, which is exact."""
    return setting if isinstance(setting, bool | int) else str(setting)
