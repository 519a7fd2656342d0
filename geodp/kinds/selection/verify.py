"""Verify that a written selection is consistent, from public data only.

A card follows from its budget, its question and its domain: it is made again and compared, field by
field. Whether the answers are candidates is looked up in the domain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import Rule, VerificationError
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL
from geodp.grid.lattice import parse_codes
from geodp.io.folder.kinds import Check
from geodp.io.verify.card import read_card, require
from geodp.io.verify.files import check_checksums, check_files, check_restricted
from geodp.io.verify.readback import grid_of
from geodp.io.verify.statements import has_words_of, require_charge, require_same
from geodp.io.verify.verify import run_checks
from geodp.kinds.selection.card import QuestionInfo, SelectionCard
from geodp.kinds.selection.mechanisms import SELECTORS
from geodp.kinds.selection.question import Quantile, Question, Top
from geodp.kinds.selection.selected import Selected
from geodp.privacy.loss import PureDP
from geodp.privacy.selected import Selection
from geodp.privacy.terms import Terms
from geodp.table.plain import write_plain
from geodp.table.stated.domain import StatedDomain

STATED_ALONE = ("software", "budget", "release_id")
"""Fields that do not follow from others, or that other questions compare."""


def _check_identity(folder: Path, card: SelectionCard) -> str:
    require(
        card.digest == card.release_id,
        Rule("selection-id-differs", "The release id is not that of the card."),
    )
    return f"{card.release_id}, of the card"


def _check_guarantee(folder: Path, card: SelectionCard) -> str:
    """Check that all figures and sentences follow from budget, question and domain."""
    guarantee, worded = card.guarantee, has_words_of(card.software, card.mechanism.noise_format)
    # The flag must agree with the sentences, which is what most readers see.
    require(
        card.private is ("NOT PRIVATE" not in guarantee.in_words + guarantee.noise_key),
        Rule("selection-contradicts-itself", "The card contradicts itself on privacy."),
    )
    own = _rebuild(card)
    require_charge(card.budget, own.event.unit, own.event.neighbours, own.event.loss)
    # Files of a mask and of regions are not here.
    is_whole = not (card.domain.mask or card.domain.regions)
    domain = StatedDomain.of(own.grid) if is_whole else card.domain
    made = own.state(domain, card.question.candidates)
    # The last sentences tell how the table was read, which is in no file.
    facts = guarantee.not_protected[len(made.guarantee.not_protected) :]
    made = replace(own, public_facts=facts).state(domain, card.question.candidates)
    stated, expected = (
        {name: one for name, one in write_plain(each).items() if name not in STATED_ALONE}
        for each in (card, made)
    )
    for plain in (stated, expected):
        # Earlier versions listed no assumptions, of which one is on the mask or the regions.
        if not is_whole or guarantee.assumptions is None:
            plain["guarantee"].pop("assumptions", None)
        if not worded:
            plain.pop("mechanism")
    require_same(stated, expected, "card", worded=worded)
    return guarantee.in_words


def _rebuild(card: SelectionCard) -> Selected:
    """Return the selection of a card, on the grid without its mask and regions."""
    guarantee, name = card.guarantee, card.mechanism.name
    require(
        card.software.name == "geodp" and name in SELECTORS,
        Rule("selection-mechanism-unknown", "geodp has no such mechanism of selections."),
    )
    terms = Terms(
        PureDP(Fraction(guarantee.epsilon)),
        guarantee.neighbours,
        guarantee.contribution,
        guarantee.enforced,
        guarantee.unit,
        layout=guarantee.layout,
    )
    question = _rebuild_question(card.question)
    asked = f"select-{question.name}:{name}", terms, question.change, question.rounds
    event = Selection.of(*asked, guarantee.key_origin)
    return Selected(grid_of(card.domain), question, SELECTORS[name], event, card.chosen)


def _rebuild_question(stated: QuestionInfo) -> Question:
    """Return the question of a card."""
    if stated.name == "top":
        return Top(stated.chosen, stated.level)
    require(
        stated.q is not None,
        Rule("selection-setting-missing", "The card leaves out a setting of the question."),
    )
    return Quantile(Fraction(str(stated.q)), str(stated.axis))


def _check_answers(folder: Path, card: SelectionCard) -> str:
    """Check that answers are as many as requested, distinct, and candidates of the domain."""
    question, chosen, domain = card.question, card.chosen, card.domain
    require(
        len(chosen) == question.chosen <= question.candidates,
        Rule("selection-answers-differ", "There are more or fewer answers."),
    )
    # The order of columns in an answer is of no meaning.
    distinct = {tuple(sorted(answer.items())) for answer in chosen}
    require(len(distinct) == len(chosen), Rule("selection-answer-twice", "An answer is repeated."))
    summary = f"{len(chosen)} of {question.candidates:,} candidates, each once"
    by_region = question.level not in (None, CELL) or domain.has_units
    if question.name == "top" and domain.regions is not None and by_region:
        return f"{summary}; the regions are not here to look them up"
    candidates, sentence = ANSWER_CHECKS[question.name](grid_of(domain), card)
    require(
        candidates in (None, question.candidates),
        Rule("selection-candidates-differ", "There are more or fewer candidates."),
    )
    return f"{summary}; {sentence}"


def _check_top(grid: Grid, card: SelectionCard) -> tuple[int | None, str]:
    """Check codes and labels of cells or areas; return the number of candidates."""
    candidates: int | None = card.domain.cells
    if card.question.level not in (None, CELL):
        grid = Coarsening.of(grid, str(card.question.level)).grid
        # The mask is not in the folder, so the number of its coarser cells is unknown.
        candidates = None if card.domain.mask else grid.size
    for place, column in zip(grid.places, grid.maps.codes, strict=True):
        codes: list[Any] = [answer.get(column) for answer in card.chosen]
        require(
            all(isinstance(code, str) for code in codes),
            Rule("selection-answer-without-code", "An answer has no code."),
        )
        at, size = parse_codes(place, codes), [[place.rows], [place.cols]]
        require(
            bool(((np.asarray(at) >= 0) & (at < np.array(size))).all()),
            Rule("selection-code-outside", "A code lies outside the extent."),
        )
    for attribute in grid.attributes:
        is_label = all(answer.get(attribute.name) in attribute.labels for answer in card.chosen)
        require(is_label, Rule("selection-label-unknown", "A label is not one of its attribute."))
    return candidates, "codes lie in the extent"


def _check_quantile(grid: Grid, card: SelectionCard) -> tuple[int | None, str]:
    """Check that the answer is a position, with its label; return the number of positions."""
    (answer,) = card.chosen
    axis, index = card.question.axis, answer.get("index")
    require(
        axis in grid.axis_names and answer.get("axis") == axis,
        Rule("selection-axis-differs", "The axis is another."),
    )
    size = grid.shape[grid.axis_names.index(str(axis))]
    require(
        isinstance(index, int) and 0 <= index < size,
        Rule("selection-position-outside", "The position lies outside of the axis."),
    )
    for attribute in grid.attributes:
        label = attribute.labels[int(str(index))] if attribute.name == axis else None
        require(
            label in (None, answer.get("label")),
            Rule("selection-label-of-other-position", "The label is that of another position."),
        )
    return size, "a position of the axis"


ANSWER_CHECKS: dict[str, Callable[[Grid, SelectionCard], tuple[int | None, str]]] = {
    "top": _check_top,
    "quantile": _check_quantile,
}

CHECKS: list[tuple[str, Callable[[Path, SelectionCard], str]]] = [
    ("checksums", check_checksums),
    ("files", check_files),
    ("release id", _check_identity),
    ("guarantee", _check_guarantee),
    ("answers", _check_answers),
    ("restricted", check_restricted),
]


def verify_selection(folder: Path) -> list[Check]:
    """Verify the public folder of a selection: all checks, in their order."""
    try:
        card = read_card(folder)
    except VerificationError as error:
        return [Check("card", False, str(error))]
    # read_card chooses the class by the schema, and this check runs for selections only.
    assert isinstance(card, SelectionCard)
    first = Check("card", True, f"schema {card.schema}, release {card.release_id}")
    return [first, *run_checks(CHECKS, folder, card)]
