"""Seven questions about a class: what exact answers reveal together, and what noisy ones do.

Each question counts pupils, and none names anybody. The sixth and the seventh differ by one pupil,
so that the difference of their exact answers is that pupil's grade. With noise of the discrete
Laplace law on every answer, nobody learns more than epsilon allows, whatever is subtracted.

What somebody may believe is worked out by Bayes' rule over all ways in which the grades could be
distributed; each pupil has the grade with the same chance before, independently of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import NamedTuple

from geodp.errors import UsageError
from geodp.features.explain.bayes import beliefs
from geodp.features.explain.page import Explanation, Section, Writer, write_number
from geodp.privacy.budget import Budget, rational


class Pupil(NamedTuple):
    """A pupil of the made-up class; the grade alone is secret."""

    name: str
    girl: bool
    club: str
    top: bool


CLASS = (
    Pupil("Aoi", True, "chess", True),
    Pupil("Ben", False, "chess", False),
    Pupil("Chika", True, "music", True),
    Pupil("Dan", False, "music", False),
    Pupil("Emi", True, "tennis", True),
    Pupil("Finn", False, "tennis", False),
    Pupil("Goro", False, "chess", True),
    Pupil("Hana", True, "chess", False),
)
"""Eight pupils, of whom four have the top grade."""

TARGET = 2
"""The pupil whom the sixth and the seventh question tell apart: Chika, the only girl in music."""

PRIOR = 0.5
"""Chance of a top grade that somebody gives each pupil before any answer."""

QUESTIONS: tuple[tuple[str, frozenset[int]], ...] = (
    ("ask_all", frozenset(range(8))),
    ("ask_boys", frozenset({1, 3, 5, 6})),
    ("ask_chess", frozenset({0, 1, 6, 7})),
    ("ask_tennis", frozenset({4, 5})),
    ("ask_music", frozenset({2, 3})),
    ("ask_not_chess", frozenset({2, 3, 4, 5})),
    ("ask_not_chess_not_target", frozenset({3, 4, 5})),
)
"""Names of sentences, and which pupils each counts those with the top grade of."""

SEED = 1
"""Of the example's noise, so that the page is the same on every run; a release has a secret key."""


@dataclass(frozen=True)
class Answer:
    """A question's answers and what they make somebody believe.

    Attributes
    ----------
    question : str
        Name of its sentence.
    exact, noisy : int
    ways : int
        In how many ways the grades may be distributed after all exact answers so far.
    known, believed : float
        Chance that the target has the top grade, after the exact and the noisy answers so far.
    """

    question: str
    exact: int
    noisy: int
    ways: int
    known: float
    believed: float


def differencing(epsilon: Budget = 1) -> tuple[Answer, ...]:
    """Answer the seven questions exactly and with noise, and say what follows from each.

    Parameters
    ----------
    epsilon : number or str
        Of all seven answers together; each has a seventh of it. One pupil's grade changes each
        count by 1 at most.

    Returns
    -------
    tuple of Answer
        In the order of the questions.

    Examples
    --------
    >>> answers = differencing(1)
    >>> [answer.exact for answer in answers][-2:], answers[-1].known
    ([2, 1], 1.0)
    >>> round(answers[-1].believed, 2)
    0.49
    """
    shrink = math.exp(-rational(epsilon) / len(QUESTIONS))
    rng = Random(SEED)
    ways = list(product((False, True), repeat=len(CLASS)))
    weights = [1.0] * len(ways)
    possible = [True] * len(ways)
    answers = []
    for question, group in QUESTIONS:
        exact = sum(CLASS[pupil].top for pupil in group)
        noisy = exact + _geometric(rng, shrink) - _geometric(rng, shrink)
        for number, way in enumerate(ways):
            count = sum(way[pupil] for pupil in group)
            weights[number] *= shrink ** abs(noisy - count)
            possible[number] &= count == exact
        left = [way for way, may in zip(ways, possible, strict=True) if may]
        known = sum(way[TARGET] for way in left) / len(left)
        holds = sum(w for w, way in zip(weights, ways, strict=True) if way[TARGET])
        answers.append(Answer(question, exact, noisy, len(left), known, holds / sum(weights)))
    return tuple(answers)


def _geometric(rng: Random, ratio: float) -> int:
    """Draw how often a coin with this chance comes up in a row.

    The difference of two is a draw of the discrete Laplace law. For teaching: releases draw theirs
    from whole numbers, exactly.
    """
    return math.floor(math.log(1 - rng.random()) / math.log(ratio))


def explain_differencing(epsilon: Budget = 1, language: str = "en") -> Explanation:
    """Tell in plain words what the seven questions reveal.

    Parameters
    ----------
    epsilon : number or str
        Of the noisy answers together.
    language : {"en", "ja"}

    Raises
    ------
    UsageError
        An epsilon above 100, with which noisy answers are exact, or another language.

    Examples
    --------
    >>> explain_differencing(1).title
    'What seven questions about a class reveal'
    """
    exact = rational(epsilon)
    if exact > 100:
        raise UsageError(
            "epsilon is at most 100 here; answers with more have no noise to speak of.",
            code="epsilon-without-noise",
        )
    page = Writer(language)
    answers = differencing(exact)
    last, bound = answers[-1], beliefs(exact, [PRIOR])[0]
    setting = Section(
        page.say("heading_class"),
        (
            page.say("class_known", pupils=len(CLASS)),
            page.say("class_target", name=CLASS[TARGET].name),
        ),
    )
    rows = tuple(
        (
            page.say(one.question, name=CLASS[TARGET].name),
            *(str(one.exact), str(one.ways), f"{write_number(100 * one.known)} %"),
            *(str(one.noisy), f"{write_number(100 * one.believed)} %"),
        )
        for one in answers
    )
    columns = ("question", "exact", "ways", "known", "noisy", "believed")
    told = Section(
        page.say("heading_questions"),
        (page.say("questions_table", name=CLASS[TARGET].name),),
        tuple(page.say(f"column_{name}") for name in columns),
        rows,
    )
    result = Section(
        page.say("heading_subtracted"),
        (
            page.say(
                "subtracted_exact",
                sixth=answers[-2].exact,
                seventh=last.exact,
                name=CLASS[TARGET].name,
            ),
            page.say("subtracted_noisy", sixth=answers[-2].noisy, seventh=last.noisy),
            page.say("subtracted_bound", epsilon=float(exact), prior=PRIOR, most=bound.most),
        ),
    )
    title = page.say("title_differencing")
    return Explanation(language, title, (setting, told, result, page.list_words()), page.figures)
