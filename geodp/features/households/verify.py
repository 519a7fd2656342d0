"""Verification of a written release of persons and households: index, tables and constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from geodp.errors import Rule
from geodp.features.households.card import (
    HOUSEHOLDS,
    INDEX,
    OTHERS,
    PERSONS,
    SIZES,
    HouseholdsCard,
)
from geodp.features.households.formats.joint import write_joint
from geodp.features.households.households import (
    Households,
    describe_identity,
    describe_release,
    list_constraints,
    state_guarantee,
)
from geodp.features.households.methods import PersonsBySize, PersonsOfStreams
from geodp.features.households.publish import name_streams
from geodp.features.households.sizes import SizedGrid
from geodp.grid.joint import Joint
from geodp.io.folder.kinds import Check
from geodp.io.verify.card import read_table_card, require
from geodp.io.verify.files import check_restricted
from geodp.io.verify.index import check_checksums, check_identity, check_tables, verify_index
from geodp.io.verify.readback import event_of
from geodp.io.verify.remade import Remake
from geodp.io.verify.rewritten import Written, check_rewritten
from geodp.io.verify.statements import has_words_of, require_charge
from geodp.mechanisms import find_method
from geodp.mechanisms.central.parts import Parts
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.event import Measurement
from geodp.release.opening import WrittenRelease, open_release
from geodp.table.counts import coalesce
from geodp.table.released import ReleasedTable

Read: TypeAlias = Callable[[Path], WrittenRelease]
"""Function that opens the table in a folder."""

NAMES = {
    "person": ((PERSONS, HOUSEHOLDS), (PERSONS, HOUSEHOLDS, OTHERS)),
    "household": ((PERSONS, HOUSEHOLDS, SIZES),),
}
"""Tables that a release may have, by whom it protects."""


def verify_households(folder: Path, errors: Remake | None = None) -> list[Check]:
    """Verify that the index matches the tables, each of these, and that every cell is possible.

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
    return verify_index(
        folder / INDEX,
        HouseholdsCard.from_json,
        lambda card: f"schema {card.schema}, {card.protects} protected",
        list_questions(),
        lambda card: (one.name for one in card.tables),
        errors,
    )


def _check_checksums(folder: Path, card: HouseholdsCard) -> str:
    return check_checksums(folder / INDEX, card.files, (one.name for one in card.tables))


def _check_tables(folder: Path, card: HouseholdsCard) -> str:
    """Check that every table is the one in the index, charged once for all of them."""
    return check_tables(folder, card, NAMES[card.protects])


def _check_guarantee(read: Read, folder: Path, card: HouseholdsCard) -> str:
    """Check that what the index promises is what its tables promise, and each of them the same."""
    promise = card.guarantee
    events = {one.name: event_of(read_table_card(folder / one.name)) for one in card.tables}
    by_size = card.protects == "household"
    event = events[SIZES if by_size else HOUSEHOLDS]
    require(
        isinstance(event, Measurement) and promise.unit == card.protects == event.unit,
        Rule("households-unit-differs", "The tables protect another unit than the index says."),
    )
    assert isinstance(event, Measurement)
    sized = SizedGrid.of(read(folder / SIZES).table.grid) if by_size else None
    expected = imply_events(event, card.max_size, None if sized is None else sized.joint)
    for name, found in events.items():
        require(
            found == expected[name],
            Rule("households-event-differs", f"{name}: another event than the release has."),
        )
    total = event if by_size else name_streams(event, len(events))
    require_charge(card.budget, promise.unit, promise.neighbours, total.loss)
    belongs = describe_release(card.protects, total)
    facts = [read_table_card(folder / one.name).guarantee.not_protected for one in card.tables]
    require(
        not has_words_of(card.software) or all(belongs in one for one in facts),
        Rule("households-release-unstated", "A table does not say of which release it is a part."),
    )
    require(
        promise == state_guarantee(card.protects, total, card.max_size),
        Rule(
            "households-guarantee-differs",
            "The guarantee of the index is not that of all tables together.",
        ),
    )
    require(
        card.private is event.is_private
        and card.constraints == list_constraints(card.max_size, by_size),
        Rule("households-contradicts-itself", "The index contradicts itself."),
    )
    return f"{promise.spends} for one {promise.unit}, once for all tables; {promise.other_unit}"


