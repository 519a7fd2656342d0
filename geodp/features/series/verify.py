"""Verification of a written series: its index, its snapshots, its budget."""

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
    """Verify that the index of a written series matches its snapshots, and verify each of these.

    Parameters
    ----------
    folder : path
        Folder of its public files.
    errors : callable, optional
        See :func:`geodp.io.verify.verify.verify`.

    Returns
    -------
    list of Check
        Checks of the index, and one for every snapshot, with the checks that failed there.
    """
    try:
        require(
            # A link could make the verification read files outside the folder.
            strange_entry(folder) is None,
            Rule("folder-has-link", "There is a link or a device in the folder."),
        )
        card = SeriesCard.from_json(read_json(folder / INDEX))
    except BROKEN as error:
        return [Check("index", False, str(error) or type(error).__name__)]
    summary = f"schema {card.schema}, {len(card.snapshots)} snapshots"
    checks = [Check("index", True, summary), *run_checks(QUESTIONS, folder, card)]
    # The index lists the snapshots, so they are verified only if it is right.
    if all(check.ok for check in checks):
        checks += [_verify_snapshot(folder / one.time, errors) for one in card.snapshots]
    return checks


def _verify_snapshot(folder: Path, errors: ErrorsOf | None) -> Check:
    checks = verify(folder, errors)
    failed = [f"{check.name}: {check.detail}" for check in checks if not check.ok]
    return Check(folder.name, not failed, "; ".join(failed) or f"{len(checks)} questions")


def _check_checksums(folder: Path, card: SeriesCard) -> str:
    sums = read_sums(folder)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    require(
        there - {SUMS} == {*sums},
        Rule("series-files-unlisted", f"{SUMS} does not list exactly the existing files."),
    )
    for name, digest in sums.items():
        require(
            sha256(folder / name) == digest,
            Rule("file-changed-since-written", f"{name} was changed: its SHA-256 differs."),
        )
    for file in card.files:
        require(
            sums.get(file.name) == file.sha256,
            Rule("series-index-differs", f"The checksum of {file.name} differs from the index."),
        )
    index_files = {INDEX, SUMS, *(file.name for file in card.files)}
    times = {one.time for one in card.snapshots}
    unlisted = {path.name for path in folder.iterdir()} - index_files - times
    require(
        not unlisted,
        Rule("series-folder-unlisted", "The folder contains files that the index does not list."),
    )
    return f"all {len(sums)} files have the listed SHA-256"


def _check_times(folder: Path, card: SeriesCard) -> str:
    periods = Periods.of([one.time for one in card.snapshots])
    require(
        periods.step == card.step,
        Rule("series-step-differs", "The length of the snapshots differs from the index."),
    )
    return f"{len(periods.names)} {periods.step}s, none missing"


def _check_snapshots(folder: Path, card: SeriesCard) -> str:
    """Check that every snapshot is the one in the index, on one grid, with its part."""
    domains = []
    for one in card.snapshots:
        require(
            sha256(folder / one.time / CARD) == one.card_sha256,
            Rule("series-card-differs", "A card differs from the index."),
        )
        snapshot = read_table_card(folder / one.time)
        require(
            snapshot.release_id == one.release_id,
            Rule("series-release-differs", "The id of a release differs from the index."),
        )
        same = snapshot.name == card.name and snapshot.private is card.private
        require(
            same and snapshot.budget == card.budget,
            Rule(
                "series-snapshot-charged-otherwise",
                "The charge or the name of a snapshot differs from the index.",
            ),
        )
        guarantee = snapshot.guarantee
        mine = (
            guarantee.spends,
            guarantee.mechanism,
            guarantee.unit,
            guarantee.neighbours,
            guarantee.contribution,
        )
        promise = card.guarantee
        expected = (promise.mechanism, promise.unit, promise.neighbours, promise.contribution)
        require(
            mine == (promise.each_spends, *expected),
            Rule(
                "series-snapshot-promises-otherwise",
                "The guarantee of a snapshot differs from the index.",
            ),
        )
        domains.append(snapshot.domain)
    require(
        all(one == domains[0] for one in domains),
        Rule("series-grids-differ", "The snapshots have different grids."),
    )
    return "cards, ids and guarantees are those of the index; one grid"


def _check_sharing(folder: Path, card: SeriesCard) -> str:
    """Check that the budgets of the snapshots that a person changes add up exactly."""
    promise, changed = card.guarantee, card.guarantee.sharing.changed
    # Computed anew from the declared facts, so that a card cannot claim a smaller number of
    # changes.
    expected = len(card.snapshots) if promise.sharing.person == "all" else 1
    if promise.sharing.person == "one" and promise.neighbours == "replace-one":
        expected = 2
    require(
        changed == expected,
        Rule("series-changes-differ", "The number of snapshots that one person changes differs."),
    )
    guarantee = read_table_card(folder / card.snapshots[0].time).guarantee
    name = "epsilon" if promise.rho is None else "rho"
    each: Any = getattr(guarantee, name)
    total: Any = getattr(promise, name)
    require(None not in (each, total), Rule("series-without-budget", "A card has no budget."))
    require(
        # Exact, as cards store ratios.
        Fraction(each) * changed == Fraction(total),
        Rule("series-parts-differ", "The budgets of the snapshots do not add up to the total."),
    )
    return f"{changed} x {name} {each} = {total}"


QUESTIONS: list[tuple[str, Callable[[Path, SeriesCard], str]]] = [
    ("checksums", _check_checksums),
    ("times", _check_times),
    ("snapshots", _check_snapshots),
    ("budget", _check_sharing),
    ("restricted", check_restricted),
]
