"""Check that a written series agrees with itself: its index, its snapshots, its budget."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from geodp.errors import Rule
from geodp.features.series.card import INDEX, SeriesCard
from geodp.features.series.periods import Periods
from geodp.io.folder.kinds import CARD, Check
from geodp.io.folder.manifest import SUMS, read_sums, sha256
from geodp.io.opening import read_json, strange_entry
from geodp.io.verify.card import read_table_card, require
from geodp.io.verify.files import check_restricted
from geodp.io.verify.intervals import ErrorsOf
from geodp.io.verify.readback import BROKEN
from geodp.io.verify.verify import run_checks, verify


def verify_series(folder: Path, errors: ErrorsOf | None = None) -> list[Check]:
    """Ask a written series whether its index is that of its snapshots, and each of these.

    Parameters
    ----------
    folder : path
        Its public files.
    errors : callable, optional
        As for :func:`geodp.io.verify.verify.verify`.

    Returns
    -------
    list of Check
        Those of the index, and one of every snapshot, which names what failed there.
    """
    try:
        require(
            strange_entry(folder) is None,
            Rule("folder-has-link", "There is a link or a device in the folder."),
        )
        card = SeriesCard.from_json(read_json(folder / INDEX))
    except BROKEN as error:
        return [Check("index", False, str(error) or type(error).__name__)]
    said = f"schema {card.schema}, {len(card.snapshots)} snapshots"
    checks = [Check("index", True, said), *run_checks(QUESTIONS, folder, card)]
    if all(check.ok for check in checks):
        checks += [_verify_snapshot(folder / one.time, errors) for one in card.snapshots]
    return checks


def _verify_snapshot(folder: Path, errors: ErrorsOf | None) -> Check:
    found = verify(folder, errors)
    failed = [f"{check.name}: {check.detail}" for check in found if not check.ok]
    return Check(folder.name, not failed, "; ".join(failed) or f"{len(found)} questions")


def _ask_checksums(folder: Path, card: SeriesCard) -> str:
    sums = read_sums(folder)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    require(
        there - {SUMS} == {*sums},
        Rule("series-files-unlisted", f"{SUMS} lists other files than there are."),
    )
    for name, digest in sums.items():
        require(
            sha256(folder / name) == digest,
            Rule("file-changed-since-written", f"{name} was changed: its SHA-256 differs."),
        )
    for file in card.files:
        require(
            sums.get(file.name) == file.sha256,
            Rule("series-index-differs", f"The index has another {file.name}."),
        )
    own = {INDEX, SUMS, *(file.name for file in card.files)}
    times = {one.time for one in card.snapshots}
    beside = {path.name for path in folder.iterdir()} - own - times
    require(
        not beside, Rule("series-folder-unlisted", "The folder holds what the index does not list.")
    )
    return f"all {len(sums)} files have the listed SHA-256"


def _ask_times(folder: Path, card: SeriesCard) -> str:
    periods = Periods.of([one.time for one in card.snapshots])
    require(
        periods.step == card.step,
        Rule("series-step-differs", "The snapshots last for another time than the index says."),
    )
    return f"{len(periods.names)} {periods.step}s, none missing"


def _ask_snapshots(folder: Path, card: SeriesCard) -> str:
    """Check that every snapshot is the one that the index names, on one grid, at one part."""
    domains = []
    for one in card.snapshots:
        require(
            sha256(folder / one.time / CARD) == one.card_sha256,
            Rule("series-card-differs", "A card is another."),
        )
        found = read_table_card(folder / one.time)
        require(
            found.release_id == one.release_id,
            Rule("series-release-differs", "A release is another."),
        )
        same = found.name == card.name and found.private is card.private
        require(
            same and found.budget == card.budget,
            Rule("series-snapshot-charged-otherwise", "A snapshot was charged or named otherwise."),
        )
        said = found.guarantee
        mine = (said.spends, said.mechanism, said.unit, said.neighbours, said.contribution)
        promise = card.guarantee
        whole = (promise.mechanism, promise.unit, promise.neighbours, promise.contribution)
        require(
            mine == (promise.each_spends, *whole),
            Rule("series-snapshot-promises-otherwise", "A snapshot promises something else."),
        )
        domains.append(found.domain)
    require(
        all(one == domains[0] for one in domains),
        Rule("series-grids-differ", "The snapshots are not of one grid."),
    )
    return "cards, ids and guarantees are those of the index; one grid"


def _ask_sharing(folder: Path, card: SeriesCard) -> str:
    """Check that the parts of the snapshots that change add up to the whole, exactly."""
    promise, changed = card.guarantee, card.guarantee.sharing.changed
    expected = len(card.snapshots) if promise.sharing.person == "all" else 1
    if promise.sharing.person == "one" and promise.neighbours == "replace-one":
        expected = 2
    require(
        changed == expected,
        Rule("series-changes-differ", "Another number of snapshots changes with one person."),
    )
    said = read_table_card(folder / card.snapshots[0].time).guarantee
    name = "epsilon" if promise.rho is None else "rho"
    each: Any = getattr(said, name)
    total: Any = getattr(promise, name)
    require(None not in (each, total), Rule("series-without-budget", "It names no budget."))
    require(
        Fraction(each) * changed == Fraction(total),
        Rule("series-parts-differ", "The parts do not add up to the whole."),
    )
    return f"{changed} x {name} {each} = {total}"


QUESTIONS: list[tuple[str, Callable[[Path, SeriesCard], str]]] = [
    ("checksums", _ask_checksums),
    ("times", _ask_times),
    ("snapshots", _ask_snapshots),
    ("budget", _ask_sharing),
    ("restricted", check_restricted),
]
