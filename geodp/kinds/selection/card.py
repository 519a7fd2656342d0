"""The public card of a selection: the question, the answer and the guarantee, without counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from geodp.privacy.assumption import Assumption, name_layout
from geodp.reprs import one_line
from geodp.table.card import StatedMetadata
from geodp.table.plain import read_plain, write_plain
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.release import Amount, Exact, Identity, Size, Software, StatedCharge

SELECTION_SCHEMA: Literal["geodp-selection-1"] = "geodp-selection-1"
"""Value of ``schema`` in the card of a selection."""

NO_COUNTS = (
    "This is a selection, which names places and has no counts: geodp explain says what they mean."
)

Code = str | int | float


@dataclass(frozen=True)
class SelectionGuarantee:
    """The guarantee of a selection.

    Attributes
    ----------
    in_words, variant, precondition, source : str
    not_protected : tuple of str
    mechanism : str
        Name of the mechanism in the ledger.
    epsilon : str
        Exact, of all rounds together; ``epsilon_decimal``: the nearest decimal.
    neighbours, unit : str
    contribution : int
        Largest amount that one unit adds to the sum of all counts; ``contribution_bound``: who
        bounds it.
    sensitivity : str
        Largest difference of a candidate's utility between neighbours.
    monotone : bool
        Whether neighbours change all utilities in one direction.
    rounds : int
    rate : str
        Decay per unit of utility in a round: epsilon / rounds / sensitivity, or half of it.
    key_origin, noise_key : str
    assumptions : tuple of Assumption, optional
        Assumptions about the input, and who answers for them.
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
    # Absent in cards of versions that did not list assumptions.
    assumptions: tuple[Assumption, ...] | None = None

    @property
    def layout(self) -> str:
        """The name and title of the layout that bounds the contribution; empty without one."""
        return name_layout(self.assumptions or ())

    @property
    def spends(self) -> str:
        """The exact budget in a line."""
        return f"epsilon = {self.epsilon}"


@dataclass(frozen=True)
class QuestionInfo:
    """The question of a selection.

    Attributes
    ----------
    name : str
        ``in_words``: as a sentence.
    utility : str
        What makes a candidate better, as text.
    candidates : int
        Number of all candidates, chosen without the data.
    chosen : int
        Number of named candidates.
    level : str, optional
        Level of the areas that are candidates; absent for cells.
    q : str, optional
        The quantile; ``axis``: the axis along which it is taken.
    """

    name: Literal["top", "quantile"]
    in_words: str
    utility: str
    candidates: Size
    chosen: Size
    level: str | None = None
    q: Exact | None = None
    axis: str | None = None


@dataclass(frozen=True)
class SelectorInfo:
    """The mechanism that drew: its name, version, title, citation and format of noise."""

    name: str
    version: Size
    title: str
    citation: str
    noise_format: str


@dataclass(frozen=True)
class FalseHotSpots:
    """The count below which empty candidates are expected among the named ones."""

    meaning: str
    count: Amount


@dataclass(frozen=True, kw_only=True)
class SelectionCard:
    """The content of ``release.json`` of a selection.

    Attributes
    ----------
    schema : "geodp-selection-1"
    software : Software
    private : bool
        Whether nobody could know the key of the noise beforehand.
    guarantee : SelectionGuarantee
    budget : StatedCharge or None
        The charge to a ledger.
    domain : StatedDomain
    question : QuestionInfo
    mechanism : SelectorInfo
    false_hot_spots : FalseHotSpots or None
        None where the candidates are not compared by counts.
    chosen : tuple of mapping
        Codes of the chosen candidates, in the order of the draws.
    metadata : StatedMetadata, optional
        Metadata of the publishing office.
    release_id : str
        16 hexadecimal digits over all of the above.
    """

    __repr__ = one_line

    schema: Literal["geodp-selection-1"]
    software: Software
    private: bool
    guarantee: SelectionGuarantee
    budget: StatedCharge | None
    domain: StatedDomain
    question: QuestionInfo
    mechanism: SelectorInfo
    false_hot_spots: FalseHotSpots | None
    chosen: tuple[Mapping[str, Code], ...]
    metadata: StatedMetadata | None = None
    release_id: Identity = "0" * 16

    @property
    def listed(self) -> dict[str, str]:
        """Digests of other files of the folder: there are none."""
        return {}

    @property
    def digest(self) -> str:
        """The id that the content determines."""
        # The id itself is left out, as it cannot be part of what it is the digest of.
        plain = {k: v for k, v in write_plain(self).items() if k != "release_id"}
        text = json.dumps(plain, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def with_id(self) -> Self:
        """Copy the card with its id."""
        return replace(self, release_id=self.digest)

    def to_json(self) -> dict[str, Any]:
        """Return the card as plain values."""
        plain: dict[str, Any] = write_plain(self)
        return plain

    @classmethod
    def from_json(cls, plain: Any) -> Self:
        """Read the card from plain values; VerificationError if they are not those of a card."""
        return read_plain(cls, plain, "card")
