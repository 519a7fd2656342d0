"""Division of a series' budget: how many snapshots a person changes, and the smaller noise.

A person may be in every snapshot, and each has a part of the budget; or in one, and each has all of
it. If a person replaces another, the two may be in different snapshots, so that two of them change.
This is declared, and never guessed.

Pure losses of k snapshots add up to k times one: the scale of the noise grows with k. The rho of
Gaussian noise adds up too, but its standard deviation grows with the square root of k only, and so
it does with the number of levels that a snapshot measures. If k times the levels is large, Gaussian
noise is smaller, at the price of a delta (Bun and Steinke 2016).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, cast

from geodp.accuracy.closed_form import BlockError
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.loss import Loss, PureDP, ZeroConcentratedDP, amounts_of, rho_for
from geodp.privacy.terms import REPLACE, Terms
from geodp.reprs import one_line

Person = Literal["all", "one"]
Noise = Literal["best", "laplace", "gaussian"]

PERSONS, NOISES = ("all", "one"), ("best", "laplace", "gaussian")

CROSSING = 30
"""Measurements of one person from which on Gaussian noise is chosen for a method without closed
forms: their square root exceeds the factor that delta costs, for deltas between 1e-6 and 1e-12."""

USUAL_DELTA = Fraction(1, 10**10)
"""Delta for the closed form of Gaussian noise if none is given."""

SHOWN = (1, 16, 256, 4096)
"""Cells of the blocks whose errors are compared."""


@dataclass(frozen=True)
class Sharing:
    """The terms of a series and of each snapshot, and the errors of both kinds of noise.

    Attributes
    ----------
    person : {"all", "one"}
    method : Mechanism
        Method of a snapshot.
    changed : int
        Maximal number of snapshots that differ between neighbours.
    levels : int
        Number of times that a person is counted in the measurements of a snapshot.
    total, each : Terms
        Terms of all snapshots together, and of one.
    gaussian : bool
    rule : str
        Reason for the noise, as a sentence.
    errors : mapping of str to (block, ...) or None
        Closed forms of a snapshot by the kind of noise; None if they depend on the data, empty if
        the noise would be too wide to be drawn.
    """

    __repr__ = one_line

    person: Person
    method: Mechanism
    changed: int
    levels: int
    total: Terms
    each: Terms
    gaussian: bool
    rule: str
    errors: Mapping[str, tuple[BlockError, ...] | None]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The rule and both closed forms, for people."""
        return (self.rule, *(_show(name, errors) for name, errors in self.errors.items()))


def share_budget(
    grid: Grid,
    method: Mechanism,
    terms: Terms,
    *,
    snapshots: int,
    person: Person,
    noise: Noise = "best",
) -> Sharing:
    """Divide the budget of a series among its snapshots, before any data is read.

    Parameters
    ----------
    grid : Grid
    method : Mechanism
    terms : Terms
        Terms of all snapshots together.
    snapshots : int
        Number of snapshots, at least 2.
    person : {"all", "one"}
        Whether one person is in every snapshot or in one.
    noise : {"best", "laplace", "gaussian"}
        Best: the one with the smaller errors by closed forms.

    Raises
    ------
    UsageError
        ``person`` is not declared, or does not fit the unit; the budget does not fit the noise; or
        delta is missing or above 1 / people.
    """
    _require_declared(person, noise, terms.unit)
    if isinstance(snapshots, bool) or not isinstance(snapshots, int) or snapshots < 2:
        raise UsageError(
            "A series needs at least two snapshots; publish releases a single one.",
            code="snapshots-fewer-than-two",
        )
    changed = count_changed(person, terms.neighbours, snapshots)
    forms = _compare(grid, method, terms, changed)
    measured = changed * count_levels(grid, method, terms)
    gaussian, why = _choose(method, terms, noise, measured, forms)
    total = _resolve_terms(terms, gaussian)
    # Exact fractions: the parts of `changed` snapshots add up to the total without rounding, which
    # verification checks.
    each = replace(total, loss=divide(total.loss, changed), by_rho=False)
    levels = count_levels(grid, method, each, gaussian=gaussian)
    rule = describe_sharing(snapshots, person, changed, levels) + why
    return Sharing(person, method, changed, levels, total, each, gaussian, rule, forms)


