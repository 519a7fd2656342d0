"""Sentences shared by the Markdown card, the registry record and the page.

Each is written from the public card alone. :mod:`geodp.release.report.markdown` and
:mod:`geodp.release.report.registry` put them together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from geodp.privacy.terms import ADD_REMOVE
from geodp.table.card import Card
from geodp.table.index import IndexCard
from geodp.table.plain import list_captioned
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.release import (
    ApproximateLoss,
    ConcentratedLoss,
    StatedGuarantee,
    StatedLoss,
    StatedMechanism,
)

TIMING = (
    "Running time and memory depend on the number of input rows and the released cells; those who "
    "receive the release must not be able to time a run."
)

HAZARDS = (
    "The guarantee holds for the stated unit; facts about larger units, such as a whole family "
    "where the unit is one person, are protected less.",
    "It does not cover what others publish about the same people without differential privacy.",
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


def describe_width(guarantee: StatedGuarantee) -> str:
    """Describe the scale of the noise of one stage; of reports in the local model, their number."""
    if guarantee.model == "local":
        return f"Reports: {guarantee.reports:,}, each randomised where it was made"
    stage = ONE_STAGE if guarantee.share is None else OWN_STAGE.format(guarantee.share)
    if guarantee.noise_sigma2 is not None:
        return f"{stage}: sigma squared {guarantee.noise_sigma2}"
    return f"{stage}: {guarantee.noise_scale} = {guarantee.noise_scale_decimal!r}"


def describe_values(mechanism: StatedMechanism) -> list[str]:
    """List the mechanism's settings, if any, and its fields with captions, one a line."""
    # Keyed by repr, since True == 1: a setting of 1 would otherwise be printed as "yes".
    yes_no = {repr(True): "yes", repr(False): "no"}
    pairs = [f"{n} = {yes_no.get(repr(v), v)}" for n, v in mechanism.settings.items()]
    settings = [f"Settings: {', '.join(pairs)}."] if pairs else []
    return [*settings, *format_captioned(mechanism)]


def format_captioned(part: Any) -> list[str]:
    """List the captioned fields of a part of the card, one a line."""
    return [f"{one.heading}: {value}." for _, one, value in list_captioned(part)]


def describe_floating_point(mechanism: StatedMechanism) -> str:
    """Describe where the mechanism computes in floating point."""
    return FLOATING_POINT if mechanism.whole else REAL_NUMBERS


def describe_unit(guarantee: StatedGuarantee) -> str:
    """Describe the unit of privacy, the neighbouring relation and the contribution bound."""
    unit = guarantee.unit
    change = (
        f"adding or removing one {unit}"
        if guarantee.neighbours == ADD_REMOVE
        else f"replacing one {unit} by another"
    )
    if guarantee.model == "local":
        return (
            f"Whatever one {unit} sends differs as little as this between any two places it could "
            f"have been at ({guarantee.neighbours}); {guarantee.contribution_bound}."
        )
    return (
        f"Neighbouring data sets differ by {change} ({guarantee.neighbours}), and one {unit} adds "
        f"at most {guarantee.contribution} to the sum of all counts: "
        f"{guarantee.contribution_bound}."
    )


def describe_sensitivity(guarantee: StatedGuarantee) -> str:
    """Describe the L1 sensitivity and its reason; in the local model, the charge."""
    why = guarantee.sensitivity_counts
    if guarantee.model == "local":
        return f"Local model: {why}; further charge: {guarantee.further_charge}."
    return f"L1 sensitivity of the measurements: {guarantee.l1_sensitivity}" + (
        f"; {why}." if why else "."
    )


def describe_domain(domain: StatedDomain) -> str:
    """Describe the cells, axes and places of the domain."""
    axes = " x ".join(f"{name} {size:,}" for name, size in domain.axes.items())
    if domain.has_units:
        return (
            f"Counts of {domain.cells:,} cells, the empty ones included, on the axes {axes}. The "
            "places are the finest units of a public table, by their codes there; they have no map."
        )
    # The two ends of a domain of pairs often have the same place, which is described once below.
    sentences = [f"Counts of {domain.cells:,} cells, the empty ones included, on the axes {axes}."]
    for place in domain.places:
        code = place.code or "cells without published codes"
        bounds = ", ".join(f"{edge!r}" for edge in place.bounds)
        sentences.append(f"Places: {code}, CRS {place.crs or 'none'}, bounds {bounds}.")
    return " ".join(dict.fromkeys(sentences))


def describe_mask(domain: StatedDomain) -> str:
    """Describe the public source that the domain was cut out with: a mask, regions or none."""
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


def describe_budget(card: Card | IndexCard) -> list[str]:
    """Describe the charge of this release and, if a ledger was used, the total and the cap."""
    charge = card.budget
    if charge is None:
        return [
            f"This release spends {card.guarantee.spends}, charged to no ledger; "
            "budgets of other releases about the same people add to it."
        ]
    local = getattr(card.guarantee, "model", None) == "local"
    first = "the first report was asked for" if local else "it was published"
    return [
        f"This release spends {card.guarantee.spends}, charged to the data set "
        f"{charge.dataset} before {first}, after {charge.earlier_releases} "
        f"earlier releases. Spent with it: {describe_loss(charge.spent)}; "
        f"cap: {describe_loss(charge.cap)}. "
        f"Ledger {charge.ledger}, entry {charge.sequence}, chain {charge.head}."
    ]


def describe_loss(loss: StatedLoss) -> str:
    """Format the exact parameters of a privacy loss, and those that it was converted from."""
    if isinstance(loss, ConcentratedLoss):
        return f"rho = {loss.rho}"
    text = f"epsilon = {loss.epsilon}"
    if not isinstance(loss, ApproximateLoss):
        return text
    text += f" and delta = {loss.delta}"
    origin = loss.converted_from
    return text if origin is None else f"{text} (converted from {describe_loss(origin)})"


def bullets(lines: Iterable[str]) -> str:
    """Format lines as a Markdown list."""
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


OWN_STAGE = "Scale of the noise where one stage has all of this table's share, {}, of the budget"


def plain(text: str) -> str:
    """Escape a text for Markdown: one line, without column separators and HTML tags.

    Examples
    --------
    >>> plain("a | <b>")
    'a \\\\| &lt;b>'
    """
    # Texts of the publisher and of public tables come in here: neither may break a table's row or
    # open an element where the Markdown is rendered as HTML.
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")
