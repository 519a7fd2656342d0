"""The public card of a release, as typed values, and the notice that a release was withdrawn.

``release.json`` is a :class:`Card` written as JSON: the fields of these classes and of those in
:mod:`geodp.table.stated` are its names, in their order. ``release-2.schema.json`` beside this file
is its JSON schema; a test holds the two and real releases together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Annotated, Any, Literal

from geodp.errors import UsageError, VerificationError
from geodp.table.display import LARGEST
from geodp.table.plain import AtLeast, Text, caption, read_plain, write_plain
from geodp.table.reading import StatedReading
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.error import StatedError
from geodp.table.stated.release import (
    Digest,
    Software,
    StatedCharge,
    StatedGuarantee,
    StatedMechanism,
    StatedPrior,
)

SCHEMA: Literal["geodp-release-2"] = "geodp-release-2"
"""Schema of the card of a release that this version writes and reads."""

PARTS_SCHEMA: Literal["geodp-release-parts-2"] = "geodp-release-parts-2"
"""Schema of the card of a release in parts, see :mod:`geodp.io.folder.release_in_parts`."""

COLUMNS_OF = "that its parts are columns of the joint table of "
"""Beginning of the fact by which the card of a table names the release whose files show it, too."""

WRITTEN_FIELDS = ("name", "release_id", "files", "left_out")
"""Fields that exist once the files are written; all others come from the release itself."""

FILE_EXTRAS: Mapping[str, Any] = {
    "columns": tuple[str, ...],
    "bands": tuple[str, ...],
    "rows": int,
    "geoparquet": str | None,
    **dict.fromkeys(
        (
            "level",
            "values",
            "standard_error",
            "low, high",
            "coordinates",
            "unit",
            "data_type",
            "nodata",
            "overviews",
        ),
        str,
    ),
}
"""Optional facts about a file, by name, with their types."""


@dataclass(frozen=True, kw_only=True)
class File:
    """A file of a release.

    Attributes
    ----------
    name : str
        Relative to the card.
    media_type : str, optional
    what : str
    extras : mapping
        Further facts: names and types are those of ``FILE_EXTRAS``.
    sha256 : str
    """

    name: str
    media_type: str | None = None
    what: str
    extras: Mapping[str, Any] = field(default_factory=dict, metadata={"inline": FILE_EXTRAS})
    sha256: Digest


@dataclass(frozen=True)
class LeftOut:
    """A file that a release does not have, and why."""

    name: str
    why: str


DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
"""A date, as ``reference_date`` has one or two."""


@dataclass(frozen=True, kw_only=True)
class StatedMetadata:
    """Statements of the publishing office about what it publishes.

    A text with a caption is all that it takes for one to be shown wherever the others are.

    Attributes
    ----------
    title, description, publisher, contact, licence, source : str, optional
        In the office's words.
    reference_date : str, optional
        Date of the counts: ``2020-10-01``, or a period, ``2020-04-01/2021-03-31``.
    language : str, optional
        Language of these texts: ``ja``, ``en``, ``pt-BR``.
    supersedes : str, optional
        The release id of the earlier release that this one replaces. Every table of a release of
        several tables, and every snapshot of a series, states the id of the whole that is replaced.
    display_below : int, optional
        Counts above 0 and below it are shown as ``<k`` to people, from 2 to 2^31: a rule of
        display (:mod:`geodp.table.display`), of which guarantee, noise and files know nothing.
    """

    title: str | None = field(
        default=None, metadata=caption("title", "表題", cf="title", stac="title")
    )
    description: str | None = field(
        default=None, metadata=caption("description", "説明", cf="summary", stac="description")
    )
    publisher: str | None = field(
        default=None, metadata=caption("publisher", "公表者", cf="institution")
    )
    contact: str | None = field(default=None, metadata=caption("contact", "連絡先"))
    licence: str | None = field(
        default=None, metadata=caption("licence", "利用条件", cf="license", stac="license")
    )
    source: str | None = field(
        default=None, metadata=caption("source of the counts", "数の出典", cf="references")
    )
    reference_date: Annotated[str, Text(rf"{DAY}(/{DAY})?")] | None = field(
        default=None, metadata=caption("reference date", "基準日")
    )
    language: Annotated[str, Text(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")] | None = field(
        default=None, metadata=caption("language of these words", "記載の言語")
    )
    supersedes: Annotated[str, Text(r"[0-9a-f]{16}")] | None = field(
        default=None,
        metadata=caption(
            "replaces the release, which is not to be used any more",
            "置き換える公開物（今後は使わないでください）",
        ),
    )
    display_below: Annotated[int, AtLeast(2, LARGEST)] | None = None


@dataclass(frozen=True, kw_only=True)
class Card:
    """The card of a table, ``release.json``.

    Attributes
    ----------
    schema : {"geodp-release-2", "geodp-release-parts-2"}
    software : Software
    private : bool
        Whether nobody could know the key of the noise beforehand.
    guarantee : StatedGuarantee
    budget : StatedCharge or None
        What was charged to a ledger.
    domain : StatedDomain
    reading : StatedReading, optional
        Layout, columns and unit of the input, where all of it was read in one way.
    mechanism : StatedMechanism
    expected_error : StatedError
    post_processing : tuple of str
    prior : StatedPrior, optional
        That the release was made with.
    metadata : StatedMetadata, optional
        Metadata of the publishing office.
    name : str
        Name of the count and of the files; empty before there are any.
    release_id : str
        16 hexadecimal digits over the table and all of the above.
    files : tuple of File
    left_out : tuple of LeftOut
    """

    schema: Literal["geodp-release-2", "geodp-release-parts-2"]
    software: Software
    private: bool
    guarantee: StatedGuarantee
    budget: StatedCharge | None
    domain: StatedDomain
    reading: StatedReading | None = None
    mechanism: StatedMechanism
    expected_error: StatedError
    post_processing: tuple[str, ...]
    prior: StatedPrior | None = None
    metadata: StatedMetadata | None = None
    name: Annotated[str, Text(r"[^/\\\s]+")] = ""
    release_id: Annotated[str, Text(r"[0-9a-f]{16}")] = ""
    files: tuple[File, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def __repr__(self) -> str:
        return f"Card({self.name!r}, {self.mechanism.name}, {self.guarantee.spends})"

    def to_json(self) -> dict[str, Any]:
        """Return the card as plain values; before there are files, without fields about them."""
        plain: dict[str, Any] = write_plain(self)
        # The release id is a digest over the card without these fields, which do not exist yet.
        return plain if self.name else drop_written(plain)

    @classmethod
    def from_json(cls, plain: Any) -> Card:
        """Read a card from plain values that may come from anybody.

        Raises
        ------
        VerificationError
            A name is missing or unknown, or a value has another type or is out of its range.
        """
        return read_plain(cls, plain, "card")

    @property
    def display_below(self) -> int | None:
        """The office's display limit; None: every count is shown."""
        return None if self.metadata is None else self.metadata.display_below

    @property
    def in_parts(self) -> bool:
        """Whether the release has its table in several Parquet files, and no other."""
        return self.schema == PARTS_SCHEMA

    @property
    def in_joint_table(self) -> bool:
        """Whether the parts of cells are columns of the joint table of a release, too."""
        facts = self.guarantee.not_protected
        return bool(self.domain.attributes) and any(one.startswith(COLUMNS_OF) for one in facts)

    @property
    def listed(self) -> dict[str, str]:
        """Digests of the files by name."""
        return {file.name: file.sha256 for file in self.files}