def imply_events(event: Measurement, max_size: int, joint: Joint | None) -> dict[str, Measurement]:
    """Return the events that the tables of a release must have, by their names.

    ``event``: of each stream; or, with ``joint``, of the households by size.
    """
    if joint is None:
        method: Any = find_method(event.mechanism)
        require(
            type(method) is Pyramid,
            Rule("households-method-differs", "Households have another method than a release."),
        )
        persons = PersonsOfStreams.of(method, max_size).spec
        return {PERSONS: replace(event, mechanism=persons), HOUSEHOLDS: event, OTHERS: event}
    of_persons = replace(event, mechanism=PersonsBySize(max_size).spec)
    return {
        PERSONS: of_persons,
        HOUSEHOLDS: Parts().event_of_map(joint, event),
        SIZES: event,
    }


def _check_constraints(read: Read, folder: Path, card: HouseholdsCard) -> str:
    """Check that every cell is possible; then every area is, which is a sum of cells."""
    tables = {one.name: read(folder / one.name).table for one in card.tables}
    persons, households = tables[PERSONS], tables[HOUSEHOLDS]
    domains = [
        read_table_card(folder / one.name).domain for one in card.tables if one.name != SIZES
    ]
    require(
        all(one == domains[0] for one in domains),
        Rule("households-grids-differ", "Persons and households have different grids."),
    )
    require(
        np.array_equal(persons.key, households.key)
        and bool((households.count <= persons.count).all())
        and bool((persons.count <= card.max_size * households.count).all()),
        Rule("households-impossible", "There is a cell that no households can make."),
    )
    if card.protects == "household":
        _check_sizes(card, tables)
    else:
        check_identity(folder, card.tables, describe_identity([*tables.values()]))
    return f"{persons.key.size:,} cells, each with 1 to {card.max_size} persons a household"


def _check_sizes(card: HouseholdsCard, tables: Mapping[str, ReleasedTable]) -> None:
    """Check that persons and households are sums of the households by size."""
    persons, households, sizes = (tables[name] for name in (PERSONS, HOUSEHOLDS, SIZES))
    sized = SizedGrid.of(sizes.grid)
    require(
        sized.max_size == card.max_size and sized.joint.map == households.grid,
        Rule("households-sizes-differ", "Sizes are on another grid, or are others."),
    )
    cell, part = sized.joint.split(sizes.key)
    count = np.asarray(sizes.count, np.int64)
    for table, weights in ((households, 1), (persons, sized.size[part])):
        key, total = coalesce(cell, count * weights)
        require(
            np.array_equal(key, table.key) and np.array_equal(total, table.count),
            Rule("households-sums-differ", "Persons or households are not the sums of sizes."),
        )


def _check_joint(read: Read, folder: Path, card: HouseholdsCard) -> str:
    """Check that the table of both counts is the one that the tables make, in every format."""
    tables = {one.name: read(folder / one.name) for one in card.tables}
    view = Households.of_tables(tables, card).joint

    def write(again: Path) -> Written:
        return write_joint(view, card.max_size, again)

    names = check_rewritten(folder, (card.files, card.left_out), write, view.table.grid)
    return f"{view.size:,} cells, {names}"


def list_questions() -> list[tuple[str, Callable[[Path, HouseholdsCard], str]]]:
    """List the questions of one verification by name; they read each table once for all."""
    read = cache(open_release)
    return [
        ("checksums", _check_checksums),
        ("tables", _check_tables),
        ("guarantee", partial(_check_guarantee, read)),
        ("possible", partial(_check_constraints, read)),
        ("both counts", partial(_check_joint, read)),
        ("restricted", check_restricted),
    ]