def count_changed(person: Person, neighbours: str, snapshots: int) -> int:
    """Return the maximal number of snapshots that differ between neighbours."""
    if person == "all":
        return snapshots
    # Replacing a person may remove one from a snapshot and add another elsewhere.
    return 2 if neighbours == REPLACE else 1


def divide(loss: Loss, parts: int) -> Loss:
    """Divide a loss exactly into equal parts; for Gaussian noise, divide its rho.

    Examples
    --------
    >>> divide(PureDP(Fraction(1, 10)), 36)
    PureDP(epsilon=Fraction(1, 360))
    """
    amounts = amounts_of(loss)
    if amounts["rho"] is not None:
        return ZeroConcentratedDP(amounts["rho"] / parts)
    return PureDP(cast(Fraction, amounts["epsilon"]) / parts)


def spread_loss(each: Measurement, total: Measurement, changed: int, seen: int) -> Measurement:
    """Return the event of a snapshot that was made of noisy counts of several.

    Parameters
    ----------
    each, total : Measurement
        Of the noise of one snapshot, and of all snapshots together.
    changed : int
        Maximal number of snapshots that differ between neighbours.
    seen : int
        Number of snapshots whose noisy counts it depends on, with its own.
    """
    number = min(changed, seen)
    if number == changed:
        return each.depending_on(total)
    if each.rho is not None:
        return each.depending_on(replace(each, rho=each.rho * number))
    assert each.epsilon is not None
    return each.depending_on(replace(each, epsilon=each.epsilon * number))


