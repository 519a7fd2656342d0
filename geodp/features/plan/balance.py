"""Notes on what the default's levels are good for on a grid, and what they make worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from geodp.accuracy.blocks import BlockError
from geodp.grid.grid import Grid
from geodp.mechanisms import METHODS, Mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms

SPARSE = 7
"""People in a cell on average, in standard errors of a cell, below which sums of many cells lose
most by the clamp where cells are measured alone."""

WORSE = 1.25
"""Ratio of a block's standard error to that of the paper's method above which a note is added."""


def describe_balance(
    grid: Grid,
    method: Mechanism,
    event: Measurement,
    terms: Terms,
    errors: Sequence[BlockError],
    people: float | None,
) -> list[str]:
    """Compare the default with what serves sums of many cells better; other methods have no notes.

    Parameters
    ----------
    grid : Grid
    method : Mechanism
    event : Measurement
    terms : Terms
        Those of the event.
    errors : sequence of BlockError
        Errors of the method, the total's first.
    people : float or None
        A public estimate of the sum of all counts.
    """
    if not isinstance(method, Pyramid) or method.setting != "auto" or method.chain:
        return []
    if len(method.levels(grid, gaussian=event.rho is not None).fanouts) == 1:
        return [] if people is None else [_describe_cells(people / grid.size, errors[-1])]
    paper = METHODS["topdown"]
    if paper.unsupported(grid) is not None:
        return []
    bounded = replace(terms, contribution=event.contribution)
    theirs = paper.block_errors(grid, paper.event(grid, bounded)) or ()
    pairs = zip(errors, theirs, strict=True)
    ratio, one, other = max(
        ((ours.standard_error / error.standard_error, ours, error) for ours, error in pairs),
        key=lambda found: found[0],
    )
    if ratio <= WORSE:
        return []
    return [
        f"Large aligned blocks are less accurate: those of {one.cells:,} cells have a standard "
        f"error of {one.standard_error:,.1f}, instead of {other.standard_error:,.1f} with topdown; "
        "for these use pyramid:setting=R."
    ]


def _describe_cells(mean: float, cell: BlockError) -> str:
    if mean < SPARSE * cell.standard_error:
        return (
            f"In this small domain single cells are measured. Each has {mean:,.1f} people on "
            "average, few compared with the noise: for sums of many cells, "
            "pyramid:setting=fine is better."
        )
    return (
        f"In this small domain single cells are measured. Each has {mean:,.1f} people on average, "
        "many compared with the noise, so this is suitable."
    )
