"""Sentences and tables that a card's readers and registries get alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from geodp.privacy.neighbours import ADD_REMOVE
from geodp.table.caption import list_captioned
from geodp.table.card import Card
from geodp.table.charged import ApproximateLoss, ConcentratedLoss, StatedLoss
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.release import StatedGuarantee, StatedMechanism

TIMING = (
    "Running time and memory follow the number of input rows and the released cells; a run is "
    "not to be timed by those who receive the release."
)

HAZARDS = (
    "The guarantee holds for the stated unit; facts about larger units, such as a whole family "
    "where the unit is one person, are protected less.",
    "It says nothing of what others publish about the same people without differential privacy.",
    "It does not hide what is true of a population: that a town is large is what a release is for.",
    "Counts of small areas are mostly noise: read about the expected error first.",
    "Guarantees with other units, neighbours or contribution bounds cannot be compared by their "
    "epsilons alone.",
    TIMING,
)


NEGATIVE = (
    "Negative values are noise. Sum areas with them: a sum without them, or with 0 in their place, "
    "is too large on average."
)


def width(said: StatedGuarantee) -> str:
    """Return the width of the noise of one stage."""
    if said.model == "local":
        return f"Reports: {said.reports:,}, each randomised where it was made"
    if said.noise_sigma2 is not None:
        return f"{ONE_STAGE}: sigma squared {said.noise_sigma2}"
    return f"{ONE_STAGE}: {said.noise_scale} = {said.noise_scale_decimal!r}"


def say_released(mechanism: StatedMechanism) -> list[str]:
    """Return the mechanism's settings, if it has any, and what its values can be; a line each."""
    words = {repr(True): "yes", repr(False): "no"}
    said = [f"{n} = {words.get(repr(v), v)}" for n, v in mechanism.settings.items()]
    settings = [f"Settings: {', '.join(said)}."] if said else []
    return [*settings, *say_captioned(mechanism)]


def say_captioned(stated: Any) -> list[str]:
    """Return the fields of a part of the card that have captions, a line each."""
    return [f"{one.heading}: {value}." for _, one, value in list_captioned(stated)]


def say_floating_point(mechanism: StatedMechanism) -> str:
    """Return what is said of floating point."""
    return FLOATING_POINT if mechanism.whole else REAL_NUMBERS


def unit_in_words(said: StatedGuarantee) -> str:
    """Return the unit of privacy and what may change of it."""
    unit = said.unit
    change = (
        f"adding or removing one {unit}"
        if said.neighbours == ADD_REMOVE
        else f"replacing one {unit} by another"
    )
    if said.model == "local":
        return (
            f"Whatever one {unit} sends differs as little as this between any two places it could "
            f"have been at ({said.neighbours}); {said.contribution_bound}."
        )
    return (
        f"Neighbouring data sets differ by {change} ({said.neighbours}), and one {unit} adds at "
        f"most {said.contribution} to the sum of all counts: {said.contribution_bound}."
    )


def sensitivity_in_words(said: StatedGuarantee) -> str:
    """Return the sensitivity and why it is that."""
    why = said.sensitivity_counts
    if said.model == "local":
        return f"Local model: {why}; further charge: {said.further_charge}."
    return f"L1 sensitivity of the measurements: {said.l1_sensitivity}" + (
        f"; {why}." if why else "."
    )


def domain_in_words(domain: StatedDomain) -> str:
    """Return the cells and axes of the domain."""
    axes = " x ".join(f"{name} {size:,}" for name, size in domain.axes.items())
    if domain.has_units:
        return (
            f"Counts of {domain.cells:,} cells, the empty ones included, on the axes {axes}. The "
            "places are the finest units of a public table, by their codes there; they have no map."
        )
    words = [f"Counts of {domain.cells:,} cells, the empty ones included, on the axes {axes}."]
    for place in domain.places:
        code = place.code or "cells without published codes"
        bounds = ", ".join(f"{edge!r}" for edge in place.bounds)
        words.append(f"Places: {code}, CRS {place.crs or 'none'}, bounds {bounds}.")
    return " ".join(dict.fromkeys(words))


def mask_in_words(domain: StatedDomain) -> str:
    """Return where the domain comes from."""
    mask, regions = domain.mask, domain.regions
    if regions is not None:
        levels = ", ".join(f"{name}: {parts}" for name, parts in regions.levels.items())
        return (
            "Cells that no region of a public table holds do not belong to the domain; regions on "
            f"each level: {levels}; source of the table: {regions.source}."
        )
    if mask is None:
        return "No mask: every cell of the extent belongs to the domain."
    return f"Cells outside a public mask do not belong to the domain; its source: {mask.source}."


def budget(card: Card) -> list[str]:
    """Return what was spent before and with this release, as far as the card knows."""
    charge = card.budget
    if charge is None:
        return [
            f"This release spends {card.guarantee.spends}, charged to no ledger; "
            "budgets of other releases about the same people add to it."
        ]
    local = card.guarantee.model == "local"
    first = "the first report was asked for" if local else "it was published"
    return [
        f"This release spends {card.guarantee.spends}, charged to the data set "
        f"{charge.dataset} before {first}, after {charge.earlier_releases} "
        f"earlier releases. Spent with it: {loss(charge.spent)}; cap: {loss(charge.cap)}. "
        f"Ledger {charge.ledger}, entry {charge.sequence}, chain {charge.head}."
    ]


def loss(stated: StatedLoss) -> str:
    """Return a budget's exact parameters, and those that it was converted from."""
    if isinstance(stated, ConcentratedLoss):
        return f"rho = {stated.rho}"
    words = f"epsilon = {stated.epsilon}"
    if not isinstance(stated, ApproximateLoss):
        return words
    words += f" and delta = {stated.delta}"
    origin = stated.converted_from
    return words if origin is None else f"{words} (converted from {loss(origin)})"


def bullets(lines: Iterable[str]) -> str:
    """Return a Markdown list."""
    return "\n".join(f"- {plain(line)}" for line in lines)


FLOATING_POINT = (
    "Counts, sums and noise are integers, and epsilon is a rational number; no floating-point "
    "number decides a draw, and no tail of the noise is cut off."
)


REAL_NUMBERS = (
    "Noise is drawn as integers, in steps of one count or of a fixed fraction of it, and epsilon "
    "is a rational number; no floating-point number decides a draw, and no tail of the noise is "
    "cut off. What is computed from the noisy values afterwards is in 64-bit floating point, and "
    "is post-processing."
)


ONE_STAGE = "Scale of the noise where one stage has the whole budget, sensitivity over epsilon"


def plain(text: str) -> str:
    """One line that opens neither a table's column nor a tag."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")
