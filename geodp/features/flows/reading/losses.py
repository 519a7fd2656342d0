"""Count what is lost on the way from records of persons to trips; for the operator alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from geodp.io.read.rows.survey import Survey

CHOICE = (
    "Choose --gap by how often the devices record, which is public, and never by these numbers: a "
    "rule that was chosen by the data, and stands on the card, tells of them without a charge."
)


def tally_bound(survey: Survey, made: int, counted: int) -> None:
    """Add how many trips were lost as only so many of a unit are kept, and how many were kept."""
    survey.tally({"trips_lost_to_bound": made - counted, "trips_kept": counted})


def warn_of_losses(tallied: Mapping[str, int]) -> Iterator[str]:
    """Yield a sentence where most pings are in no stay, and where a gap takes most trips.

    ``tallied``: as the readers of pings and stays count.
    """
    pings, stayed = (tallied.get(name, 0) for name in ("pings_accurate", "pings_in_stays"))
    if 2 * stayed < pings:
        gap, rest = tallied["pings_lost_to_gap"], tallied["pings_lost_to_radius_or_dwell"]
        yield (
            f"Most pings are in no stay: {pings - stayed:,} of {pings:,}, of which {gap:,} are "
            f"next to a longer time without a ping than --gap, and {rest:,} were too far apart "
            f"(--radius) or not there for long enough (--dwell). {CHOICE}"
        )
    moves, lost = (tallied.get(name, 0) for name in ("moves", "moves_lost_to_gap"))
    if 2 * lost > moves:
        yield (
            f"Most moves from a stay to the next one are no trip, as --gap lies between them: "
            f"{lost:,} of {moves:,}. {CHOICE}"
        )
