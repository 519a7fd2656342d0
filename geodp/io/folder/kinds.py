"""Kinds of release: the class of each, and how to find the one whose card lies in a public folder.

The release of a table is geodp's own kind, which the core knows. Every other kind is a
:class:`Kind` that a feature lists in its module ``kind``, or a third-party package in a
module that an entry point ``geodp.kinds`` names, both as ``KINDS``. They are imported only where a
folder holds no release of a table, so that nothing of them is loaded for one that does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Protocol

from geodp.errors import UsageError, VerificationError, add_plugins
from geodp.io.folder.manifest import sha256
from geodp.io.opening import read_json
from geodp.registry import find_modules
from geodp.table.card import PARTS_SCHEMA, SCHEMA

CARD = "release.json"
"""Name of the card of a table's release inside ``public``."""

TABLE = "a release of a table"
"""Title of the kind that the core knows, for sentences."""

GROUP = "geodp.kinds"
"""Entry points of packages that offer kinds."""


class PublicCard(Protocol):
    """Attributes that cards of every kind have."""

    @property
    def schema(self) -> str:
        """Name and version of the card's schema, which identifies its kind."""


@dataclass(frozen=True)
class Check:
    """Result of one check of a release.

    Attributes
    ----------
    name : str
    ok : bool
    detail : str
        Message on the result.
    """

    name: str
    ok: bool
    detail: str


class Kind(ABC):
    """A kind of release other than that of a table.

    Attributes
    ----------
    name : str
        For example "selection".
    title : str
        With its article, for sentences: "a selection".
    file : str
        Name of the card inside ``public``.
    schemas : tuple of str
        Values of ``schema`` in cards of this kind. No two kinds share one.
    instead : str
        What to do where a table is requested, for the end of a sentence.
    doors : mapping of str to str
        Functions that only this kind has, as ``package.module:function`` inside geodp: ``open``
        (of the public folder and the card), ``explain`` (of the card and the language), ``draw``
        (of what was opened, the look of a map and the day of a withdrawal), ``view`` (of what was
        opened: what maps of counts show, if not its first table), ``page`` (of what was
        opened, the language, and by name places, notice and the kind's own options), and commands
        whose answers only this kind has (:mod:`geodp.cli.using`). They are imported when they are
        called, so that reading a card loads nothing else.
    lacks : mapping of str to str
        What this kind cannot do, by the name of the command, with a sentence on why and what to do.
    """

    doors: ClassVar[Mapping[str, str]] = {}
    lacks: ClassVar[Mapping[str, str]] = {}

    name: ClassVar[str]
    title: ClassVar[str]
    file: ClassVar[str] = CARD
    schemas: ClassVar[tuple[str, ...]]
    instead: ClassVar[str] = "geodp report, geodp verify and geodp explain read it"

    @abstractmethod
    def read_card(self, folder: Path) -> PublicCard:
        """Read the card in a public folder; VerificationError if it is not valid."""

    @abstractmethod
    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Check whether the files of a public folder agree with each other and with the card.

        ``errors`` is passed to :func:`geodp.io.verify.verify.verify`, for tables among the files.
        """

    def identify(self, folder: Path) -> str:
        """Return 16 hexadecimal digits that distinguish this release from every other."""
        self.read_card(folder)
        return sha256(folder / self.file)[:16]

    def open(self, folder: Path) -> object:
        """Open a public folder, for :func:`geodp.open`."""
        self.refuse_table()

    def explain(self, card: Any, language: str) -> Any:
        """Explain what a release means for people, as a :class:`geodp.explain.Explanation`."""
        explain = self.find("explain")
        if explain is None:
            raise VerificationError(
                f"This is {self.title}, which geodp explain does not know.",
                code="kind-not-explained",
            )
        return explain(card, language)

    def find(self, door: str) -> Callable[..., Any] | None:
        """Import and return the function of a door; None where this kind has none of its own."""
        if door not in self.doors:
            return None
        module, _, name = self.doors[door].partition(":")
        found: Callable[..., Any] = getattr(import_module(f"geodp.{module}"), name)
        return found

    def refuse_table(self) -> NoReturn:
        """Raise UsageError where a table is requested, with what to do instead."""
        raise UsageError(
            f"This is {self.title}, which has no table of its own; {self.instead}.",
            code="kind-has-no-table",
        )


def _fits(one: object) -> bool:
    """Test whether a plug-in's object is a kind with all required attributes."""
    return (
        isinstance(one, Kind)
        and all(isinstance(text, str) for text in (one.name, one.title, one.file))
        and isinstance(one.schemas, tuple)
        and not {*one.schemas} & {SCHEMA, PARTS_SCHEMA}
    )


@cache
def list_kinds() -> dict[str, Kind]:
    """Import and return every kind other than that of a table, by its name."""
    builtin = {kind.name: kind for module in find_modules("kind") for kind in module.KINDS}
    # Plug-ins that break are skipped with a note: opening someone's release must not depend on
    # them.
    return add_plugins(builtin, GROUP, "KINDS", _fits)


def _schema_in(file: Path) -> object:
    """Read the schema that a card declares; None if there is no such card."""
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
    # Decided before `list_kinds`, which imports every feature: opening a table must not pay for
    # that.
    if schema in (SCHEMA, PARTS_SCHEMA):
        return None
    for kind in list_kinds().values():
        if (schema if kind.file == CARD else _schema_in(folder / kind.file)) in kind.schemas:
            return kind
    return None


def kind_of(card: PublicCard) -> Kind:
    """Return the kind of a card that is not that of a table; VerificationError if there is none."""
    for kind in list_kinds().values():
        if card.schema in kind.schemas:
            return kind
    raise VerificationError(
        f"No kind of release has cards of the schema {card.schema!r}.", code="card-kind-unknown"
    )


def find_card(folder: Path) -> Path | None:
    """Return the card in a folder, by its name alone; None if no kind has one there."""
    if (folder / CARD).is_file():
        return folder / CARD
    if not folder.is_dir():
        return None
    # By name alone, as a damaged card should still be found, and then be reported as damaged.
    files = (folder / kind.file for kind in list_kinds().values())
    return next((file for file in files if file.is_file()), None)
