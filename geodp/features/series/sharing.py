"""How a series shares its budget: how many snapshots a person changes, and which noise is less.

A person is in every snapshot, and all of them have a part of the budget; or in one, and each has
all of it. Where a person replaces another, the two may be in different snapshots, so two change.
That is declared, and never guessed.

Pure losses of k snapshots add up to k times one: the scale of the noise grows with k. The rho of
Gaussian noise adds up too, and its standard deviation grows with the square root of k only; so
does it with the levels that a snapshot measures. Where k times the levels is large, Gaussian noise
is less, and a delta is its price (Bun and Steinke 2016).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, cast

from geodp.accuracy.blocks import BlockError
from geodp.errors import UsageError
from geodp.features.series.card import StatedSharing
from geodp.grid.grid import Grid
from geodp.mechanisms import Mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.budget import amounts_of
from geodp.privacy.loss import Loss, PureDP, ZeroConcentratedDP, rho_for
from geodp.privacy.neighbours import REPLACE
from geodp.privacy.terms import Terms
from geodp.reprs import one_line

Person = Literal["all", "one"]
Noise = Literal["best", "laplace", "gaussian"]

PERSONS, NOISES = ("all", "one"), ("best", "laplace", "gaussian")

CROSSING = 30
"""Measurements of one person from which on Gaussian noise is less: their root passes the factor
that delta costs, between 1e-6 and 1e-12."""

USUAL_DELTA = Fraction(1, 10**10)
"""For the closed form of Gaussian noise where no delta is given."""

SHOWN = (1, 16, 256, 4096)
"""Cells of the blocks whose errors are compared."""


@dataclass(frozen=True)
class Sharing:
    """The terms of a series and of each snapshot, and what the two kinds of noise come to.

    Attributes
    ----------
    snapshots : int
    person : {"all", "one"}
    method : Mechanism
        Of a snapshot: what was asked for, but for the pyramid's default, see :func:`settle_method`.
    changed : int
        Snapshots that differ between neighbours at most.
    levels : int
        How often a person is counted in what a snapshot measures.
    whole, each : Terms
        Of all snapshots together, and of one.
    gaussian : bool
    rule : str
        Why, as a sentence.
    errors : mapping of str to (block, ...) or None
        Closed forms of a snapshot by the kind of noise; None where it depends on the data, empty
        where the noise would be too wide to be drawn.
    """

    __repr__ = one_line

    snapshots: int
    person: Person
    method: Mechanism
    changed: int
    levels: int
    whole: Terms
    each: Terms
    gaussian: bool
    rule: str
    errors: Mapping[str, tuple[BlockError, ...] | None]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The rule and both closed forms, for people."""
        return (self.rule, *(_show(name, found) for name, found in self.errors.items()))

    @property
    def stated(self) -> StatedSharing:
        """Return what the index of the series says of it."""
        return StatedSharing(self.person, self.changed, self.levels, self.gaussian, self.rule)


def share_budget(
    grid: Grid,
    method: Mechanism,
    terms: Terms,
    *,
    snapshots: int,
    person: Person,
    noise: Noise = "best",
) -> Sharing:
    """Settle what each snapshot of a series spends, before any data is read.

    Parameters
    ----------
    grid : Grid
    method : Mechanism
    terms : Terms
        Of all snapshots together.
    snapshots : int
        At least 2.
    person : {"all", "one"}
        Whether one person is in every snapshot or in one.
    noise : {"best", "laplace", "gaussian"}
        Best: Gaussian where a person is measured 30 times or more in all.

    Raises
    ------
    UsageError
        A person that is not declared, a unit that does not fit it, a budget that does not fit the
        noise, a delta that is missing or above 1 / people.
    """
    _require_declared(person, noise, terms.unit)
    if isinstance(snapshots, bool) or not isinstance(snapshots, int) or snapshots < 2:
        raise UsageError(
            "A series has two snapshots at least; publish releases a single one.",
            code="snapshots-fewer-than-two",
        )
    changed = snapshots
    if person == "one":
        changed = 2 if terms.neighbours == REPLACE else 1
    levels = count_levels(grid, method, terms)
    gaussian, why = _choose(method, terms, noise, changed, levels)
    whole = _settle(terms, gaussian)
    rule = _tell(snapshots, person, changed, levels) + why
    own = settle_method(method, gaussian=gaussian)
    if own != method:
        levels = count_levels(grid, own, terms)
        rule += f" Levels and shares of a snapshot are those for series ({own.spec})."
    each = replace(whole, loss=divide(whole.loss, changed), by_rho=False)
    forms = _compare(grid, method, terms, changed)
    return Sharing(snapshots, person, own, changed, levels, whole, each, gaussian, rule, forms)


def settle_method(method: Mechanism, *, gaussian: bool) -> Mechanism:
    """Return what measures a snapshot: with Gaussian noise the pyramid's default is that of series.

    By public facts alone: the noise, which goes by snapshots, person and levels. Whoever gives a
    setting or a chain gets it.

    Examples
    --------
    >>> settle_method(Pyramid(), gaussian=True).spec
    'pyramid:setting=series'
    """
    if type(method) is Pyramid and method.setting == "auto" and not method.chain and gaussian:
        return replace(method, setting="series")
    return method


