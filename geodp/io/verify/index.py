"""Verification of releases that are an index of tables, each in a folder of its own.

An index follows from its tables: it is rebuilt of them and compared, field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from geodp.errors import Rule, VerificationError
from geodp.io.folder.kinds import CARD, Check
from geodp.io.folder.manifest import SUMS, read_sums, sha256
from geodp.io.opening import read_json, strange_entry
from geodp.io.verify.card import describe_error, not_json, read_table_card, require
from geodp.io.verify.files import check_restricted, require_unchanged
from geodp.io.verify.readback import BROKEN, event_of
from geodp.io.verify.rewritten import check_rewritten
from geodp.io.verify.statements import has_words_of, require_charge, require_same
from geodp.io.verify.verify import run_checks, verify
from geodp.io.verify.written import Remake
from geodp.privacy.event import Measurement
from geodp.table.card import Card, File
from geodp.table.index import OF_PERIOD, IndexCard, TablesCard
from geodp.table.plain import write_plain

Index = TypeVar("Index")


NOT_MEASURED = Rule("index-table-not-measured", "A table of the release was not measured.")

Questions = Sequence[tuple[str, Callable[[Path, Any], str]]]
"""Questions of a verification by name, see :func:`geodp.io.verify.verify.run_checks`."""


def verify_index(
    folder: Path,
    kind: type[IndexCard],
    questions: Questions,
    list_tables: Callable[[Any], Sequence[str]],
    errors: Remake | None,
) -> list[Check]:
    """Verify an index by its questions, and then each of the tables that it lists.

    Parameters
    ----------
    folder : path
        Folder of the public files.
    kind : type
        Class of the index.
    questions : sequence of (str, callable)
    list_tables : callable
        Names the folders of the tables.
    errors : callable or None
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
        card = read_index(folder, kind.file, kind.from_json)
        require(
            bool(list_tables(card)),
            Rule("index-lists-nothing", "The index lists no tables and no periods."),
        )
    except BROKEN as error:
        return [Check("index", False, describe_error(error, folder))]
    checks = [Check("index", True, f"schema {kind.identifier}, {card.about}")]
    checks += run_checks(questions, folder, card)
    # The index lists the tables, so they are verified only if it is right.
    if all(check.ok for check in checks):
        checks += [_verify_table(folder / name, errors) for name in list_tables(card)]
    return checks


def verify_tables(
    folder: Path, kind: type[IndexCard], open_tables: Callable[[Path], Any], errors: Remake | None
) -> list[Check]:
    """Verify that an index is what follows from its tables, and each of these.

    Parameters and result are those of :func:`verify_index`; ``open_tables`` opens the release in a
    public folder, a :class:`geodp.release.composite.Composite`.
    """
    # All questions share what was opened, and what was derived of it.
    opened = cache(open_tables)
    rebuilt = cache(lambda place: _rebuild(opened(place)))
    questions: Questions = [
        ("checksums", _check_files),
        ("tables", partial(_check_tables, opened)),
        ("guarantee", partial(_check_guarantee, rebuilt)),
        ("one release", partial(_check_facts, rebuilt)),
        ("constraints", partial(_check_constraints, opened)),
        ("joint files", partial(_check_joint, opened)),
        ("restricted", check_restricted),
    ]
    return verify_index(folder, kind, questions, _list_folders, errors)


def _rebuild(release: Any) -> Any:
    """Rebuild the index from the tables of a release, all of which were measured."""
    require(
        all(isinstance(one.event, Measurement) for one in release.tables.values()), NOT_MEASURED
    )
    return release.rebuild()


def _list_tables(card: TablesCard) -> list[str]:
    return [one.name for one in card.tables]


def _list_folders(card: TablesCard) -> list[str]:
    """List the folders of all tables, and of the releases that are enclosed."""
    return [*_list_tables(card), *card.enclosed]


def _check_files(folder: Path, card: TablesCard) -> str:
    return check_checksums(folder / card.file, card.files, _list_folders(card))


def _check_tables(opened: Callable[[Path], Any], folder: Path, card: TablesCard) -> str:
    """Check that every table is the one in the index, charged once for all of them."""
    require_one_correction(
        read_listed_card(folder / one.name, one, card.name_count(one.name), card)
        for one in card.tables
    )
    require(
        [*opened(folder).tables] == _list_tables(card),
        Rule("index-tables-differ", "The release has other tables than it needs."),
    )
    return "cards, ids and charges are those of the index"


def _check_guarantee(rebuilt: Callable[[Path], Any], folder: Path, card: TablesCard) -> str:
    """Check that the index is what follows from its tables, and that each has its event."""
    found, promise = rebuilt(folder), card.guarantee
    stated, expected = (
        {name: one for name, one in write_plain(index).items() if name not in STATED_ALONE}
        for index in (card, found.index)
    )
    require_same(stated, expected, "index", worded=has_words_of(card.software))
    differs = Rule("index-event-differs", "A table has another noise than the index implies.")
    require([*found.events] == _list_tables(card), differs)
    cards = {name: read_table_card(folder / name) for name in found.events}
    understated = require_losses(cards, found.events, differs)
    # The periods of a series share one charge, which the index of the series is compared with.
    facts = [fact for one in cards.values() for fact in one.guarantee.not_protected]
    alone = not any(fact.startswith(OF_PERIOD.format("period")) for fact in facts)
    require_charge(card.budget, promise.unit, promise.neighbours, found.loss if alone else None)
    return f"{promise.spends} for one {promise.unit}, once for all tables{understated}{found.note}"


