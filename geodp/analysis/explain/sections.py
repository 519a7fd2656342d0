"""What any guarantee means for those who guess: sections that releases and audits share."""

from __future__ import annotations

import math
from collections.abc import Callable

from geodp.analysis.explain.bayes import shift_belief
from geodp.analysis.explain.page import Section, Writer, write_number
from geodp.analysis.explain.reach import Reach

PRIORS = (0.01, 0.1, 0.5)
"""Chances before that the page asks about."""

HALF = 0.5
"""The chance of either of two equally likely cases."""

SIZES = (2, 4)
"""Sizes of households that the page asks about."""

ReachOf = Callable[[int], Reach]
"""From a number of people who are alike to how far beliefs about them move."""


def say_factor(page: Writer, reach: Reach) -> str:
    """Return the sentence on how much more likely anything becomes."""
    factor = math.exp(min(reach.shift, 700.0))
    if reach.chance:
        return page.say("factor_but", factor=factor, one_in=1 / reach.chance)
    return page.say("factor", factor=factor)


def tell_beliefs(page: Writer, reach: Reach, unit: str) -> Section:
    """Return how far a belief about one unit moves."""
    sentences = [page.say("beliefs", unit=unit), page.say("beliefs_table")]
    if reach.chance:
        sentences.append(page.say("beliefs_but", one_in=1 / reach.chance))
    sentences.append(page.say("beliefs_independent"))
    rows = tuple(
        tuple(_percent(chance) for chance in shift_belief(prior, reach.shift)) for prior in PRIORS
    )
    head = tuple(page.say(f"column_{name}") for name in ("before", "least", "most"))
    return Section(page.say("heading_beliefs"), tuple(sentences), head, rows)


def tell_guess(page: Writer, reach: Reach, question: str) -> Section:
    """Return how well the best guess does; ``question`` is what is guessed."""
    sentences = (
        question,
        page.say("guess_right", right=(1 + reach.advantage) / 2, half=HALF),
        page.say("guess_advantage", advantage=reach.advantage),
    )
    return Section(page.say("heading_guess"), sentences)


def tell_households(page: Writer, reach_of: ReachOf, rule: str) -> Section:
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


def _percent(chance: float) -> str:
    return f"{write_number(100 * chance)} %"