def drop_written(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of a card without the fields about its files."""
    return {name: value for name, value in plain.items() if name not in WRITTEN_FIELDS}


NOTICE_SCHEMA = "geodp-withdrawal/1"


@dataclass(frozen=True)
class Withdrawal:
    """The contents of a notice.

    Attributes
    ----------
    schema : str
    release_id, card_sha256 : str
        The id of the withdrawn release, and the SHA-256 of its card; of a series the beginning of
        the SHA-256 of its index, and all of it.
    date : str
        The operator's date, YYYY-MM-DD.
    reason : str
    use : str or None
        The id of the release to be used instead.
    """

    schema: str
    release_id: str
    card_sha256: str
    date: str
    reason: str
    use: str | None = None

    def __post_init__(self) -> None:
        if self.schema != NOTICE_SCHEMA:
            raise VerificationError(
                f"A notice's schema is {NOTICE_SCHEMA!r}.", code="notice-schema"
            )
        try:
            date.fromisoformat(self.date)
        except ValueError:
            raise UsageError(
                "The date of a withdrawal is written YYYY-MM-DD.", code="withdrawal-date"
            ) from None
        if not self.reason.strip() or not self.reason.isprintable():
            raise UsageError(
                "The reason of a withdrawal must be a text on one line.",
                code="withdrawal-reason",
            )

    def to_json(self) -> dict[str, Any]:
        """Return the notice as plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Notice:
    """A notice that lies beside a release.

    Attributes
    ----------
    withdrawal : Withdrawal or None
        None if it cannot be read, or is of another release.
    """

    withdrawal: Withdrawal | None
