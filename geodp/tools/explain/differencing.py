"""Show a differencing attack: seven questions about a class, answered exactly and with noise.

Each question counts pupils, and none names anybody. The sixth and the seventh differ by one pupil,
so that the difference of their exact answers is that pupil's grade. With discrete Laplace noise on
every answer, nobody learns more than epsilon allows, whatever is subtracted.

Beliefs are computed by Bayes' rule over all possible assignments of grades; before any answer each
pupil has the top grade with the same probability, independently of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import NamedTuple

from geodp.errors import UsageError
from geodp.privacy.loss import Budget, rational
from geodp.tools.explain.bayes import beliefs
from geodp.tools.explain.page import Explanation, Section, Writer, write_number


class Pupil(NamedTuple):
    """A pupil of the fictitious class; only the grade is secret."""

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
"""Index of the pupil by whom the last two questions differ: Chika, the only girl in music."""

PRIOR = 0.5
"""Probability of a top grade for each pupil before any answer."""

QUESTIONS: tuple[tuple[str, frozenset[int]], ...] = (
    ("ask_all", frozenset(range(8))),
    ("ask_boys", frozenset({1, 3, 5, 6})),
    ("ask_chess", frozenset({0, 1, 6, 7})),
    ("ask_tennis", frozenset({4, 5})),
    ("ask_music", frozenset({2, 3})),
    ("ask_not_chess", frozenset({2, 3, 4, 5})),
    ("ask_not_chess_not_target", frozenset({3, 4, 5})),
)
"""Names of sentences, and indices of the pupils among whom each question counts top grades."""

SEED = 1
"""Fixes the example's noise, so that the page is always the same; a release has a secret key."""


@dataclass(frozen=True)
class Answer:
    """The answers to a question, and what somebody can conclude from all answers so far.

    Attributes
    ----------
    question : str
        Name of its sentence.
    exact, noisy : int
    ways : int
        Number of assignments of grades that agree with all exact answers so far.
    known, believed : float
        Probability that the target has the top grade, after the exact and after the noisy answers.
    """

    question: str
    exact: int
    noisy: int
    ways: int
    known: float
    believed: float


def differencing(epsilon: Budget = 1) -> tuple[Answer, ...]:
    """Answer the seven questions exactly and with noise, and update the beliefs after each.

    Parameters
    ----------
    epsilon : number or str
        Loss of all seven answers together; each has a seventh of it. The grade of one pupil
        changes each count by at most 1.

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
    # 2^8 assignments are few enough to enumerate, so the posteriors are exact.
    ways = list(product((False, True), repeat=len(CLASS)))
    weights = [1.0] * len(ways)
    possible = [True] * len(ways)
    answers = []
    for question, group in QUESTIONS:
        exact = sum(CLASS[pupil].top for pupil in group)
        noisy = exact + _geometric(rng, shrink) - _geometric(rng, shrink)
        for number, way in enumerate(ways):
            count = sum(way[pupil] for pupil in group)
            # Likelihood of the noisy answer, up to a factor that all assignments share.
            weights[number] *= shrink ** abs(noisy - count)
            possible[number] &= count == exact
        left = [way for way, may in zip(ways, possible, strict=True) if may]
        known = sum(way[TARGET] for way in left) / len(left)
        holds = sum(w for w, way in zip(weights, ways, strict=True) if way[TARGET])
        answers.append(Answer(question, exact, noisy, len(left), known, holds / sum(weights)))
    return tuple(answers)


def _geometric(rng: Random, ratio: float) -> int:
    """Draw from the geometric distribution with this ratio.

    The difference of two draws has the discrete Laplace distribution. For teaching only: it uses
    floating point, and releases sample exactly from integers.
    """
    return math.floor(math.log(1 - rng.random()) / math.log(ratio))


def explain_differencing(epsilon: Budget = 1, language: str = "en") -> Explanation:
    """Explain what the seven questions reveal.

    Parameters
    ----------
    epsilon : number or str
        Loss of all noisy answers together.
    language : {"en", "ja"}

    Raises
    ------
    UsageError
        For an epsilon above 100, with which noisy answers are exact, or another language.

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
        page.write("heading_class"),
        (
            page.write("class_known", pupils=len(CLASS)),
            page.write("class_target", name=CLASS[TARGET].name),
        ),
    )
    rows = tuple(
        (
            page.write(one.question, name=CLASS[TARGET].name),
            *(str(one.exact), str(one.ways), f"{write_number(100 * one.known)} %"),
            *(str(one.noisy), f"{write_number(100 * one.believed)} %"),
        )
        for one in answers
    )
    columns = ("question", "exact", "ways", "known", "noisy", "believed")
    questions = Section(
        page.write("heading_questions"),
        (page.write("questions_table", name=CLASS[TARGET].name),),
        tuple(page.write(f"column_{name}") for name in columns),
        rows,
    )
    result = Section(
        page.write("heading_subtracted"),
        (
            page.write(
                "subtracted_exact",
                sixth=answers[-2].exact,
                seventh=last.exact,
                name=CLASS[TARGET].name,
            ),
            page.write("subtracted_noisy", sixth=answers[-2].noisy, seventh=last.noisy),
            page.write("subtracted_bound", epsilon=float(exact), prior=PRIOR, most=bound.most),
        ),
    )
    title = page.write("title_differencing")
    return Explanation(
        language, title, (setting, questions, result, page.write_glossary()), page.figures
    )
