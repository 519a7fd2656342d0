"""A selection is a release: charged before anybody sees it, with a card, and replayed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from geodp import __version__
from geodp.errors import UsageError
from geodp.features.select.card import (
    SELECTION_SCHEMA,
    SelectionCard,
    StatedFalse,
    StatedPromise,
    StatedQuestion,
    StatedSelector,
)
from geodp.features.select.files import stage_selection
from geodp.features.select.mechanisms import Selector, find_selector
from geodp.features.select.question import Answer, Question
from geodp.grid.grid import Grid
from geodp.mechanisms.base import PUBLIC_DOMAIN, Plain
from geodp.privacy.key import NOISE_FORMAT, NoiseKey, digest
from geodp.privacy.ledger import Charge, Ledger
from geodp.privacy.noise.draws import Draw, Draws
from geodp.privacy.selected import Selection
from geodp.privacy.terms import Terms
from geodp.release.assumptions import list_assumptions
from geodp.release.charging import Keep, draw_and_charge
from geodp.release.identity import encode, grid_components, loss_fields, release_key
from geodp.release.request import Request
from geodp.reprs import one_line
from geodp.table.charged import StatedCharge
from geodp.table.contribution import bound_contribution, require_no_sums
from geodp.table.counts import CountTable
from geodp.table.plain import read_plain, write_plain
from geodp.table.reading import require_rows
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.release import Software
from geodp.table.totals import InMemoryTable

LABEL = b"geodp selection identity 2"
"""Of this use of the hash, and of the list of components."""

DEFAULT = "permute-and-flip"

KEPT = (
    "whether two selections with the same kept key and parameters come from exactly the same "
    "input: they are then identical, so use a new key for every new state of the data"
)


@dataclass(frozen=True, eq=False)
class Selected:
    """What was chosen, and all that may be said about it in public.

    Attributes
    ----------
    grid : Grid
    question : Question
    selector : Selector
    event : Selection
    chosen : tuple of mapping
        Codes and labels, in the order of the draws.
    charge : Charge, optional
        What was charged to a ledger for it.
    public_facts : tuple of str
        What a refusal would have told, so that the card says it is not protected.
    """

    __repr__ = one_line

    grid: Grid
    question: Question
    selector: Selector
    event: Selection
    chosen: tuple[Answer, ...]
    charge: Charge | None = None
    public_facts: tuple[str, ...] = ()

    @property
    def draws(self) -> tuple[Draw, ...]:
        """All that can be drawn for it."""
        return self.question.declare(self.selector, self.event.rate)

    def card(self) -> SelectionCard:
        """Return the public card: all of ``release.json``."""
        return SelectionCard(
            schema=SELECTION_SCHEMA,
            software=Software("geodp", __version__),
            private=self.event.is_private,
            guarantee=self._promise(),
            budget=None if self.charge is None else StatedCharge.of(self.charge),
            domain=StatedDomain.of(self.grid),
            question=self._question(),
            mechanism=StatedSelector(
                self.selector.name,
                self.selector.version,
                self.selector.title,
                self.selector.citation,
                NOISE_FORMAT,
            ),
            false_hot_spots=self._false(),
            chosen=self.chosen,
        ).with_id()

    def _promise(self) -> StatedPromise:
        event, promised = self.event, self.selector.guarantee
        words = {
            "in_words": event.words,
            "variant": event.variant,
            "precondition": PUBLIC_DOMAIN,
            "assumptions": [write_plain(one) for one in list_assumptions(event, self.grid)],
            "source": promised.source,
            "not_protected": [
                "the domain, the grid, the question and every other value of this card: public by "
                "construction",
                "other releases about the same people: their budgets add to this one",
                "groups: k people together are protected with k times epsilon",
                *([] if event.key_origin == "entropy" else [KEPT]),
                *self.public_facts,
            ],
        }
        return read_plain(StatedPromise, {**words, **event.describe()}, "guarantee")

    def _question(self) -> StatedQuestion:
        sentence, utility = self.question.words
        named = StatedQuestion.__dataclass_fields__
        settings = {
            name: str(value)
            for name, value in self.question.settings
            if name in named and value is not None
        }
        stated = {
            "name": self.question.name,
            "in_words": sentence,
            "utility": utility,
            "candidates": self.question.candidates(self.grid),
            "chosen": len(self.chosen),
        }
        return read_plain(StatedQuestion, stated | settings, "question")

    def _false(self) -> StatedFalse | None:
        count = self.question.false_below(self.grid, self.event.rate)
        if count is None:
            return None
        return StatedFalse(
            meaning="below this count false hot spots are to be expected: all empty candidates "
            "together weigh as much as one that holds so many people",
            count=count,
        )

    def write(
        self, path: str | Path, *, overwrite: bool = False, restricted: dict[str, Any] | None = None
    ) -> dict[str, list[str]]:
        """Write ``path/public`` and ``path/restricted``, all or nothing.

        Parameters
        ----------
        path : path
            A folder that does not exist yet or is empty; with ``overwrite`` an earlier release.
        overwrite : bool
        restricted : dict, optional
            For the operator only, kept in ``restricted/run.json``.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths written.

        Raises
        ------
        UsageError
            The folder exists or holds something else than a release.
        OutputError
            The disk is full or the folder cannot be written; nothing is published there.
        """
        with stage_selection(self.card(), path, overwrite=overwrite) as place:
            return place.write(self.card(), restricted or {})


@dataclass(frozen=True, eq=False)
class PreparedSelection:
    """A selection of which all is settled and measured; nothing is charged and nothing drawn.

    Attributes
    ----------
    table : CountTable
    request : Request
    preview : Selected
        With an answer that depends on no data; all else but the charge is that of the selection.
    measured
        What the draws go by: confidential.
    """

    table: CountTable = field(repr=False)
    request: Request
    preview: Selected
    measured: Any = field(repr=False)

    def release(self, keep: Keep[Selected] | None = None) -> Selected:
        """Draw, and charge; ``keep`` gets the selection before, and the charge's fingerprint."""
        at, request = self.preview, self.request
        draws = Draws.of(at.draws)
        own, fingerprint = release_key(request.key, draws, lambda: selection_digest(self.table, at))

        def draw() -> Selected:
            rate = at.event.rate
            return replace(
                at, chosen=at.question.draw(at.selector, at.grid, self.measured, rate, own)
            )

        try:
            selected, charge = draw_and_charge(
                request.ledger,
                request.dataset,
                at.event,
                fingerprint,
                draw,
                keep,
                records=request.records,
            )
        finally:
            own.forget()
        return replace(selected, charge=charge)


