"""Kinds of release: whose card lies in a public folder, and who reads, checks and explains it.

The release of a table is geodp's own kind, which the core knows. Every other kind is a
:class:`Kind` that a feature lists in its module ``kind``, or a package of somebody else's in a
module that an entry point ``geodp.kinds`` names, both as ``KINDS``. They are imported only where a
folder holds no release of a table, so that nothing of them is loaded for one that does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Protocol

from geodp.errors import VerificationError, add_plugins
from geodp.io.folder.manifest import sha256
from geodp.io.opening import read_json
from geodp.registry import find_modules
from geodp.table.card import PARTS_SCHEMA, SCHEMA

CARD = "release.json"
"""Name of the card of a table's release inside ``public``."""

GROUP = "geodp.kinds"
"""Entry points of packages that offer kinds."""


class PublicCard(Protocol):
    """What every card says, of whatever kind it is."""

    @property
    def schema(self) -> str:
        """Name and version of the card's form, which tells its kind."""


@dataclass(frozen=True)
class Check:
    """One question asked of a release.

    Attributes
    ----------
    name : str
    ok : bool
    detail : str
        What was found, in a sentence.
    """

    name: str
    ok: bool
    detail: str


class Kind(ABC):
    """A kind of release beside that of a table.

    Attributes
    ----------
    name : str
        Such as "selection".
    title : str
        With its article, for sentences: "a selection".
    file : str
        Name of the card inside ``public``.
    schemas : tuple of str
        What ``schema`` says in cards of this kind. No two kinds share one.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    file: ClassVar[str] = CARD
    schemas: ClassVar[tuple[str, ...]]

    @abstractmethod
    def read_card(self, folder: Path) -> PublicCard:
        """Return the card in a public folder; VerificationError for what is none."""

    @abstractmethod
    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Ask a public folder whether its files agree with each other and with the card.

        ``errors`` is that of :func:`geodp.io.verify.verify.verify`, for tables among the files.
        """

    def identify(self, folder: Path) -> str:
        """Return 16 hexadecimal digits that tell this release from every other."""
        self.read_card(folder)
        return sha256(folder / self.file)[:16]

    def open(self, folder: Path) -> object:
        """Return what is in a public folder, for :func:`geodp.open`."""
        self.refuse_table()

    def explain(self, card: Any, language: str) -> Any:
        """Return what a release means for people: a :class:`geodp.explain.Explanation`."""
        raise VerificationError(
            f"This is {self.title}, which geodp explain does not know.", code="kind-not-explained"
        )

    def refuse_table(self) -> NoReturn:
        """Raise VerificationError where a table is asked for, with what to do instead."""
        raise VerificationError(
            f"This is {self.title}, which has no table.", code="kind-has-no-table"
        )


def _fits(one: object) -> bool:
    """Whether something is a kind with what its class must say."""
    return (
        isinstance(one, Kind)
        and all(isinstance(text, str) for text in (one.name, one.title, one.file))
        and isinstance(one.schemas, tuple)
        and not {*one.schemas} & {SCHEMA, PARTS_SCHEMA}
    )


@cache
def list_kinds() -> dict[str, Kind]:
    """Return every kind beside that of a table, by its name; imports whoever offers one."""
    own = {kind.name: kind for module in find_modules("kind") for kind in module.KINDS}
    return add_plugins(own, GROUP, "KINDS", _fits)


def _schema_in(file: Path) -> object:
    """Return what a card says of its form; None where there is no such card."""
    try:
        card = read_json(file)
    except (OSError, ValueError):
        return None
    return card.get("schema") if isinstance(card, dict) else None


def is_table(folder: Path) -> bool:
    """Return whether a public folder holds the release of a table, in one piece or in parts."""
    return _schema_in(folder / CARD) in (SCHEMA, PARTS_SCHEMA)


def find_kind(folder: Path) -> Kind | None:
    """Return the kind of the release in a public folder.

    None for the release of a table, and where there is no card that any kind knows.
    """
    schema = _schema_in(folder / CARD)
    if schema in (SCHEMA, PARTS_SCHEMA):
        return None
    for kind in list_kinds().values():
        if (schema if kind.file == CARD else _schema_in(folder / kind.file)) in kind.schemas:
            return kind
    return None


def kind_of(card: PublicCard) -> Kind:
    """Return the kind of a card that is not that of a table; VerificationError where none is."""
    for kind in list_kinds().values():
        if card.schema in kind.schemas:
            return kind
    raise VerificationError(
        f"No kind of release has cards of the schema {card.schema!r}.", code="card-kind-unknown"
    )


def find_card(folder: Path) -> Path | None:
    """Return the card in a folder, by its name alone; None where no kind has one there."""
    if (folder / CARD).is_file():
        return folder / CARD
    if not folder.is_dir():
        return None
    files = (folder / kind.file for kind in list_kinds().values())
    return next((file for file in files if file.is_file()), None)
