"""Verify releases of several tables: the index, and each table's folder as a release of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from geodp.errors import Rule
from geodp.io.folder.kinds import CARD, Check
from geodp.io.folder.manifest import SUMS, read_sums, sha256
from geodp.io.opening import open_parquet, read_json, strange_entry
from geodp.io.verify.card import read_table_card, require
from geodp.io.verify.intervals import ErrorsOf
from geodp.io.verify.readback import BROKEN
from geodp.io.verify.verify import run_checks, verify
from geodp.table.card import File
from geodp.table.charged import StatedCharge
from geodp.table.stated.release import Software, TableInfo


class TablesCard(Protocol):
    """An index of several tables."""

    @property
    def schema(self) -> str:
        """Name of its form."""

    @property
    def private(self) -> bool:
        """Whether the key of the noise was secret."""

    @property
    def software(self) -> Software:
        """What has written it."""

    @property
    def budget(self) -> StatedCharge | None:
        """Charge to a ledger, once for all tables."""

    @property
    def tables(self) -> tuple[TableInfo, ...]:
        """All tables."""

    @property
    def files(self) -> tuple[File, ...]:
        """Files beside them."""


AnyTables = TypeVar("AnyTables", bound=TablesCard)

Question = tuple[str, Callable[[Path, AnyTables], str]]
"""Name of a check, and what makes it."""


def verify_tables(
    folder: Path,
    index: str,
    read: Callable[[Any], AnyTables],
    questions: Sequence[Question[AnyTables]],
    errors: ErrorsOf | None,
) -> list[Check]:
    """Check an index by questions, and, if they hold, each of its tables.

    Parameters
    ----------
    folder : path
        Folder of the public files.
    index : str
        Name of the index's file.
    read : callable
        Makes the index from plain values; VerificationError if they are invalid.
    questions : sequence
        See :func:`geodp.io.verify.verify.run_checks`.
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
        card = read(read_json(folder / index))
    except BROKEN as error:
        return [Check("index", False, str(error) or type(error).__name__)]
    checks = [Check("index", True, f"schema {card.schema}"), *run_checks(questions, folder, card)]
    # The index lists the tables, so they are verified only if it is right.
    if all(check.ok for check in checks):
        checks += [_verify_table(folder / one.name, errors) for one in card.tables]
    return checks


def _verify_table(folder: Path, errors: ErrorsOf | None) -> Check:
    checks = verify(folder, errors)
    failed = [f"{check.name}: {check.detail}" for check in checks if not check.ok]
    return Check(folder.name, not failed, "; ".join(failed) or f"{len(checks)} questions")


def check_index_files(folder: Path, card: TablesCard, index: str) -> str:
    """Check that the folder holds exactly what index and checksums list, unchanged."""
    sums = read_sums(folder)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    require(
        there - {SUMS} == {*sums},
        Rule("sums-files-unlisted", f"{SUMS} does not list exactly the existing files."),
    )
    for name, digest in sums.items():
        require(
            sha256(folder / name) == digest,
            Rule("file-changed-since-written", f"{name} was changed: its SHA-256 differs."),
        )
    for file in card.files:
        require(
            sums.get(file.name) == file.sha256,
            Rule("index-checksum-differs", f"The checksum of {file.name} differs from the index."),
        )
    listed = {index, SUMS, *(one.name for one in card.files), *(one.name for one in card.tables)}
    require(
        {path.name for path in folder.iterdir()} == listed,
        Rule("index-files-unlisted", "The folder holds other files than the index lists."),
    )
    return f"all {len(sums)} files have the listed SHA-256"


def check_index_tables(folder: Path, card: TablesCard) -> str:
    """Check that every table is the one in the index, charged once for all of them."""
    for one in card.tables:
        require(
            sha256(folder / one.name / CARD) == one.card_sha256,
            Rule("index-card-differs", f"The card of {one.name} differs from the index."),
        )
        table = read_table_card(folder / one.name)
        require(
            table.release_id == one.release_id and table.name == one.name,
            Rule("index-release-differs", f"The id of {one.name} differs from the index."),
        )
        require(
            table.private is card.private and table.budget == card.budget,
            Rule("index-charged-otherwise", f"{one.name} states another charge."),
        )
        require(
            table.software == card.software,
            Rule("index-software-differs", f"{one.name} was written by other software."),
        )
    return "cards, ids and charges are those of the index"


def check_index_says(tables: Sequence[TableInfo], names: Sequence[tuple[str, ...]]) -> None:
    """Require that an index lists one of the sets of tables that a release may have, in order."""
    require(
        tuple(one.name for one in tables) in names,
        Rule("index-tables-differ", "The release has other tables than it needs."),
    )


def check_identity(folder: Path, tables: Sequence[TableInfo], identity: str) -> None:
    """Require that each card says the digest of its whole release: none is of another one."""
    cards = [read_table_card(folder / one.name) for one in tables]
    require(
        all(identity in one.guarantee.not_protected for one in cards),
        Rule("tables-of-two-releases", "The tables are not all of one release."),
    )


def same_rows(one: Path, other: Path) -> bool:
    """Test whether Parquet files have the same columns, of the same types, and the same rows."""
    # Its bytes depend on the version of the library that has written a file.
    first, last = (open_parquet(path).read() for path in (one, other))
    return bool(
        first.schema.equals(last.schema, check_metadata=True)
        and first.combine_chunks().equals(last.combine_chunks())
    )
