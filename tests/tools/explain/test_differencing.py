"""Seven questions about a class: exact answers tell a grade, noisy ones do not, by enumeration."""

import json
import math
import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner

from geodp.cli import geodp
from geodp.errors import UsageError
from geodp.tools.explain.bayes import beliefs
from geodp.tools.explain.differencing import (
    CLASS,
    QUESTIONS,
    TARGET,
    differencing,
    explain_differencing,
)
from tests.tools.explain.test_card import LONGEST, sentences

GROUPS = {
    "ask_all": lambda pupil: True,
    "ask_boys": lambda pupil: not pupil.girl,
    "ask_chess": lambda pupil: pupil.club == "chess",
    "ask_tennis": lambda pupil: pupil.club == "tennis",
    "ask_music": lambda pupil: pupil.club == "music",
    "ask_not_chess": lambda pupil: pupil.club != "chess",
    "ask_not_chess_not_target": lambda pupil: pupil.club != "chess" and pupil.name != "Chika",
}


def test_groups_are_what_the_sentences_say():
    for question, group in QUESTIONS:
        assert group == {i for i, pupil in enumerate(CLASS) if GROUPS[question](pupil)}
    target = CLASS[TARGET]
    assert [p.name for p in CLASS if p.girl and p.club == "music"] == [target.name] == ["Chika"]
    assert QUESTIONS[5][1] - QUESTIONS[6][1] == {TARGET}


@pytest.mark.parametrize("epsilon", ["1/10", 1, 5])
def test_exact_answers_tell_and_noisy_ones_do_not(epsilon):
    """By definition: all 256 classes, and the law of seven independent noises."""
    answers = differencing(epsilon)
    ways = np.array(list(product((0, 1), repeat=8)))
    counts = np.array([ways[:, sorted(group)].sum(axis=1) for _, group in QUESTIONS])
    exact = np.array([answer.exact for answer in answers])
    noisy = np.array([answer.noisy for answer in answers])
    fits = np.cumprod(counts == exact[:, None], axis=0).astype(bool)
    each = float(Fraction(epsilon)) / 7
    laws = np.exp(-each * np.abs(noisy[:, None] - counts)).cumprod(axis=0)
    for row, answer in enumerate(answers):
        assert answer.ways == fits[row].sum()
        assert answer.known == ways[fits[row], TARGET].mean()
        believed = laws[row] @ ways[:, TARGET] / laws[row].sum()
        assert answer.believed == pytest.approx(believed)
        bound = beliefs(epsilon, [0.5])[0]
        assert bound.least <= answer.believed <= bound.most
    assert [answer.known for answer in answers][-2:] == pytest.approx([5 / 6, 1])
    assert exact[-2] - exact[-1] == 1


def test_the_noise_is_that_of_its_law():
    """It is 0 for a large epsilon and wide for a small one."""
    wide, narrow = differencing("1/100"), differencing(50)
    assert all(answer.noisy == answer.exact for answer in narrow)
    assert np.mean([abs(answer.noisy - answer.exact) for answer in wide]) > 70 / math.log(100)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_page_is_short(language):
    page = explain_differencing(1, language)
    for text in sentences(page):
        for sentence in re.split(r"(?<=[.!?:;])\s+|(?<=。)", text):
            assert len(sentence.split() if language == "en" else sentence) <= LONGEST[language]
    assert page.sections[1].rows[-1][3] == "100 %"
    assert len(page.sections[1].rows) == 7


def test_the_command():
    done = CliRunner().invoke(geodp, ["explain", "--differencing", "--json"])
    document = json.loads(done.output)
    assert document["title"] == "What seven questions about a class reveal"
    assert len(document["sections"][1]["table"]) == 8
    text = CliRunner().invoke(geodp, ["explain", "--differencing", "--language", "ja"]).output
    assert "引き算" in text
    for wrong, said in (
        ([], "Name a RELEASE"),
        (["somewhere", "--differencing"], "Name a RELEASE"),
        (["somewhere", "--epsilon", "1"], "--epsilon goes with --differencing only"),
        (["--differencing", "--epsilon", "101"], "at most 100"),
    ):
        found = CliRunner().invoke(geodp, ["explain", *wrong]).exception
        assert isinstance(found, UsageError)
        assert said in str(found)
