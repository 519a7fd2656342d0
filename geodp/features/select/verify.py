"""Check that a written selection agrees with itself. Public data only."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, VerificationError
from geodp.features.select.card import Code, SelectionCard
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL
from geodp.grid.lattice import Lattice, parse_codes
from geodp.io.folder.kinds import Check
from geodp.io.verify.card import read_card, require
from geodp.io.verify.files import check_checksums, check_files, check_restricted
from geodp.io.verify.readback import grid_of
from geodp.io.verify.verify import run_checks
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.selected import rate_of


def _check_identity(folder: Path, card: SelectionCard) -> str:
    require(
        card.digest == card.release_id,
        Rule("selection-id-differs", "The release id is not that of the card."),
    )
    return f"{card.release_id}, of the card"


def _ask_guarantee(folder: Path, card: SelectionCard) -> str:
    """Check that the parameters follow from each other, and the words do not contradict them."""
    said = card.guarantee
    epsilon, sensitivity = Fraction(said.epsilon), Fraction(said.sensitivity)
    require(
        epsilon > 0 and sensitivity > 0,
        Rule("selection-budget-not-positive", "A budget and a sensitivity are above 0."),
    )
    require(
        math.isclose(float(epsilon), said.epsilon_decimal),
        Rule("selection-epsilon-differs", "epsilon is another number."),
    )
    alike = said.neighbours == ADD_REMOVE or not said.monotone
    require(
        alike,
        Rule("selection-monotone", "Where one person replaces another no utility is monotone."),
    )
    rate = rate_of(epsilon / said.rounds, sensitivity, said.monotone)
    require(
        rate == Fraction(said.rate),
        Rule("selection-rate-differs", "The rate is not that of budget, rounds and sensitivity."),
    )
    private = card.private is ("NOT PRIVATE" not in said.in_words + said.noise_key)
    require(
        private, Rule("selection-contradicts-itself", "The card contradicts itself on privacy.")
    )
    if card.false_hot_spots is not None:
        count = math.log(card.question.candidates) / float(rate)
        near = math.isclose(count, card.false_hot_spots.count)
        require(
            near, Rule("selection-hot-spots-differ", "The count of false hot spots is another.")
        )
    return said.in_words


def _ask_answers(folder: Path, card: SelectionCard) -> str:
    """There are as many as were asked for, each once, and they are candidates of the domain."""
    asked, chosen = card.question, card.chosen
    require(
        len(chosen) == asked.chosen <= asked.candidates,
        Rule("selection-answers-differ", "There are more or fewer answers."),
    )
    once = {tuple(sorted(one.items())) for one in chosen}
    require(len(once) == len(chosen), Rule("selection-answer-twice", "An answer is there twice."))
    said = f"{len(chosen)} of {asked.candidates:,} candidates, each once"
    if asked.name == "top" and _has_regions(card):
        return f"{said}; the regions are not here to look them up"
    candidates, sentence = ASK_OF[asked.name](grid_of(card.domain), card)
    require(
        candidates in (None, asked.candidates),
        Rule("selection-candidates-differ", "There are more or fewer candidates."),
    )
    return f"{said}; {sentence}"


def _has_regions(card: SelectionCard) -> bool:
    """Whether the answers are regions or units of a table, which is not in the folder."""
    by_region = card.domain.regions is not None
    return by_region and (card.question.level not in (None, CELL) or card.domain.has_units)


def _ask_top(grid: Grid, card: SelectionCard) -> tuple[int | None, str]:
    """Return how many cells or areas there are; codes and labels are theirs."""
    candidates: int | None = card.domain.cells
    if card.question.level not in (None, CELL):
        grid = Coarsening.of(grid, str(card.question.level)).grid
        candidates = None if card.domain.mask else grid.size  # a mask is not in the folder
    for column, place in _columns(grid):
        _require_codes(grid.places[place], [one.get(column) for one in card.chosen])
    for attribute in grid.attributes:
        known = all(one.get(attribute.name) in attribute.labels for one in card.chosen)
        require(known, Rule("selection-label-unknown", "A label is none of its attribute's."))
    return candidates, "codes lie in the extent"


def _ask_level(grid: Grid, card: SelectionCard) -> tuple[int | None, str]:
    """Return nothing; the level is one of the grid's."""
    (answer,) = card.chosen
    if card.domain.regions is None:
        Coarsening.of(grid, str(answer.get("level")))
    return None, "a level of the grid"


def _ask_quantile(grid: Grid, card: SelectionCard) -> tuple[int | None, str]:
    """Return how many positions there are; the answer is one, with its label."""
    (answer,) = card.chosen
    axis, index = card.question.axis, answer.get("index")
    require(
        axis in grid.axis_names and answer.get("axis") == axis,
        Rule("selection-axis-differs", "The axis is another."),
    )
    number = grid.axis_names.index(str(axis))
    known = isinstance(index, int) and 0 <= index < grid.shape[number]
    require(known, Rule("selection-position-outside", "The position lies outside of the axis."))
    for attribute in grid.attributes:
        label = attribute.labels[int(str(index))] if attribute.name == axis else None
        require(
            label in (None, answer.get("label")),
            Rule("selection-label-of-other-position", "The label is that of another position."),
        )
    return grid.shape[number], "a position of the axis"


def _ask_centre(grid: Grid, card: SelectionCard) -> tuple[int | None, str]:
    """Return how many cells the rectangle has; code, row and column are of one."""
    (answer,) = card.chosen
    (place,) = grid.places
    row, col = _require_codes(place, [answer.get("code")])
    require(
        (row[0], col[0]) == (answer.get("row"), answer.get("col")),
        Rule("selection-row-differs", "The row is another."),
    )
    return place.rows * place.cols, "a cell of the map"


ASK_OF: dict[str, Callable[[Grid, SelectionCard], tuple[int | None, str]]] = {
    "top": _ask_top,
    "level": _ask_level,
    "quantile": _ask_quantile,
    "median-centre": _ask_centre,
}


def _columns(grid: Grid) -> list[tuple[str, int]]:
    return [(column, number) for number, column in enumerate(grid.maps.codes)]


def _require_codes(place: Lattice, codes: list[Code | None]) -> NDArray[np.int64]:
    """Return the rows and columns of codes that lie in a map."""
    require(
        all(isinstance(code, str) for code in codes),
        Rule("selection-answer-without-code", "An answer has no code."),
    )
    index = np.asarray(parse_codes(place, [str(code) for code in codes]))
    row, col = index
    inside = (row >= 0) & (col >= 0) & (row < place.rows) & (col < place.cols)
    require(bool(np.all(inside)), Rule("selection-code-outside", "A code lies outside the extent."))
    return index


QUESTIONS: list[tuple[str, Callable[[Path, SelectionCard], str]]] = [
    ("checksums", check_checksums),
    ("files", check_files),
    ("release id", _check_identity),
    ("guarantee", _ask_guarantee),
    ("answers", _ask_answers),
    ("restricted", check_restricted),
]


def verify_selection(folder: Path) -> list[Check]:
    """Ask the public folder of a selection whether it agrees with itself, in the order asked."""
    try:
        card = read_card(folder)
    except VerificationError as error:
        return [Check("card", False, str(error))]
    assert isinstance(card, SelectionCard)
    first = Check("card", True, f"schema {card.schema}, release {card.release_id}")
    return [first, *run_checks(QUESTIONS, folder, card)]