def count_levels(grid: Grid, method: Mechanism, terms: Terms, *, gaussian: bool = False) -> int:
    """Return the number of times that a person is counted in the measurements of a snapshot."""
    loss: Loss = ZeroConcentratedDP(Fraction(1)) if gaussian else PureDP(Fraction(1))
    event = method.event(grid, replace(terms, loss=loss, contribution=1))
    factor = 2 if terms.neighbours == REPLACE else 1
    return max(len(method.queries(grid, event)), event.sensitivity // factor)


def _require_declared(person: str, noise: str, unit: str) -> None:
    if person not in PERSONS:
        raise UsageError(
            "Declare in how many snapshots one person is: person is all (every one has a part of "
            "the budget) or one (each has all of it).",
            code="person-in-missing",
        )
    if noise not in NOISES:
        raise UsageError(
            f"noise is {', '.join(NOISES[:-1])} or {NOISES[-1]}.", code="noise-unknown"
        )
    # A unit such as a person's day lies in one period and cannot be in all of them.
    if person == "all" and re.search(r"\b(hour|day|week|month|year)$", unit):
        raise UsageError(
            f"One {unit} is in one snapshot and not in all; protect a person in all of them, or "
            "declare that person is one.",
            code="snapshots-need-person-one",
        )


def _choose(
    method: Mechanism,
    terms: Terms,
    noise: Noise,
    measured: int,
    forms: Mapping[str, tuple[BlockError, ...] | None],
) -> tuple[bool, str]:
    """Return whether the noise is Gaussian, and why; UsageError if the budget does not fit it."""
    amounts = amounts_of(terms.loss)
    by_rho = terms.by_rho or amounts["epsilon"] is None
    if by_rho and noise == "laplace":
        raise UsageError(
            "rho needs Gaussian noise; give epsilon for Laplace noise.", code="rho-needs-gaussian"
        )
    if noise != "best":
        gaussian, why = noise == "gaussian", "chosen by who publishes"
    elif by_rho:
        gaussian, why = True, "as rho was given"
    elif not method.gaussian:
        gaussian, why = False, f"as {method.name} has no other"
    else:
        gaussian, why = _compare_means(forms, measured)
    if gaussian and not method.gaussian:
        raise UsageError(
            f"{method.name} has no Gaussian noise; leave the choice to the rule.",
            code="method-has-no-gaussian",
        )
    # rho needs no delta; only a budget in epsilon is converted to rho at the price of one.
    if gaussian and not by_rho and amounts["delta"] is None:
        raise UsageError(
            "Gaussian noise is smaller for this series and needs a delta, below 1 / people; give "
            "one, or choose noise laplace.",
            code="gaussian-needs-delta",
        )
    delta = amounts["delta"]
    if gaussian and delta is not None and terms.people and delta * Fraction(terms.people) > 1:
        raise UsageError(
            "delta is above 1 / people, so that the data of one person could be shown outright; "
            "the inverse of ten times the people is usual.",
            code="delta-above-inverse-people",
        )
    name = "Gaussian" if gaussian else "Laplace"
    return gaussian, f"{name} noise, {why}."


def _compare_means(
    forms: Mapping[str, tuple[BlockError, ...] | None], measured: int
) -> tuple[bool, str]:
    """Return whether Gaussian noise has the smaller errors at usual sizes of blocks, and why."""
    pure, normal = forms.get("Laplace"), forms.get("Gaussian")
    # A method without closed forms is judged by the number of its measurements.
    if pure is None or normal is None:
        gaussian = measured >= CROSSING
        number = f"{measured} measurements of a person with Laplace noise are"
        return gaussian, f"as {number} {f'{CROSSING} or more' if gaussian else f'below {CROSSING}'}"
    # Noise too wide to be drawn has no errors.
    if not (pure and normal):
        return not pure, "as the other would be too wide to be drawn"
    ratio = _geometric_mean(normal) / _geometric_mean(pure)
    sizes = f"of {', '.join(f'{size:,}' for size in SHOWN[:-1])} and {SHOWN[-1]:,} cells"
    why = f"as its errors at blocks {sizes} are {min(ratio, 1 / ratio):.2f} of the other's"
    return ratio < 1, why


def _geometric_mean(errors: Sequence[BlockError]) -> float:
    """Compute the geometric mean of the standard errors of blocks of the sizes ``SHOWN``.

    All sizes of the domain where it has none of these.
    """
    shown = [one.standard_error for one in errors if one.cells in SHOWN]
    known = shown or [one.standard_error for one in errors]
    return math.exp(sum(map(math.log, known)) / len(known))


def _resolve_terms(terms: Terms, gaussian: bool) -> Terms:
    """Return the terms of all snapshots, without a delta that the noise does not need."""
    if gaussian or isinstance(terms.loss, PureDP):
        return terms
    return replace(terms, loss=PureDP(cast(Fraction, amounts_of(terms.loss)["epsilon"])))


def describe_sharing(snapshots: int, person: Person, changed: int, levels: int) -> str:
    """Describe in how many snapshots a unit is, and how often it is measured."""
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
    errors = {}
    bound = terms.contribution or 1
    for name, loss in losses.items():
        event = method.event(grid, replace(terms, loss=loss, contribution=bound))
        # A small part of the budget may need noise that is too wide to be drawn: then there is no
        # error to show.
        drawable = method.explain_noise_limit(grid, event) is None
        errors[name] = method.block_errors(grid, event) if drawable else ()
    return errors


def _show(name: str, errors: tuple[BlockError, ...] | None) -> str:
    if errors is None:
        return f"{name} noise: the error of a snapshot depends on the data."
    if not errors:
        return f"{name} noise would be too wide to be drawn."
    by_size = {one.cells: one.standard_error for one in errors}
    shown = [f"{by_size[n]:,.1f} for {n:,}" for n in SHOWN if n in by_size]
    return f"{name} noise: standard errors of a snapshot of {', '.join(shown)} cells."
