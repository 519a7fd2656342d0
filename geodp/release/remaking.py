"""Compute a written release again from its table and the facts on its card."""

from __future__ import annotations

from dataclasses import replace

from geodp.errors import VerificationError
from geodp.io.write.view import View
from geodp.mechanisms import Mechanism, find_method, is_method
from geodp.privacy.event import Measurement
from geodp.release.release import SMOOTHED, Release
from geodp.release.settlements import simulate_settlements
from geodp.table.measured import MeasuredLevels


def errors_of(view: View) -> Release | None:
    """Compute a written release again from its table and the facts on its card.

    Parameters
    ----------
    view : View
        Its table, its card and, where they are published, its measurements and public totals.

    Returns
    -------
    Release or None
        The release, whose card, intervals and view are computed and not read; None for a method
        that this installation does not have.
    """
    table, card = view.table, view.card
    if not is_method(table.event.mechanism):
        return None
    made, error = card.guarantee, card.expected_error
    # Behind what follows from the event, a card lists facts about the input, which no file shows.
    first = 1 + len(table.event.not_protected)
    sources = {one.kind: one.source for one in made.assumptions or ()}
    totals = view.totals
    if totals is not None:
        # The table of totals does not say where they were published.
        totals = replace(totals, source=sources.get("public totals") or totals.source)
    release = Release(
        table,
        card.budget,
        None if error.floor is None else error.floor.people,
        tuple(made.not_protected[first:]),
        measurements=_level_again(view),
        totals=totals,
        prior=card.prior,
        postprocessing=tuple(one for one in card.post_processing if one.startswith(SMOOTHED)),
        metadata=card.metadata,
        reading=card.reading,
    )
    simulated = None if error.cells is None else error.cells.simulated
    return simulate_settlements(release, simulated or 0)


def _level_again(view: View) -> MeasuredLevels | None:
    """Return measurements on the levels of their method, in place of those that a file states."""
    table, measured = view.table, view.measurements
    method = find_method(table.event.mechanism)
    if measured is None or not isinstance(method, Mechanism):
        return measured
    assert isinstance(table.event, Measurement)
    levels = method.list_levels(table.grid, table.event)
    if levels is None or len(levels) != len(measured.levels):
        raise VerificationError(
            "The measurements have other levels than the method.", code="measured-levels-differ"
        )
    pairs = zip(measured.levels, levels, strict=True)
    return MeasuredLevels(tuple(replace(one, level=own) for one, own in pairs))
