"""Write the sections of an explanation that releases, selections and audits share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from geodp.errors import printable
from geodp.table.stated.release import ApproximateLoss, ConcentratedLoss, StatedCharge, StatedLoss
from geodp.tools.explain.bayes import BeliefShift, shift_belief
from geodp.tools.explain.page import Section, Writer, write_number

PRIORS = (0.01, 0.1, 0.5)
"""Prior probabilities in the table of beliefs."""

HALF = 0.5
"""Probability of either of two equally likely cases."""

SIZES = (2, 4)
"""Sizes of households in the table."""

OPEN = {
    "the domain, the grid": "open_domain",
    "other releases about": "open_releases",
    "groups: ": "open_groups",
    "that this table depends on noisy counts": "open_depends",
    "whether two releases with": "open_key",
    "whether two selections with": "open_key",
    "that at least one row": "open_row",
    "that the contribution allows": "open_sums",
    "taking part": "open_part",
    "further reports": "open_reports",
    "how a report came": "open_network",
}
"""Beginnings of a card's lines on what is not protected, and the sentence for each; other lines are
quoted."""

ReachOf = Callable[[int], BeliefShift]
"""Function from a number of dependent people to how far beliefs about them move."""


class Bound(Protocol):
    """The bound of a contribution, as a card states it."""

    @property
    def contribution(self) -> int:
        """The most that one unit adds to the sum of all counts."""

    @property
    def enforced(self) -> bool:
        """Whether geodp enforced the bound."""

    @property
    def layout(self) -> str:
        """Name and title of the layout that states the bound; empty if none does."""


def bound_sentence(page: Writer, bound: Bound, unit: str) -> str:
    """Write the sentence on how often a unit is counted at most, and who vouches for it."""
    figures: dict[str, float | str] = {"unit": unit, "contribution": bound.contribution}
    # Who vouches for the bound: geodp, the layout of an official table, or else the office.
    if bound.enforced:
        return page.write("bound_enforced", **figures)
    if bound.layout:
        return page.write("bound_layout", **figures, layout=printable(bound.layout))
    return page.write("bound_vouched", **figures)


def factor_sentence(page: Writer, reach: BeliefShift) -> str:
    """Write the sentence on how much more likely any outcome becomes."""
    # Beyond exp(700) a float overflows; no reader tells the difference.
    factor = math.exp(min(reach.shift, 700.0))
    if reach.chance:
        return page.write("factor_but", factor=factor, one_in=1 / reach.chance)
    return page.write("factor", factor=factor)


def beliefs_section(page: Writer, reach: BeliefShift, unit: str, kind: str) -> Section:
    """Write the section on how far a belief about one unit moves.

    If a unit is added or removed (kind ``"add"``), it is the belief that the unit was counted; for
    beliefs about its place see :func:`where_section`.
    """
    undecided = shift_belief(HALF, reach.shift)
    sentences = [
        page.write("beliefs_add" if kind == "add" else "beliefs_any", unit=unit),
        page.write("beliefs_half", half=HALF, least=undecided.least, most=undecided.most),
        page.write("beliefs_table"),
    ]
    if reach.chance:
        sentences.append(page.write("beliefs_but", one_in=1 / reach.chance))
    if kind != "add":
        sentences.append(page.write("beliefs_where", unit=unit))
    sentences += [page.write("beliefs_independent"), page.write("rounded")]
    return Section(page.write("heading_beliefs"), tuple(sentences), *_tabulate(page, reach))


def where_section(page: Writer, reach_of: ReachOf, unit: str) -> Section:
    """Write how far a belief about the place of one unit moves that is known to be counted.

    If a unit is added or removed, a different place of a counted unit is one removed and one added,
    so that a belief about the place moves like one about two dependent units.
    """
    reach = reach_of(2)
    undecided = shift_belief(HALF, reach.shift)
    figures = {"half": HALF, "where_least": undecided.least, "where_most": undecided.most}
    sentences = [page.write("where", unit=unit), page.write("where_half", **figures)]
    if reach.chance:
        sentences.append(page.write("where_but", where_one_in=1 / reach.chance))
    heading = page.write("heading_where", unit=unit)
    return Section(heading, tuple(sentences), *_tabulate(page, reach))


def _tabulate(
    page: Writer, reach: BeliefShift
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Make the header and the rows of chances before and afterwards."""
    rows = tuple(
        tuple(_percent(chance) for chance in shift_belief(prior, reach.shift)) for prior in PRIORS
    )
    return tuple(page.write(f"column_{name}") for name in ("before", "least", "most")), rows


def guess_section(page: Writer, reach: BeliefShift, question: str) -> Section:
    """Write the section on the best guess; ``question`` is what is guessed."""
    sentences = (
        question,
        page.write("guess_right", right=(1 + reach.advantage) / 2, half=HALF),
        page.write("guess_advantage", advantage=reach.advantage),
    )
    return Section(page.write("heading_guess"), sentences)


def households_section(page: Writer, reach_of: ReachOf, rule: str) -> Section:
    """Write the section on dependent people; ``rule`` names the sentence on what adds up."""
    head = tuple(page.write(f"column_{name}") for name in ("people", "before", "most"))
    rows = tuple(
        (
            write_number(size),
            _percent(prior),
            _percent(shift_belief(prior, reach_of(size).shift).most),
        )
        for size in (1, *SIZES)
        for prior in PRIORS[1:2]
    )
    sentences = page.write("households"), page.write(rule)
    return Section(page.write("heading_households"), sentences, head, rows)


def open_section(
    page: Writer, lines: Sequence[str], charge: StatedCharge | None, unit: str, *extras: str
) -> Section:
    """Write the section on what is not protected, by the lines of a card, and on the budget.

    ``extras`` names sentences that hold whatever the card states.
    """
    # The card is English; known lines are replaced by sentences of the page's language.
    sentences = [page.write(name) for name in ("open_town", "open_others", *extras)]
    for line in lines:
        names = [name for begins, name in OPEN.items() if line.startswith(begins)]
        quoted = {} if names else {"quoted": line}
        sentences.append(page.write(*(names or ["open_quoted"]), unit=unit, **quoted))
    sentences.append(_budget_sentence(page, charge))
    # Several lines of a card may map to one sentence.
    return Section(page.write("heading_open"), tuple(dict.fromkeys(sentences)))


def _budget_sentence(page: Writer, charge: StatedCharge | None) -> str:
    """Write the sentence on what the data set's releases have charged so far."""
    if charge is None:
        return page.write("spent_unknown")
    spent, cap = _write_loss(page, charge.spent), _write_loss(page, charge.cap)
    return page.write("spent", earlier=charge.earlier_releases, spent=spent, cap=cap)


def _write_loss(page: Writer, loss: StatedLoss) -> str:
    """Write the measures of a loss with their exact values."""
    if isinstance(loss, ConcentratedLoss):
        return page.write("loss_rho", rho=loss.rho)
    if isinstance(loss, ApproximateLoss):
        return page.write("loss_delta", epsilon=loss.epsilon, delta=loss.delta)
    return page.write("loss_epsilon", epsilon=loss.epsilon)


def not_private_sections(page: Writer) -> tuple[Section, ...]:
    """Write the only section of a release that is not private."""
    sentences = page.write("not_private"), page.write("nothing_holds")
    return (Section(page.write("heading_promise"), sentences),)


def _percent(chance: float) -> str:
    return f"{write_number(100 * chance)} %"