def _check_facts(rebuilt: Callable[[Path], Any], folder: Path, card: TablesCard) -> str:
    """Check that the cards of all tables state the same public facts, those of the release."""
    cards = [read_table_card(folder / name) for name in _list_tables(card)]
    facts = [
        [fact for fact in one.guarantee.not_protected if fact not in event_of(one).not_protected]
        for one in cards
    ]
    worded = has_words_of(card.software)
    require(
        all(one == facts[0] for one in facts)
        and (not worded or {*rebuilt(folder).facts} <= {*facts[0]}),
        Rule(
            "tables-of-two-releases",
            "The tables and files are not all of one release, or a card does not say of which.",
        ),
    )
    return "every card states the same public facts, among them what was released together"


def _check_constraints(opened: Callable[[Path], Any], folder: Path, card: TablesCard) -> str:
    """Check that all holds that the index says to hold exactly."""
    release = opened(folder)
    for one in release.constraints:
        require(
            one.holds(release), Rule("index-constraint-broken", f"It does not hold: {one.sentence}")
        )
    return " ".join(one.sentence for one in release.constraints)


def _check_joint(opened: Callable[[Path], Any], folder: Path, card: TablesCard) -> str:
    """Check that files of all tables together are those that the tables make, in every format."""
    release = opened(folder)
    first = next(iter(release.tables.values()))
    return check_rewritten(folder, (card.files, card.left_out), release.write_joint, first.grid)


STATED_ALONE = ("software", "budget", "tables", "files", "left_out")
"""Fields of an index that do not follow from its tables, or that other questions compare."""


def read_index(folder: Path, name: str, read: Callable[[Any], Index]) -> Index:
    """Read an index in a public folder, by its path in it.

    Raises OSError if it is missing, and VerificationError if it is no JSON, or ``read`` refuses it.
    """
    try:
        plain = read_json(folder / name)
    except ValueError as error:
        raise not_json(name, error) from None
    return read(plain)


def _verify_table(folder: Path, errors: Remake | None) -> Check:
    checks = verify(folder, errors)
    failed = [f"{check.name}: {check.detail}" for check in checks if not check.ok]
    return Check(folder.name, not failed, "; ".join(failed) or f"{len(checks)} questions")


def check_checksums(path: Path, files: Iterable[File], tables: Iterable[str]) -> str:
    """Require the checksums of all files, and that an index lists what its folder holds.

    Parameters
    ----------
    path : path
        The index.
    files : iterable of File
        Files beside the index.
    tables : iterable of str
        Names of the tables' folders.
    """
    folder, stated = path.parent, {file.name: file.sha256 for file in files}
    sums = read_sums(folder)
    there = {one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file()}
    other = sorted((there - {SUMS}) ^ {*sums})
    require(
        not other,
        Rule(
            "index-files-unlisted",
            f"{SUMS} does not list exactly the existing files: {', '.join(other)}.",
        ),
    )
    said = require_unchanged(folder, sums, stated)
    require(
        {one.name for one in folder.iterdir()} == {path.name, SUMS, *tables, *stated},
        Rule("index-folder-unlisted", "The index does not list exactly what the folder contains."),
    )
    return said


def read_listed_card(folder: Path, listed: Any, name: str, index: IndexCard) -> Card:
    """Read the card of a table; VerificationError if it is not the one that an index lists.

    Parameters
    ----------
    folder : path
        Folder of the table.
    listed : TableInfo or SnapshotInfo
        Entry of the index.
    name : str
        Name of its count.
    index : IndexCard
    """
    there = folder.name
    require(
        sha256(folder / CARD) == listed.card_sha256,
        Rule("index-card-differs", f"The card of {there} differs from the index."),
    )
    card = read_table_card(folder)
    require(
        card.release_id == listed.release_id and card.name == name,
        Rule("index-release-differs", f"The id or the name of {there} differs from the index."),
    )
    require(
        card.private is index.private and card.budget == index.budget,
        Rule("index-charged-otherwise", f"{there} states another charge."),
    )
    require(
        card.software == index.software,
        Rule("index-software-differs", f"{there} was written by other software."),
    )
    return card


EARLIER = "0.1.0"
"""Version whose cards may state the budget of a table's own noise alone, whatever else it depends
on."""


def require_losses(
    cards: Mapping[str, Card], expected: Mapping[str, Measurement], differs: Rule
) -> str:
    """Require the cards of tables to state the loss of all that each depends on.

    Parameters
    ----------
    cards : mapping of str to Card
        By the folders of the tables.
    expected : mapping of str to Measurement
        Event of each.
    differs : Rule
        Message of a table that has another event.

    Returns
    -------
    str
        Empty, or what to know of cards of ``EARLIER`` that state too little.
    """
    understated = []
    for name, card in cards.items():
        event = event_of(card)
        if event != expected[name]:
            require(
                event == expected[name].own and card.software.version == EARLIER,
                differs,
            )
            understated.append(f"{expected[name].spends} for {name}")
    if not understated:
        return ""
    return (
        "; cards of tables were written before they stated the loss of all that the tables depend "
        f"on: where one is used alone, count {', '.join(understated)}"
    )


def measurement_of(card: Card) -> Measurement:
    """Make the privacy event of the card of a table; VerificationError if it was not measured."""
    event = event_of(card)
    if not isinstance(event, Measurement):
        raise VerificationError(NOT_MEASURED)
    return event


def require_one_correction(cards: Iterable[Card]) -> None:
    """Require all cards of one release to replace the same earlier release, or none."""
    replaced = {None if one.metadata is None else one.metadata.supersedes for one in cards}
    require(
        len(replaced) == 1,
        Rule(
            "tables-correct-otherwise",
            "The tables do not all replace (supersedes) the same earlier release.",
        ),
    )
