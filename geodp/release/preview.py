"""Preview a release without data: card, closed-form errors and warnings, before the charge.

One release gains little by a delta: Gaussian noise is made for many. The scale of pure noise grows
with the number of releases that share a budget, the standard deviation of Gaussian noise with its
square root. So there is a number of releases from which Gaussian noise is smaller; it depends on
the grid and the method, and on no data.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, sqrt
from typing import Any, Self

import numpy as np

from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.read.public.land import warn_of_sea
from geodp.mechanisms.base import Mechanism, Method
from geodp.mechanisms.trees.attributes import warnings_of
from geodp.privacy.event import TableEvent
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, Loss, PureDP, ZeroConcentratedDP
from geodp.privacy.terms import Terms
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.table.card import StatedMetadata
from geodp.table.counts import ReleasedTable
from geodp.table.reading import StatedReading

SIDE = 24
"""Cells on a side of a square that is as large as a municipality: 144 km2 of cells of 500 m."""

PLACES = 8
"""Number of squares whose mean error is taken, as no block of the tree ends where a town does."""

STEPS = 8
"""Maximal number of guesses of where Gaussian noise wins; the second is right but for rounding."""


@dataclass(frozen=True, slots=True)
class Crossover:
    """The standard errors of one kind of area, and where Gaussian noise begins to win.

    Attributes
    ----------
    area : str
        Description of the area.
    pure, gaussian : float
        Mean errors of a single release with the whole budget.
    releases : int
        Smallest number of releases about the same people, sharing that budget equally, whose
        errors are smaller with Gaussian noise.
    """

    area: str
    pure: float
    gaussian: float
    releases: int


def find_crossings(grid: Grid, method: Mechanism, terms: Terms) -> tuple[Crossover, ...]:
    """Find where Gaussian noise begins to win, for a cell and for a square as a municipality.

    Parameters
    ----------
    grid : Grid
    method : Mechanism
    terms : Terms
        With epsilon and delta; others have nothing to compare.

    Returns
    -------
    tuple of Crossing
        Without areas that have no closed form; the square needs one map of at least its size.

    Examples
    --------
    >>> from geodp.mechanisms import mechanism
    >>> terms = Terms.of(epsilon=1, delta="1e-6")
    >>> for one in find_crossings(Grid.regular((512, 512)), mechanism("pyramid"), terms):
    ...     print(one.area, round(one.pure, 1), round(one.gaussian, 1), one.releases)
    a cell 2.3 5.9 7
    a square of 24 x 24 cells 28.8 51.4 4
    """
    forms = Forms.of(grid, method, terms)
    single = None if forms is None else forms.errors(1)
    if forms is None or single is None:
        return ()
    areas = ("a cell", f"a square of {SIDE} x {SIDE} cells")
    return tuple(
        Crossover(area, *pair, _find_releases(forms, number))
        for number, (area, pair) in enumerate(zip(areas, single, strict=False))
    )


def warn_of_delta(
    grid: Grid,
    method: Mechanism,
    terms: Terms,
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> tuple[str, ...]:
    """Warn of each area for which a pure release of the same epsilon would be more accurate.

    There is no warning where rho was given or the ledger's cap is in rho: there Gaussian noise
    costs far less than pure noise of the same error.
    """
    if terms.by_rho or _is_in_rho(ledger, dataset):
        return ()
    return tuple(
        "Without a delta, a pure release of the same epsilon has a smaller standard error of "
        f"{one.area}: {one.pure:,.1f} instead of {one.gaussian:,.1f}. Gaussian noise wins from "
        f"{one.releases:,} releases about the same people on that share this epsilon and delta "
        "(docs/pure-or-zcdp.md)."
        for one in find_crossings(grid, method, terms)
        if one.releases > 1
    )


def _is_in_rho(ledger: Ledger | None, dataset: str | None) -> bool:
    if ledger is None or dataset is None:
        return False
    return isinstance(ledger.account(dataset).cap, ZeroConcentratedDP)


@dataclass(frozen=True)
class Forms:
    """The closed forms of a method with either noise, under one budget for several releases.

    For a method that refines the release of another, such as ``parts``, they are those of the map.

    Attributes
    ----------
    grid : Grid
    method : Mechanism
    terms : Terms
        Neighbours and contribution.
    epsilon, rho : Fraction
        Budgets of all releases together, with pure and with Gaussian noise.
    squares : tuple of Region
        Regions over which the mean error is taken; may be empty.
    """

    grid: Grid
    method: Mechanism
    terms: Terms
    epsilon: Fraction
    rho: Fraction
    squares: tuple[Region, ...]

    @classmethod
    def of(cls, grid: Grid, method: Mechanism, terms: Terms) -> Self | None:
        """Make the forms of a budget of epsilon and delta; None of another budget."""
        loss = terms.loss
        if not isinstance(loss, ApproximateDP) or loss.original is None:
            return None
        bound = replace(terms, contribution=terms.contribution or 1)
        base = method.base(grid, method.event(grid, bound))
        squares = _choose_squares(grid if base is None else base.grid)
        return cls(grid, method, bound, loss.epsilon, loss.original.rho, squares)

    def errors(self, releases: int) -> list[tuple[float, float]] | None:
        """Return the pure and the Gaussian errors of each area, of one release among several.

        None if the error depends on the data, or if the noise would be too wide to be drawn.
        """
        # Exact fractions, as a ledger would add them up.
        pure = self._of_loss(PureDP(self.epsilon / releases))
        gaussian = self._of_loss(ZeroConcentratedDP(self.rho / releases))
        if pure is None or gaussian is None:
            return None
        return list(zip(pure, gaussian, strict=True))

    def _of_loss(self, loss: Loss) -> list[float] | None:
        event = self.method.event(self.grid, replace(self.terms, loss=loss, by_rho=False))
        if self.method.explain_noise_limit(self.grid, event) is not None:
            return None
        method, grid = self.method, self.grid
        if (base := method.base(grid, event)) is not None:
            method, grid, event = base.method, base.grid, base.event
        blocks = method.block_errors(grid, event)
        if not blocks or blocks[-1].standard_error is None:
            return None
        errors = [blocks[-1].standard_error]
        tree = method.tree_variance(grid, event)
        if tree is not None and self.squares:
            domain = grid if method.skips_outside else None
            each = [sqrt(max(tree.region(square.key, domain), 0.0)) for square in self.squares]
            errors.append(sum(each) / len(each))
        return errors


def _find_releases(forms: Forms, area: int) -> int:
    """Find the smallest number of releases for which Gaussian noise is smaller."""
    releases = 1
    for _ in range(STEPS):
        errors = forms.errors(releases)
        if errors is None:  # too wide to be drawn: the guess stays the best answer
            return releases
        pure, gaussian = errors[area]
        if gaussian < pure:
            break
        # The ratio falls with the square root of the releases, but for the rounding of discrete
        # laws.
        releases = max(releases + 1, ceil(releases * (gaussian / pure) ** 2))
    while releases > 1 and (errors := forms.errors(releases - 1)):
        pure, gaussian = errors[area]
        if gaussian >= pure:
            break
        releases -= 1
    return releases


def _choose_squares(grid: Grid) -> tuple[Region, ...]:
    """Choose squares of the map, each with a cell of the domain; empty if there is no such map."""
    place = grid.maps.one
    if place is None or min(place.rows, place.cols) < SIDE or grid.outlines is not None:
        return ()
    # A fixed seed: the same call warns in the same words.
    ranks = np.random.default_rng(0).integers(grid.domain.cells, size=PLACES)
    row, col = grid.decode(grid.domain.keys_of_ranks(ranks))[:2]
    corners = zip(
        np.minimum(row, place.rows - SIDE).tolist(),
        np.minimum(col, place.cols - SIDE).tolist(),
        strict=True,
    )
    rows, cols = (part.reshape(-1) for part in np.indices((SIDE, SIDE)))
    return tuple(Region.of_map(grid, rows + top, cols + left) for top, left in corners)


def preview_release(
    grid: Grid,
    method: Method[Any],
    event: TableEvent,
    people: float | None,
    public_facts: tuple[str, ...] = (),
    reading: StatedReading | None = None,
    metadata: StatedMetadata | None = None,
    made: type[Release] = Release,
) -> Release:
    """Make a release of an empty table, with the card and the closed forms of the real one.

    They depend on public things only, so an error in computing them is raised before the charge.
    ``made``: class of the release, such as one whose counts have another name.
    """
    # Nothing on a card may depend on counts that are not drawn yet: with no rows, it cannot.
    none = np.empty(0, np.int64)
    table = ReleasedTable(grid, none.astype(np.uint64), none, event)
    release = made(table, None, people, public_facts, method, metadata=metadata, reading=reading)
    # Computed now and cached: the real release takes them over if nothing public differs.
    release.card()
    release.errors()
    for _ in release.areas():
        pass
    return release


def list_warnings(release: Release, request: Request | None = None) -> tuple[str, ...]:
    """List the warnings about a release before it is published, a sentence each.

    ``request`` is that of a single release, which may be better off without its delta.
    """
    about = warnings_of(release.method, release.grid, release.event, release.people)
    delta_notes = () if request is None else _warn_of_delta(release, request)
    return (*about, *warn_of_sea(release.grid), *delta_notes)


def _warn_of_delta(release: Release, request: Request) -> tuple[str, ...]:
    if not isinstance(release.method, Mechanism):
        return ()
    # The table may have bounded the contribution, so it is that of the event.
    terms = replace(request.terms, contribution=release.event.contribution)
    return warn_of_delta(release.grid, release.method, terms, request.ledger, request.dataset)


def warn_before_release(preview: Release, between: int = 0, request: Request | None = None) -> None:
    """Issue the warnings about a release at the line of the user's code that publishes it.

    ``between`` is the number of stack frames between that line and the caller of this function,
    such as those of decorators; ``request`` is as for :func:`list_warnings`.
    """
    for message in list_warnings(preview, request):
        warnings.warn(message, UserWarning, stacklevel=3 + between)
