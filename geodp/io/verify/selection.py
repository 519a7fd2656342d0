"""Check that a written selection agrees with itself. Public data only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np

from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.lattice import parse_codes
from geodp.io.verify.card import require
from geodp.io.verify.readback import grid_of
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.selected import rate_of
from geodp.table.selected import Code, SelectionCard
from geodp.table.stated import StatedHierarchy


def _ask_identity(folder: Path, card: SelectionCard) -> str:
    require(card.digest == card.release_id, "The release id is not that of the card.")
    return f"{card.release_id}, of the card"


def _ask_guarantee(folder: Path, card: SelectionCard) -> str:
    """Check that the parameters follow from each other, and the words do not contradict them."""
    said = card.guarantee
    epsilon, sensitivity = Fraction(said.epsilon), Fraction(said.sensitivity)
    require(epsilon > 0 and sensitivity > 0, "A budget and a sensitivity are above 0.")
    require(math.isclose(float(epsilon), said.epsilon_decimal), "epsilon is another number.")
    alike = said.neighbours == ADD_REMOVE or not said.monotone
    require(alike, "Where one person replaces another no utility is monotone.")
    rate = rate_of(epsilon / said.rounds, sensitivity, said.monotone)
    require(rate == Fraction(said.rate), "The rate is not that of budget, rounds and sensitivity.")
    private = card.private is ("NOT PRIVATE" not in said.in_words + said.noise_key)
    require(private, "The card contradicts itself on privacy.")
    if card.false_hot_spots is not None:
        count = math.log(card.question.candidates) / float(rate)
        near = math.isclose(count, card.false_hot_spots.count)
        require(near, "The count of false hot spots is another.")
    return said.in_words


def _ask_answers(folder: Path, card: SelectionCard) -> str:
    """There are as many as were asked for, each once, and codes lie in the domain."""
    asked, chosen = card.question, card.chosen
    require(len(chosen) == asked.chosen <= asked.candidates, "There are more or fewer answers.")
    once = {tuple(sorted(one.items())) for one in chosen}
    require(len(once) == len(chosen), "An answer is there twice.")
    said = f"{len(chosen)} of {asked.candidates:,} candidates, each once"
    if asked.name in ("level", "quantile") or not chosen:
        return said
    grid = grid_of(card.domain)
    if isinstance(card.domain.order, StatedHierarchy) and asked.level is not None:
        return f"{said}; the regions are not here to look them up"
    if asked.level is not None:
        grid = Coarsening.of(grid, asked.level).grid
    for column, place in _columns(grid):
        row, col = parse_codes(grid.places[place], [_text(one, column) for one in chosen])
        inside = (row >= 0) & (col >= 0)
        inside &= (row < grid.places[place].rows) & (col < grid.places[place].cols)
        require(bool(np.all(inside)), "A code lies outside the extent.")
    for attribute in grid.attributes if asked.name == "top" else ():
        known = all(one.get(attribute.name) in attribute.labels for one in chosen)
        require(known, "A label is none of its attribute's.")
    return f"{said}; codes lie in the extent"


def _columns(grid: Grid) -> list[tuple[str, int]]:
    if len(grid.places) == 2:
        return [("origin", 0), ("destination", 1)]
    return [("code", 0)] if grid.places else []


def _text(answer: Mapping[str, Code], column: str) -> str:
    found = answer.get(column)
    require(isinstance(found, str), "An answer has no code.")
    return str(found)


SELECTION_QUESTIONS: list[tuple[str, Callable[[Path, SelectionCard], str]]] = [
    ("release id", _ask_identity),
    ("guarantee", _ask_guarantee),
    ("answers", _ask_answers),
]
