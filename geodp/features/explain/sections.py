"""What any guarantee means for those who guess: sections that releases and audits share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from geodp.errors import printable
from geodp.features.explain.bayes import shift_belief
from geodp.features.explain.page import Section, Writer, write_number
from geodp.features.explain.reach import BeliefShift
from geodp.table.charged import ApproximateLoss, ConcentratedLoss, StatedCharge, StatedLoss

PRIORS = (0.01, 0.1, 0.5)
"""Chances before that the page asks about."""

HALF = 0.5
"""The chance of either of two equally likely cases."""

SIZES = (2, 4)
"""Sizes of households that the page asks about."""

OPEN = {
    "the domain, the grid": "open_domain",
    "other releases about": "open_releases",
    "groups: ": "open_groups",
    "whether two releases with": "open_key",
    "whether two selections with": "open_key",
    "that at least one row": "open_row",
    "that the contribution allows": "open_sums",
    "taking part": "open_part",
    "further reports": "open_reports",
    "how a report came": "open_network",
}
"""How a card begins what is not protected, and the sentence that says it; others are quoted."""

ReachOf = Callable[[int], BeliefShift]
"""From a number of people who are alike to how far beliefs about them move."""


class Bound(Protocol):
    """Bound on how often a unit is counted, as a card states it."""

    @property
    def contribution(self) -> int:
        """The most that one unit adds to the sum of all counts."""

    @property
    def enforced(self) -> bool:
        """Whether geodp held it to that."""

    @property
    def layout(self) -> str:
        """Name and title of the layout that states it; empty where none does."""


def bound_sentence(page: Writer, said: Bound, unit: str) -> str:
    """Return how often a unit is counted at most, and who answers for it."""
    figures: dict[str, float | str] = {"unit": unit, "contribution": said.contribution}
    if said.enforced:
        return page.say("bound_enforced", **figures)
    if said.layout:
        return page.say("bound_layout", **figures, layout=printable(said.layout))
    return page.say("bound_vouched", **figures)


def factor_sentence(page: Writer, reach: BeliefShift) -> str:
    """Return the sentence on how much more likely anything becomes."""
    factor = math.exp(min(reach.shift, 700.0))
    if reach.chance:
        return page.say("factor_but", factor=factor, one_in=1 / reach.chance)
    return page.say("factor", factor=factor)


def beliefs_section(page: Writer, reach: BeliefShift, unit: str, kind: str) -> Section:
    """Return how far a belief about one unit moves.

    Where one is added or removed (kind ``"add"``), that is the belief that it was counted; of where
    it was see :func:`where_section`.
    """
    undecided = shift_belief(HALF, reach.shift)
    sentences = [
        page.say("beliefs_add" if kind == "add" else "beliefs_any", unit=unit),
        page.say("beliefs_half", half=HALF, least=undecided.least, most=undecided.most),
        page.say("beliefs_table"),
    ]
    if reach.chance:
        sentences.append(page.say("beliefs_but", one_in=1 / reach.chance))
    if kind != "add":
        sentences.append(page.say("beliefs_where", unit=unit))
    sentences += [page.say("beliefs_independent"), page.say("rounded")]
    return Section(page.say("heading_beliefs"), tuple(sentences), *_tabulate(page, reach))


def where_section(page: Writer, reach_of: ReachOf, unit: str) -> Section:
    """Return how far a belief about the place of one unit moves that is known to be counted.

    Where one is added or removed, another place of one that was counted is one removed and one
    added, so that a belief about it moves as that about two who are alike.
    """
    reach = reach_of(2)
    undecided = shift_belief(HALF, reach.shift)
    figures = {"half": HALF, "where_least": undecided.least, "where_most": undecided.most}
    sentences = [page.say("where", unit=unit), page.say("where_half", **figures)]
    if reach.chance:
        sentences.append(page.say("where_but", where_one_in=1 / reach.chance))
    heading = page.say("heading_where", unit=unit)
    return Section(heading, tuple(sentences), *_tabulate(page, reach))


def _tabulate(
    page: Writer, reach: BeliefShift
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the head and the rows of what chances before become afterwards."""
    rows = tuple(
        tuple(_percent(chance) for chance in shift_belief(prior, reach.shift)) for prior in PRIORS
    )
    return tuple(page.say(f"column_{name}") for name in ("before", "least", "most")), rows


def guess_section(page: Writer, reach: BeliefShift, question: str) -> Section:
    """Return how well the best guess does; ``question`` is what is guessed."""
    sentences = (
        question,
        page.say("guess_right", right=(1 + reach.advantage) / 2, half=HALF),
        page.say("guess_advantage", advantage=reach.advantage),
    )
    return Section(page.say("heading_guess"), sentences)


def households_section(page: Writer, reach_of: ReachOf, rule: str) -> Section:
    """Return how far beliefs move about people who are alike; ``rule`` says what adds up."""
    head = tuple(page.say(f"column_{name}") for name in ("people", "before", "most"))
    rows = tuple(
        (
            write_number(size),
            _percent(prior),
            _percent(shift_belief(prior, reach_of(size).shift).most),
        )
        for size in (1, *SIZES)
        for prior in PRIORS[1:2]
    )
    sentences = page.say("households"), page.say(rule)
    return Section(page.say("heading_households"), sentences, head, rows)


def open_section(
    page: Writer, lines: Sequence[str], charge: StatedCharge | None, unit: str, *own: str
) -> Section:
    """Return what is not protected, by the lines of a card, and what was spent.

    ``own`` names sentences that hold whatever the card says.
    """
    sentences = [page.say(name) for name in ("open_town", "open_others", *own)]
    for line in lines:
        names = [name for begins, name in OPEN.items() if line.startswith(begins)]
        quoted = {} if names else {"quoted": line}
        sentences.append(page.say(*(names or ["open_quoted"]), unit=unit, **quoted))
    sentences.append(_say_spent(page, charge))
    return Section(page.say("heading_open"), tuple(dict.fromkeys(sentences)))


def _say_spent(page: Writer, charge: StatedCharge | None) -> str:
    if charge is None:
        return page.say("spent_unknown")
    spent, cap = _write_loss(page, charge.spent), _write_loss(page, charge.cap)
    return page.say("spent", earlier=charge.earlier_releases, spent=spent, cap=cap)


def _write_loss(page: Writer, loss: StatedLoss) -> str:
    """Return a loss's measures with their exact values."""
    if isinstance(loss, ConcentratedLoss):
        return page.say("loss_rho", rho=loss.rho)
    if isinstance(loss, ApproximateLoss):
        return page.say("loss_delta", epsilon=loss.epsilon, delta=loss.delta)
    return page.say("loss_epsilon", epsilon=loss.epsilon)


def not_private_sections(page: Writer) -> tuple[Section, ...]:
    """Return the page of what is not private."""
    sentences = page.say("not_private"), page.say("nothing_holds")
    return (Section(page.say("heading_promise"), sentences),)


def _percent(chance: float) -> str:
    return f"{write_number(100 * chance)} %"
