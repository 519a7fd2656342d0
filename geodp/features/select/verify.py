"""Verify that a written selection is consistent, from public data only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from geodp.errors import Rule, VerificationError
from geodp.features.select.card import Code, QuestionInfo, SelectionCard
from geodp.features.select.hot_spots import Top
from geodp.features.select.mechanisms import SELECTORS
from geodp.features.select.quantiles import Quantile
from geodp.features.select.question import Question
from geodp.features.select.selected import Selected
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL
from geodp.grid.lattice import Lattice, parse_codes
from geodp.io.folder.kinds import Check
from geodp.io.verify.card import read_card, require
from geodp.io.verify.files import check_checksums, check_files, check_restricted
from geodp.io.verify.readback import grid_of
from geodp.io.verify.statements import has_words_of, require_charge, require_same
from geodp.io.verify.verify import run_checks
from geodp.privacy.neighbours import ADD_REMOVE, REPLACE
from geodp.privacy.selected import Selection, rate_of
from geodp.table.plain import write_plain


def _check_identity(folder: Path, card: SelectionCard) -> str:
    require(
        card.digest == card.release_id,
        Rule("selection-id-differs", "The release id is not that of the card."),
    )
    return f"{card.release_id}, of the card"


def _check_guarantee(folder: Path, card: SelectionCard) -> str:
    """Check that the parameters follow from each other, and that the text agrees with them."""
    guarantee = card.guarantee
    epsilon, sensitivity = Fraction(guarantee.epsilon), Fraction(guarantee.sensitivity)
    require(
        epsilon > 0 and sensitivity > 0,
        Rule("selection-budget-not-positive", "A budget and a sensitivity must be above 0."),
    )
    require(
        math.isclose(float(epsilon), guarantee.epsilon_decimal),
        Rule("selection-epsilon-differs", "epsilon is another number."),
    )
    consistent = guarantee.neighbours == ADD_REMOVE or not guarantee.monotone
    require(
        consistent,
        Rule("selection-monotone", "Where one person replaces another no utility is monotone."),
    )
    _require_change(card)
    rate = rate_of(epsilon / guarantee.rounds, sensitivity, guarantee.monotone)
    require(
        rate == Fraction(guarantee.rate),
        Rule("selection-rate-differs", "The rate is not that of budget, rounds and sensitivity."),
    )
    # The flag must agree with the sentences, which is what most readers see.
    private = card.private is ("NOT PRIVATE" not in guarantee.in_words + guarantee.noise_key)
    require(
        private, Rule("selection-contradicts-itself", "The card contradicts itself on privacy.")
    )
    if card.false_hot_spots is not None:
        count = math.log(card.question.candidates) / float(rate)
        is_close = math.isclose(count, card.false_hot_spots.count)
        require(
            is_close, Rule("selection-hot-spots-differ", "The count of false hot spots is another.")
        )
    _require_statements(card)
    return guarantee.in_words


def _require_statements(card: SelectionCard) -> None:
    """Require the charge and all sentences to follow from guarantee, question and domain."""
    guarantee, mechanism = card.guarantee, card.mechanism
    event = _rebuild_event(card)
    require_charge(card.budget, event.unit, event.neighbours, event.loss)
    require(
        card.software.name == "geodp" and mechanism.name in SELECTORS,
        Rule("selection-mechanism-unknown", "geodp has no such mechanism of selections."),
    )
    # Another version has other words; the numbers are compared above.
    if _has_regions(card) or not has_words_of(card.software, mechanism.noise_format):
        return
    question, selector = _rebuild_question(card.question), SELECTORS[mechanism.name]
    own = Selected(grid_of(card.domain), question, selector, event, card.chosen)
    # The last sentences tell how the table was read, which is in no file.
    facts = guarantee.not_protected[len(own.card().guarantee.not_protected) :]
    stated, expected = (write_plain(one) for one in (card, replace(own, public_facts=facts).card()))
    # The answers and their number are compared with the domain, and so is the count of hot spots.
    left_out = {"release_id", "budget", "chosen"}
    for plain in (stated, expected):
        plain["question"] = plain["question"] | {"chosen": 0, "candidates": 0}
        plain["false_hot_spots"] = plain["false_hot_spots"] and plain["false_hot_spots"]["meaning"]
        # The files of a mask and of regions are not here.
        if card.domain.mask is not None or card.domain.regions is not None:
            left_out.add("domain")
            plain["guarantee"] = plain["guarantee"] | {"assumptions": None}
    stated, expected = (
        {name: one for name, one in plain.items() if name not in left_out}
        for plain in (stated, expected)
    )
    require_same(stated, expected, "card")


def _rebuild_event(card: SelectionCard) -> Selection:
    """Return the event of a card."""
    guarantee = card.guarantee
    return Selection(
        f"select-{card.question.name}:{card.mechanism.name}",
        Fraction(guarantee.epsilon),
        guarantee.neighbours,
        guarantee.contribution,
        guarantee.enforced,
        guarantee.unit,
        guarantee.key_origin,
        Fraction(guarantee.sensitivity),
        guarantee.monotone,
        guarantee.rounds,
        guarantee.layout,
    )


def _require_change(card: SelectionCard) -> None:
    """Require rounds and sensitivity to be those of the question, by which the rate is reckoned."""
    guarantee, question = card.guarantee, _rebuild_question(card.question)
    moves, change = guarantee.neighbours == REPLACE, question.change
    require(
        guarantee.rounds == question.rounds,
        Rule("selection-rounds-differ", "The question takes more or fewer rounds."),
    )
    require(
        Fraction(guarantee.sensitivity)
        == guarantee.contribution * (change.moved if moves else change.added),
        Rule(
            "selection-sensitivity-differs",
            "The sensitivity is not that of the question, the contribution and the neighbours.",
        ),
    )
    require(
        guarantee.monotone is (change.monotone and not moves),
        Rule("selection-monotone-differs", "The utilities of this question change otherwise."),
    )


def _rebuild_question(stated: QuestionInfo) -> Question:
    """Return the question of a card."""
    axis = str(stated.axis)
    if stated.name == "top":
        return Top(stated.chosen, stated.level)
    require(
        stated.q is not None,
        Rule("selection-setting-missing", "The card leaves out a setting of the question."),
    )
    return Quantile(Fraction(str(stated.q)), axis)


def _check_answers(folder: Path, card: SelectionCard) -> str:
    """Check that answers are as many as requested, distinct, and candidates of the domain."""
    question, chosen = card.question, card.chosen
    require(
        len(chosen) == question.chosen <= question.candidates,
        Rule("selection-answers-differ", "There are more or fewer answers."),
    )
    # The order of columns in an answer is of no meaning.
    distinct = {tuple(sorted(answer.items())) for answer in chosen}
    require(len(distinct) == len(chosen), Rule("selection-answer-twice", "An answer is repeated."))
    summary = f"{len(chosen)} of {question.candidates:,} candidates, each once"
    if question.name == "top" and _has_regions(card):
        return f"{summary}; the regions are not here to look them up"
    candidates, sentence = ANSWER_CHECKS[question.name](grid_of(card.domain), card)
    require(
        candidates in (None, question.candidates),
        Rule("selection-candidates-differ", "There are more or fewer candidates."),
    )
    return f"{summary}; {sentence}"


def _has_regions(card: SelectionCard) -> bool:
    """Return whether the answers are regions or units of a table, which is not in the folder."""
    by_region = card.domain.regions is not None
    return by_region and (card.question.level not in (None, CELL) or card.domain.has_units)


def _check_top(grid: Grid, card: SelectionCard) -> tuple[int | None, str]:
    """Check codes and labels of cells or areas; return the number of candidates."""
    candidates: int | None = card.domain.cells
    if card.question.level not in (None, CELL):
        grid = Coarsening.of(grid, str(card.question.level)).grid
        # The mask is not in the folder, so the number of its coarser cells is unknown.
        candidates = None if card.domain.mask else grid.size
    for column, place in _columns(grid):
        _require_codes(grid.places[place], [answer.get(column) for answer in card.chosen])
    for attribute in grid.attributes:
        is_label = all(answer.get(attribute.name) in attribute.labels for answer in card.chosen)
        require(is_label, Rule("selection-label-unknown", "A label is not one of its attribute."))
    return candidates, "codes lie in the extent"


def _check_quantile(grid: Grid, card: SelectionCard) -> tuple[int | None, str]:
    """Check that the answer is a position, with its label; return the number of positions."""
    (answer,) = card.chosen
    return _require_position(grid, card, answer), "a position of the axis"


def _require_position(grid: Grid, card: SelectionCard, answer: Mapping[str, Code]) -> int:
    """Require that an answer is a position, with its label; return the number of positions."""
    axis, index = card.question.axis, answer.get("index")
    require(
        axis in grid.axis_names and answer.get("axis") == axis,
        Rule("selection-axis-differs", "The axis is another."),
    )
    number = grid.axis_names.index(str(axis))
    is_position = isinstance(index, int) and 0 <= index < grid.shape[number]
    require(
        is_position, Rule("selection-position-outside", "The position lies outside of the axis.")
    )
    for attribute in grid.attributes:
        label = attribute.labels[int(str(index))] if attribute.name == axis else None
        require(
            label in (None, answer.get("label")),
            Rule("selection-label-of-other-position", "The label is that of another position."),
        )
    return grid.shape[number]


ANSWER_CHECKS: dict[str, Callable[[Grid, SelectionCard], tuple[int | None, str]]] = {
    "top": _check_top,
    "quantile": _check_quantile,
}


def _columns(grid: Grid) -> list[tuple[str, int]]:
    return [(column, number) for number, column in enumerate(grid.maps.codes)]


def _require_codes(place: Lattice, codes: list[Code | None]) -> None:
    """Parse the rows and columns of codes, and require that they lie in a map."""
    require(
        all(isinstance(code, str) for code in codes),
        Rule("selection-answer-without-code", "An answer has no code."),
    )
    row, col = np.asarray(parse_codes(place, [str(code) for code in codes]))
    inside = (row >= 0) & (col >= 0) & (row < place.rows) & (col < place.cols)
    require(bool(np.all(inside)), Rule("selection-code-outside", "A code lies outside the extent."))


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
