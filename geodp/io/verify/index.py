"""Verification of releases that are an index of tables, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from geodp.errors import Rule
from geodp.io.folder.kinds import CARD, Check
from geodp.io.folder.manifest import SUMS, read_sums, sha256
from geodp.io.opening import read_json, strange_entry
from geodp.io.verify.card import describe_error, not_json, read_table_card, require
from geodp.io.verify.readback import BROKEN, event_of
from geodp.io.verify.remade import Remake
from geodp.io.verify.verify import run_checks, verify
from geodp.privacy.event import Measurement
from geodp.table.card import Card, File
from geodp.table.charged import StatedCharge
from geodp.table.stated.release import Software, TableInfo

Index = TypeVar("Index")


class ListedTable(Protocol):
    """A table as an index lists it."""

    @property
    def release_id(self) -> str:
        """Its id."""

    @property
    def card_sha256(self) -> str:
        """SHA-256 of its card."""


class ChargedTogether(Protocol):
    """An index of what was charged once, together."""

    @property
    def private(self) -> bool:
        """Whether the key of the noise was secret."""

    @property
    def software(self) -> Software:
        """Software that has written it."""

    @property
    def budget(self) -> StatedCharge | None:
        """Charge to a ledger, once for all tables."""


class TablesCard(ChargedTogether, Protocol):
    """An index of such tables, each in a folder of its name."""

    @property
    def tables(self) -> tuple[TableInfo, ...]:
        """All tables."""


def verify_index(
    path: Path,
    read: Callable[[Any], Index],
    summary: Callable[[Index], str],
    questions: list[tuple[str, Callable[[Path, Index], str]]],
    list_tables: Callable[[Index], Iterable[str]],
    errors: Remake | None,
) -> list[Check]:
    """Verify an index by its questions, and then each of the tables that it lists.

    Parameters
    ----------
    path : path
        The index, in the folder of the public files.
    read : callable
        Makes the index from plain values; VerificationError if they are invalid.
    summary : callable
        Describes the index.
    questions : list of (str, callable)
        See :func:`geodp.io.verify.verify.run_checks`.
    list_tables : callable
        Names the folders of the tables.
    errors : callable or None
        See :func:`geodp.io.verify.verify.verify`.

    Returns
    -------
    list of Check
        Checks of the index, and one for every table, with the checks that failed there.
    """
    folder = path.parent
    try:
        require(
            # A link could make the verification read files outside the folder.
            strange_entry(folder) is None,
            Rule("folder-has-link", "There is a link or a device in the folder."),
        )
        card = read_index(folder, path.name, read)
    except BROKEN as error:
        return [Check("index", False, describe_error(error, folder))]
    checks = [Check("index", True, summary(card)), *run_checks(questions, folder, card)]
    # The index lists the tables, so they are verified only if it is right.
    if all(check.ok for check in checks):
        checks += [_verify_table(folder / name, errors) for name in list_tables(card)]
    return checks


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
    folder, listed = path.parent, {path.name, SUMS, *tables}
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
    for name, digest in sums.items():
        require(
            sha256(folder / name) == digest,
            Rule("file-changed-since-written", f"{name} was changed: its SHA-256 differs."),
        )
    for file in files:
        require(
            sums.get(file.name) == file.sha256,
            Rule("index-file-differs", f"The checksum of {file.name} differs from the index."),
        )
        listed.add(file.name)
    require(
        {one.name for one in folder.iterdir()} == listed,
        Rule("index-folder-unlisted", "The index does not list exactly what the folder contains."),
    )
    return f"all {len(sums)} files have the listed SHA-256"


def check_tables(folder: Path, card: TablesCard, allowed: Sequence[tuple[str, ...]]) -> str:
    """Require every table to be the one in its index, charged once for all of them.

    Parameters
    ----------
    folder : path
        Folder of the public files.
    card : TablesCard
    allowed : sequence of tuple of str
        Names of the tables that such a release may have, in order.
    """
    require(
        tuple(one.name for one in card.tables) in allowed,
        Rule("index-tables-differ", "The release has other tables than it needs."),
    )
    require_one_correction(
        read_listed_card(folder / one.name, one, one.name, card) for one in card.tables
    )
    return "cards, ids and charges are those of the index"


def read_listed_card(folder: Path, listed: ListedTable, name: str, index: ChargedTogether) -> Card:
    """Read the card of a table; VerificationError if it is not the one that an index lists.

    Parameters
    ----------
    folder : path
        Folder of the table.
    listed : ListedTable
        What the index says of it.
    name : str
        Name of its count.
    index : ChargedTogether
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


def check_identity(folder: Path, tables: Iterable[TableInfo], identity: str) -> None:
    """Require each card to state the digest of its whole release: none is of another one."""
    cards = (read_table_card(folder / one.name) for one in tables)
    require(
        all(identity in one.guarantee.not_protected for one in cards),
        Rule("tables-of-two-releases", "The tables are not all of one release."),
    )