def divide(loss: Loss, parts: int) -> Loss:
    """Return the loss of which so many add up to a loss, exactly; of Gaussian noise its rho.

    Examples
    --------
    >>> divide(PureDP(Fraction(1, 10)), 36)
    PureDP(epsilon=Fraction(1, 360))
    """
    amounts = amounts_of(loss)
    if amounts["rho"] is not None:
        return ZeroConcentratedDP(amounts["rho"] / parts)
    return PureDP(cast(Fraction, amounts["epsilon"]) / parts)


def count_levels(grid: Grid, method: Mechanism, terms: Terms) -> int:
    """Return how often a person is counted in what a snapshot measures."""
    spent = method.event(grid, replace(terms, loss=PureDP(Fraction(1)), contribution=1))
    factor = 2 if terms.neighbours == REPLACE else 1
    return max(len(method.queries(grid, spent)), spent.sensitivity // factor)


def _require_declared(person: str, noise: str, unit: str) -> None:
    if person not in PERSONS:
        raise UsageError(
            "Say in how many snapshots one person is: person is all (every one has a part of the "
            "budget) or one (each has all of it).",
            code="person-in-missing",
        )
    if noise not in NOISES:
        raise UsageError(
            f"noise is {', '.join(NOISES[:-1])} or {NOISES[-1]}.", code="noise-unknown"
        )
    if person == "all" and re.search(r"\b(hour|day|week|month|year)$", unit):
        raise UsageError(
            f"One {unit} is in one snapshot and not in all; protect a person in all of them, or "
            "declare person one.",
            code="snapshots-need-person-one",
        )


def _choose(
    method: Mechanism, terms: Terms, noise: Noise, changed: int, levels: int
) -> tuple[bool, str]:
    """Return whether the noise is Gaussian, and why; refuse a budget that does not fit it."""
    amounts = amounts_of(terms.loss)
    by_rho = terms.by_rho or amounts["epsilon"] is None
    if by_rho and noise == "laplace":
        raise UsageError(
            "rho is of Gaussian noise; give epsilon for Laplace noise.", code="rho-needs-gaussian"
        )
    if noise != "best":
        gaussian, why = noise == "gaussian", "chosen by who publishes"
    elif by_rho:
        gaussian, why = True, "as rho was given"
    elif not method.gaussian:
        gaussian, why = False, f"as {method.name} has no other"
    else:
        gaussian = changed * levels >= CROSSING
        why = f"as that is {CROSSING} or more" if gaussian else f"as that is below {CROSSING}"
    if gaussian and not method.gaussian:
        raise UsageError(
            f"{method.name} has no Gaussian noise; leave the choice to the rule.",
            code="method-has-no-gaussian",
        )
    if gaussian and not by_rho and amounts["delta"] is None:
        raise UsageError(
            f"Gaussian noise is less for this series (a person is measured {changed} x {levels} "
            "times) and needs a delta, below 1 / people; give one, or ask for noise laplace.",
            code="gaussian-needs-delta",
        )
    delta = amounts["delta"]
    if gaussian and delta is not None and terms.people and delta * Fraction(terms.people) > 1:
        raise UsageError(
            "delta is above 1 / people, so that somebody could be shown outright; the inverse of "
            "ten times the people is usual.",
            code="delta-above-inverse-people",
        )
    name = "Gaussian" if gaussian else "Laplace"
    return gaussian, f"{name} noise, {why}."


def _settle(terms: Terms, gaussian: bool) -> Terms:
    """Return the terms of the whole: a delta that no noise needs is not spent."""
    if gaussian or isinstance(terms.loss, PureDP):
        return terms
    return replace(terms, loss=PureDP(cast(Fraction, amounts_of(terms.loss)["epsilon"])))


def _tell(snapshots: int, person: Person, changed: int, levels: int) -> str:
    where = "every snapshot" if person == "all" else "one snapshot"
    return (
        f"One unit is in {where} of {snapshots}, so {changed} of them "
        f"{'changes' if changed == 1 else 'change'} with it, and it is measured {changed} x "
        f"{levels} = {changed * levels} times: "
    )


def _compare(
    grid: Grid, method: Mechanism, terms: Terms, changed: int
) -> dict[str, tuple[BlockError, ...] | None]:
    """Return the closed forms of a snapshot with either noise, at the same epsilon."""
    amounts = amounts_of(terms.loss)
    epsilon, rho = amounts["epsilon"], amounts["rho"]
    losses: dict[str, Loss] = {}
    if epsilon is not None:
        losses["Laplace"] = PureDP(epsilon / changed)
        rho = rho or rho_for(epsilon, USUAL_DELTA)
    if method.gaussian and rho:
        losses["Gaussian"] = ZeroConcentratedDP(rho / changed)
    found = {}
    bound = terms.contribution or 1
    for name, loss in losses.items():
        own = settle_method(method, gaussian=name == "Gaussian")
        event = own.event(grid, replace(terms, loss=loss, contribution=bound))
        drawable = own.explain_noise_limit(grid, event) is None
        found[name] = own.block_errors(grid, event) if drawable else ()
    return found


def _show(name: str, errors: tuple[BlockError, ...] | None) -> str:
    if errors is None:
        return f"{name} noise: the error of a snapshot depends on the data."
    if not errors:
        return f"{name} noise would be too wide to be drawn."
    by_size = {one.cells: one.standard_error for one in errors}
    shown = [f"{by_size[n]:,.1f} for {n:,}" for n in SHOWN if n in by_size]
    return f"{name} noise: standard errors of a snapshot of {', '.join(shown)} cells."
