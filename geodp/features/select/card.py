"""The public card of a selection: what was asked, what was chosen, what is promised; no counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from geodp.privacy.assumption import Assumption, name_layout
from geodp.reprs import one_line
from geodp.table.charged import Amount, Exact, StatedCharge
from geodp.table.plain import Text, read_plain, write_plain
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.release import Size, Software

SELECTION_SCHEMA: Literal["geodp-selection-1"] = "geodp-selection-1"
"""What ``schema`` says in the card of a selection."""

Code = str | int | float


@dataclass(frozen=True)
class StatedPromise:
    """What a selection promises whom.

    Attributes
    ----------
    in_words, variant, precondition, source : str
    not_protected : tuple of str
    mechanism : str
        As it stands in the ledger.
    epsilon : str
        Exact, of all rounds together, with the nearest decimal.
    neighbours, unit : str
    contribution : int
        The most that one unit adds to the sum of all counts; who bounds it.
    sensitivity : str
        The most that the utility of a candidate differs between neighbours.
    monotone : bool
        Whether neighbours change all utilities in one direction.
    rounds : int
    rate : str
        What a unit of utility is worth in a round: epsilon / rounds / sensitivity, or half of it.
    key_origin, noise_key : str
    assumptions : tuple of Assumption, optional
        What is assumed of the input, and who answers for it.
    """

    in_words: str
    variant: str
    precondition: str
    source: str
    not_protected: tuple[str, ...]
    mechanism: str
    epsilon: Exact
    epsilon_decimal: Amount
    neighbours: Literal["add-remove-one", "replace-one"]
    contribution: Size
    contribution_bound: str
    enforced: bool
    unit: str
    sensitivity: Exact
    monotone: bool
    rounds: Size
    rate: Exact
    key_origin: Literal["entropy", "file", "fixed"]
    noise_key: str
    assumptions: tuple[Assumption, ...] | None = None

    @property
    def layout(self) -> str:
        """Name and title of the layout that states the contribution; empty where none does."""
        return name_layout(self.assumptions or ())


@dataclass(frozen=True)
class StatedQuestion:
    """What was asked.

    Attributes
    ----------
    name : str
        ``in_words``: as a sentence.
    utility : str
        What makes a candidate better, in words.
    candidates : int
        All of them, chosen without the data.
    chosen : int
        How many are named.
    level : str, optional
        Of the areas that are candidates; absent for cells.
    q : str, optional
        The quantile; ``axis``: along which axis.
    next_epsilon : str, optional
        Of the release that a level is chosen for.
    """

    name: Literal["top", "level", "quantile", "median-centre"]
    in_words: str
    utility: str
    candidates: Size
    chosen: Size
    level: str | None = None
    q: Exact | None = None
    axis: str | None = None
    next_epsilon: Exact | None = None


@dataclass(frozen=True)
class StatedSelector:
    """The mechanism that drew: its name, version, title, citation and format of noise."""

    name: str
    version: Size
    title: str
    citation: str
    noise_format: str


@dataclass(frozen=True)
class StatedFalse:
    """The count below which empty candidates are expected among those that are named."""

    meaning: str
    count: Amount


@dataclass(frozen=True, kw_only=True)
class SelectionCard:
    """All of ``release.json`` of a selection.

    Attributes
    ----------
    schema : "geodp-selection-1"
    software : Software
    private : bool
        Whether nobody could know the key of the noise beforehand.
    guarantee : StatedPromise
    budget : StatedCharge or None
        What was charged to a ledger.
    domain : StatedDomain
    question : StatedQuestion
    mechanism : StatedSelector
    false_hot_spots : StatedFalse or None
        None where counts are not what is compared.
    chosen : tuple of mapping
        Codes of what was chosen, in the order of the draws.
    release_id : str
        16 hexadecimal digits over all of the above.
    """

    __repr__ = one_line

    schema: Literal["geodp-selection-1"]
    software: Software
    private: bool
    guarantee: StatedPromise
    budget: StatedCharge | None
    domain: StatedDomain
    question: StatedQuestion
    mechanism: StatedSelector
    false_hot_spots: StatedFalse | None
    chosen: tuple[Mapping[str, Code], ...]
    release_id: Annotated[str, Text(r"[0-9a-f]{16}")] = "0" * 16

    @property
    def listed(self) -> dict[str, str]:
        """Digests of files beside the card: there are none."""
        return {}

    @property
    def digest(self) -> str:
        """What the release's id is to be."""
        plain = {k: v for k, v in write_plain(self).items() if k != "release_id"}
        text = json.dumps(plain, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def with_id(self) -> Self:
        """Return the same card with its id."""
        return replace(self, release_id=self.digest)

    def with_budget(self, budget: StatedCharge) -> Self:
        """Return the card of the same selection once it is charged."""
        return replace(self, budget=budget).with_id()

    def to_json(self) -> dict[str, Any]:
        """Return the card as plain values."""
        plain: dict[str, Any] = write_plain(self)
        return plain

    @classmethod
    def from_json(cls, plain: Any) -> Self:
        """Return the card of plain values; VerificationError for what is none."""
        return read_plain(cls, plain, "card")
