"""Verification of a written release of flows: index, tables, budget and margins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from geodp.errors import Rule
from geodp.features.flows.card import (
    DESTINATIONS,
    FLOWS,
    INDEX,
    ORIGINS,
    TABLES,
    FlowsCard,
)
from geodp.features.flows.flows import (
    CONSTRAINTS,
    describe_identity,
    make_plan_of,
    name_flows,
    read_design,
    state_guarantee,
)
from geodp.features.flows.formats.noisy import name_file
from geodp.features.flows.methods import EndsOfFlows
from geodp.features.flows.opening import read_levels
from geodp.grid.grid import Grid
from geodp.io.folder.kinds import CARD, Check
from geodp.io.folder.manifest import SUMS, read_sums, sha256
from geodp.io.opening import read_json, strange_entry
from geodp.io.verify.card import read_table_card, require
from geodp.io.verify.files import check_restricted
from geodp.io.verify.intervals import ErrorsOf
from geodp.io.verify.readback import BROKEN, event_of, read_release_table
from geodp.io.verify.verify import run_checks, verify
from geodp.privacy.event import Measurement
from geodp.table.counts import coalesce


def verify_flows(folder: Path, errors: ErrorsOf | None = None) -> list[Check]:
    """Verify that the index matches the tables, each of these, and that both ends are met.

    Parameters
    ----------
    folder : path
        Folder of the public files.
    errors : callable, optional
        See :func:`geodp.io.verify.verify.verify`.

    Returns
    -------
    list of Check
        Checks of the index, and one for every table, with the checks that failed there.
    """
    try:
        require(
            # A link could make the verification read files outside the folder.
            strange_entry(folder) is None,
            Rule("folder-has-link", "There is a link or a device in the folder."),
        )
        card = FlowsCard.from_json(read_json(folder / INDEX))
    except BROKEN as error:
        return [Check("index", False, str(error) or type(error).__name__)]
    summary = f"schema {card.schema}, one {card.guarantee.unit} protected"
    checks = [Check("index", True, summary), *run_checks(QUESTIONS, folder, card)]
    # The index lists the tables, so they are verified only if it is right.
    if all(check.ok for check in checks):
        checks += [_verify_table(folder / one.name, errors) for one in card.tables]
    return checks


def _verify_table(folder: Path, errors: ErrorsOf | None) -> Check:
    checks = verify(folder, errors)
    failed = [f"{check.name}: {check.detail}" for check in checks if not check.ok]
    return Check(folder.name, not failed, "; ".join(failed) or f"{len(checks)} questions")


def _check_checksums(folder: Path, card: FlowsCard) -> str:
    sums = read_sums(folder)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    require(
        there - {SUMS} == {*sums},
        Rule("flows-files-unlisted", f"{SUMS} does not list exactly the existing files."),
    )
    for name, digest in sums.items():
        require(
            sha256(folder / name) == digest,
            Rule("file-changed-since-written", f"{name} was changed: its SHA-256 differs."),
        )
    for file in card.files:
        require(
            sums.get(file.name) == file.sha256,
            Rule("flows-index-differs", f"The checksum of {file.name} differs from the index."),
        )
    listed = {INDEX, SUMS, *(file.name for file in card.files), *TABLES}
    require(
        {path.name for path in folder.iterdir()} == listed,
        Rule("flows-folder-unlisted", "The folder holds other files than the index lists."),
    )
    return f"all {len(sums)} files have the listed SHA-256"


def _check_tables(folder: Path, card: FlowsCard) -> str:
    """Check that every table is the one in the index, charged once for all of them."""
    require(
        tuple(one.name for one in card.tables) == TABLES,
        Rule("flows-tables-differ", "The release has other tables than it needs."),
    )
    for one in card.tables:
        require(
            sha256(folder / one.name / CARD) == one.card_sha256,
            Rule("flows-card-differs", f"The card of {one.name} differs from the index."),
        )
        table = read_table_card(folder / one.name)
        require(
            table.release_id == one.release_id and table.name == one.name,
            Rule("flows-release-differs", f"The id of {one.name} differs from the index."),
        )
        require(
            table.private is card.private and table.budget == card.budget,
            Rule("flows-charged-otherwise", f"{one.name} states another charge."),
        )
    tables = [read_release_table(folder / name)[0] for name in TABLES]
    identity = describe_identity(tables)
    cards = [read_table_card(folder / name) for name in TABLES]
    require(
        all(identity in one.guarantee.not_protected for one in cards),
        Rule("flows-of-two-releases", "The tables are not all of one release."),
    )
    return "cards, ids and charges are those of the index"


def _check_guarantee(folder: Path, card: FlowsCard) -> str:
    """Check that the shares add up, and that every table has the noise that they imply."""
    promise = card.guarantee
    design = read_design(card)
    require(
        design.sides == tuple(one.side for one in promise.levels)
        and design.end_share == Fraction(promise.end_share)
        and 2 * design.end_share + sum(design.shares) == 1,
        Rule("flows-shares-differ", "The shares of the budget do not add up to 1."),
    )
    events = {name: event_of(read_table_card(folder / name)) for name in TABLES}
    whole, of_origins = events[FLOWS], events[ORIGINS]
    require(
        isinstance(whole, Measurement) and isinstance(of_origins, Measurement),
        Rule("flows-not-measured", "A table of the release was not measured."),
    )
    assert isinstance(whole, Measurement)
    assert isinstance(of_origins, Measurement)
    plan = make_plan_of(whole, of_origins, design, read_release_table(folder / FLOWS)[0].grid)
    ends = replace(plan.ends, mechanism=EndsOfFlows.of(plan.method).spec)
    expected = {FLOWS: plan.whole, ORIGINS: ends, DESTINATIONS: ends}
    require(
        plan.whole.mechanism == name_flows(design.sides, design.shares).spec and events == expected,
        Rule("flows-event-differs", "A table has another noise than the index implies."),
    )
    require(
        promise == state_guarantee(plan)
        and card.private is plan.whole.is_private
        and card.constraints == CONSTRAINTS,
        Rule("flows-guarantee-differs", "The index contradicts its tables."),
    )
    return f"{promise.spends} for one {promise.unit}, once for all tables"


def _check_margins(folder: Path, card: FlowsCard) -> str:
    """Check that flows add up to both maps of ends, in every zone and so in every area."""
    flows, origins, destinations = (read_release_table(folder / name)[0] for name in TABLES)
    require(
        origins.grid == destinations.grid and Grid(flows.grid.places[:1]) == origins.grid,
        Rule("flows-grids-differ", "Flows and their ends have different zones."),
    )
    index, count = flows.grid.decode(flows.key), np.asarray(flows.count, np.int64)
    for at, ends in ((0, origins), (2, destinations)):
        key, total = coalesce(ends.grid.encode(index[at : at + 2]), count)
        require(
            np.array_equal(key, ends.key) and np.array_equal(total, ends.count),
            Rule("flows-margins-differ", "The flows do not add up to the released ends."),
        )
    return f"{flows.key.size:,} flows add up to both ends in {origins.key.size:,} zones"


def _check_noisy(folder: Path, card: FlowsCard) -> str:
    """Check that the files of noisy pairs list all pairs of the stated blocks."""
    names = [name_file(one.side) for one in card.guarantee.levels]
    require(
        [file.name for file in card.files] == names,
        Rule("flows-noisy-missing", "The index lists other noisy pairs than were measured."),
    )
    grid = Grid(read_release_table(folder / FLOWS)[0].grid.places[:1])
    noisy = read_levels(folder, card, grid)
    return f"{sum(one.noisy.size for one in noisy):,} noisy pairs"


QUESTIONS: list[tuple[str, Callable[[Path, FlowsCard], str]]] = [
    ("checksums", _check_checksums),
    ("tables", _check_tables),
    ("guarantee", _check_guarantee),
    ("margins", _check_margins),
    ("noisy pairs", _check_noisy),
    ("restricted", check_restricted),
]