def choose(
    table: CountTable,
    question: Question,
    mechanism: str | Selector,
    terms: Terms,
    allow_empty: bool,
    key: NoiseKey | None,
    ledger: Ledger | None,
    dataset: str | None,
    records: str | None,
) -> Selected:
    """Answer a question about a table, as the front doors of selections are asked."""
    request = Request(
        terms=terms,
        allow_empty=allow_empty,
        key=key,
        ledger=ledger,
        dataset=dataset,
        records=records,
    )
    return prepare(table, question, request, mechanism).release()


def prepare(
    table: CountTable, question: Question, request: Request, mechanism: str | Selector = DEFAULT
) -> PreparedSelection:
    """Do everything of a selection that comes before the charge.

    Raises
    ------
    UsageError
        A question that the grid does not answer, a budget other than epsilon, no contribution
        where geodp has not bounded it, a table that counts nothing.
    """
    if not isinstance(table, CountTable):
        raise UsageError(
            "A selection takes a CountTable; CountTable.from_dense makes one.",
            code="table-expected",
        )
    selector, terms = find_selector(mechanism), request.terms
    question.candidates(table.grid)
    event = Selection.of(
        f"select-{question.name}:{selector.name}",
        terms.bound(bound_contribution(table, terms.contribution)),
        question.change,
        question.rounds,
        request.key_origin,
    )
    facts = (
        *require_rows(table.rows, table.reading, allow_empty=request.allow_empty),
        *require_no_sums(table.grid, event, InMemoryTable(table)),
    )
    preview = Selected(
        table.grid, question, selector, event, question.longest(table.grid), None, facts
    )
    preview.card()
    return PreparedSelection(table, request, preview, question.measure(table, event))


def selection_digest(table: CountTable, at: Selected) -> bytes:
    """SHA-256 of everything that a selection depends on but the key.

    The table, the grid, the question with its version and settings, the mechanism, the event, and
    every stream that can be drawn with its exact law.
    """
    said: dict[str, Plain] = {
        **grid_components(at.grid),
        "question": (at.question.name, at.question.version),
        "settings": at.question.settings,
        "mechanism": (at.selector.name, at.selector.version),
        "event": loss_fields(at.event),
        "draws": tuple((draw.stream, draw.law) for draw in at.draws),
    }
    return digest(
        LABEL,
        encode(tuple(said.items())),
        table.key.astype("<u8", copy=False),
        table.count.astype("<i8", copy=False),
    )
