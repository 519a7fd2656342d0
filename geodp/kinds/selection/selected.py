"""A selection as a release: charged before anybody sees it, with a card, and verified from it.

A card follows from its budget, its question and its domain: it is made again and compared, field by
field. Whether the answers are candidates is looked up in the domain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from geodp import __version__
from geodp.advice import takes
from geodp.errors import Rule, UsageError, VerificationError
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL
from geodp.grid.lattice import parse_codes
from geodp.io.folder.kinds import Check
from geodp.io.folder.publication import write_card
from geodp.io.folder.staged_release import Staged
from geodp.io.folder.staging import require_free, require_only_release_files
from geodp.io.verify.card import read_card, require
from geodp.io.verify.files import check_checksums, check_files, check_restricted
from geodp.io.verify.readback import grid_of
from geodp.io.verify.statements import has_words_of, require_charge, require_same
from geodp.io.verify.verify import run_checks
from geodp.kinds.selection.card import (
    NO_COUNTS,
    SELECTION_SCHEMA,
    Code,
    FalseHotSpots,
    QuestionInfo,
    SelectionCard,
    SelectionGuarantee,
    SelectorInfo,
)
from geodp.kinds.selection.mechanisms import SELECTORS, Selector, find_selector
from geodp.kinds.selection.question import Answer, Quantile, Question, Top, request_selection
from geodp.mechanisms.base import Plain
from geodp.privacy.event import PUBLIC_DOMAIN
from geodp.privacy.key import NOISE_FORMAT, NoiseKey, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.loss import PureDP
from geodp.privacy.noise.draws import Draw, Draws
from geodp.privacy.selected import Selection
from geodp.privacy.terms import Terms
from geodp.release.card import list_assumptions
from geodp.release.frames import explore_rows, locate_rows, make_frame, plot_rows, preview
from geodp.release.inputs import check_labels, state_tables
from geodp.release.noise_identity import encode, grid_components, loss_fields
from geodp.release.opening import WRITTEN
from geodp.release.request import Request
from geodp.release.transaction import Inputs, Prepared
from geodp.reprs import one_line
from geodp.table.card import StatedMetadata
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable
from geodp.table.plain import read_plain, write_plain
from geodp.table.reading import StatedReading
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.release import Software, StatedCharge

LABEL = b"geodp selection identity 2"
"""Domain separation of this hash; the number is the version of the list of components."""

DEFAULT = "permute-and-flip"

_KEY_NOTE = (
    "whether two selections with the same kept key and parameters come from exactly the same "
    "input: they are then identical, so use a new key for every new state of the data"
)


class StagedSelection(Staged):
    """A folder for a selection, which holds a preview that depends on no data."""

    @classmethod
    @contextmanager
    def stage(cls, path: str | Path, *, overwrite: bool, resume: bool = False) -> Iterator[Self]:
        """Yield a folder as :meth:`Staged.stage` does, for a card."""
        require_free(path, overwrite=overwrite)
        require_only_release_files(path)
        with super().stage(path, overwrite=overwrite, resume=resume) as place:
            place.make_public()
            yield place

    def try_out(self, preview: SelectionCard) -> None:
        """Write a card as long as the one to come, so that a full disk shows before the charge."""
        write_card(preview, self.folder / "public")

    def write(self, card: SelectionCard, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the files; return their paths, ``{"public": [...], "restricted": [...]}``."""
        write_card(card, self.folder / "public")
        return self.finish(restricted)


class Answers(ABC):
    """Chosen candidates, as frames, on a map and in notebooks.

    Attributes
    ----------
    chosen : tuple of mapping
        Codes and labels of the candidates, in the order of the draws.
    """

    chosen: Any

    @abstractmethod
    def card(self) -> SelectionCard:
        """Return the public card."""

    def estimate(self, *_region: Any, **_options: Any) -> NoReturn:
        """Raise UsageError: a selection has no counts."""
        raise UsageError(NO_COUNTS, code="kind-lacks")

    compare = to_xarray = estimate

    def to_pandas(self) -> Any:
        """Convert the chosen candidates to a ``pandas.DataFrame``, in the order of the draws."""
        return make_frame(self.chosen)

    def to_geopandas(self) -> Any:
        """Convert the chosen candidates to a ``geopandas.GeoDataFrame`` in the grid's CRS.

        Raises UsageError for candidates that are no cells of one map, or lie nowhere on the Earth.
        """
        question, grid = self.card().question, grid_of(self.card().domain)
        if grid.maps.missing or self.card().domain.regions is not None or question.name != "top":
            raise UsageError(
                "These candidates are no cells of one map: use to_pandas().",
                code="candidates-not-on-map",
            )
        if question.level not in (None, CELL):
            grid = Coarsening.of(grid, question.level).grid
        names = grid.maps.codes or grid.axis_names[:2]
        listed = [[one[name] for one in self.chosen] for name in names]
        index: Any = parse_codes(grid.places[0], listed[0]) if grid.maps.codes else listed
        return locate_rows(self.to_pandas(), grid, np.asarray(index, np.int64))

    def plot(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the chosen cells on Matplotlib axes in the grid's CRS, and return the axes.

        ``**kwargs`` are passed to ``GeoDataFrame.plot``. Raises UsageError as :meth:`to_geopandas`,
        and without Matplotlib.
        """
        return plot_rows(self.to_geopandas(), None, ax, **kwargs)

    def explore(self, **kwargs: Any) -> Any:
        """Show the chosen cells on an interactive map in a notebook, and return the map.

        ``**kwargs`` are passed to ``GeoDataFrame.explore``. Raises UsageError as
        :meth:`to_geopandas`, and without folium.
        """
        return explore_rows(self.to_geopandas, None, **kwargs)

    def _repr_html_(self) -> str:
        """Render the guarantee and the chosen candidates as HTML, for notebooks."""
        lines = [] if self.card().private else ["NOT PRIVATE"]
        chosen = (", ".join(map(str, one.values())) for one in self.chosen)
        return preview({}, [*lines, self.card().guarantee.in_words, *chosen])


@dataclass(frozen=True, eq=False)
class Selected(Answers):
    """The answer of a selection, and all that may be published about it.

    Attributes
    ----------
    grid : Grid
    question : Question
    selector : Selector
    event : Selection
    chosen : tuple of mapping
        Codes and labels, in the order of the draws.
    charge : Charge, optional
        The charge to a ledger.
    public_facts : tuple of str
        Facts that a refusal would have revealed, which the card lists as not protected.
    reading : StatedReading or None
        How the input was read, which no card of a selection states.
    metadata : StatedMetadata or None
        Metadata of the publishing office.
    """

    __repr__ = one_line

    grid: Grid
    question: Question
    selector: Selector
    event: Selection
    chosen: tuple[Answer, ...]
    charge: Charge | None = None
    public_facts: tuple[str, ...] = ()
    reading: StatedReading | None = None
    metadata: StatedMetadata | None = None

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Everything that can be drawn for it."""
        return self.question.declare(self.selector, self.event.rate)

    def card(self) -> SelectionCard:
        """Build the public card: the content of ``release.json``."""
        return self.state(StatedDomain.of(self.grid), self.question.candidates(self.grid))

    def state(self, domain: StatedDomain, candidates: int) -> SelectionCard:
        """State the selection on a domain with so many candidates."""
        return SelectionCard(
            schema=SELECTION_SCHEMA,
            software=Software("geodp", __version__),
            private=self.event.is_private,
            guarantee=self._promise(),
            budget=None if self.charge is None else StatedCharge.of(self.charge),
            domain=domain,
            question=self._question(candidates),
            mechanism=SelectorInfo(
                self.selector.name,
                self.selector.version,
                self.selector.title,
                self.selector.citation,
                NOISE_FORMAT,
            ),
            false_hot_spots=self._false(candidates),
            chosen=self.chosen,
            metadata=self.metadata,
        ).with_id()

    def _promise(self) -> SelectionGuarantee:
        event, guarantee = self.event, self.selector.guarantee
        fields = {
            "in_words": event.statement,
            "variant": event.variant,
            "precondition": PUBLIC_DOMAIN,
            "assumptions": [
                write_plain(assumption)
                for assumption in list_assumptions(event.assumption, self.grid)
            ],
            "source": guarantee.source,
            "not_protected": [
                "the domain, the grid, the question and every other value of this card: public by "
                "construction",
                "other releases about the same people: their budgets add to this one",
                "groups: k people together are protected with k times epsilon",
                *([] if event.key_origin == "entropy" else [_KEY_NOTE]),
                *self.public_facts,
            ],
        }
        return read_plain(SelectionGuarantee, {**fields, **event.describe()}, "guarantee")

    def _question(self, candidates: int) -> QuestionInfo:
        sentence, utility = self.question.description
        field_names = QuestionInfo.__dataclass_fields__
        settings = {
            name: str(value)
            for name, value in self.question.settings
            # Settings that the card has no field for are part of the question's sentence.
            if name in field_names and value is not None
        }
        fields = {
            "name": self.question.name,
            "in_words": sentence,
            "utility": utility,
            "candidates": candidates,
            "chosen": len(self.chosen),
        }
        return read_plain(QuestionInfo, fields | settings, "question")

    def _false(self, candidates: int) -> FalseHotSpots | None:
        count = self.question.false_below(candidates, self.event.rate)
        if count is None:
            return None
        return FalseHotSpots(
            meaning="below this count false hot spots are to be expected: all empty candidates "
            "together weigh as much as one that holds so many people",
            count=count,
        )

    def write(
        self, path: str | Path, *, overwrite: bool = False, restricted: dict[str, Any] | None = None
    ) -> dict[str, list[str]]:
        """Write ``path/public`` and ``path/restricted``, completely or not at all.

        Parameters
        ----------
        path : path
            A folder that does not exist yet or is empty; with ``overwrite`` an earlier release.
        overwrite : bool
        restricted : dict, optional
            Values for the operator only, written to ``restricted/run.json``.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths written.

        Raises
        ------
        UsageError
            The folder exists or holds something other than a release.
        OutputError
            The disk is full or the folder cannot be written; nothing is published there.
        """
        with StagedSelection.stage(path, overwrite=overwrite) as place:
            place.try_out(self.card())
            return self.write_into(place, restricted or {})

    def write_into(
        self, place: StagedSelection, restricted: dict[str, Any]
    ) -> dict[str, list[str]]:
        """Write the selection into a folder that was staged before the charge."""
        return place.write(self.card(), restricted)


@dataclass(frozen=True, eq=False)
class SelectionDesign:
    """A selection before anything is drawn.

    Attributes
    ----------
    request : Request
    inputs : Inputs
    shown : Selected
        The selection with an answer that depends on no data, and without a charge.
    """

    drawn: ClassVar[Any] = tuple[Answer, ...]

    request: Request
    inputs: Inputs
    shown: Selected

    @property
    def event(self) -> Selection:
        """The event of the selection."""
        return self.shown.event

    @property
    def draws(self) -> Draws:
        """The draws of the mechanism."""
        return Draws.of(self.shown.draws)

    def draw(self, measured: Any, key: NoiseKey) -> tuple[Answer, ...]:
        """Draw the answer from the utilities that decide it, which are confidential."""
        one = self.shown
        return one.question.draw(one.selector, one.grid, measured, one.event.rate, key)

    def complete(self, drawn: tuple[Answer, ...], charge: Charge | None) -> Selected:
        """Return the selection of what was drawn."""
        return replace(self.shown, chosen=drawn, charge=charge)


def prepare(
    table: CountTable,
    question: Question,
    request: Request,
    mechanism: str | Selector = DEFAULT,
    facts: tuple[str, ...] = (),
) -> Prepared[SelectionDesign, Selected]:
    """Do every step of a selection that comes before the charge.

    ``facts``: public facts about how the table was read, which the card states.

    Raises
    ------
    UsageError
        A question that does not suit the grid, a budget other than epsilon, no contribution
        where geodp has not bounded it, a table that counts nothing.
    """
    if not isinstance(table, CountTable):
        raise UsageError(
            "A selection needs a CountTable; CountTable.from_dense makes one.",
            code="table-expected",
        )
    # Refuses a question that does not suit the grid before anything is measured.
    question.candidates(table.grid)
    # Labels that geodp made itself are no totals, whatever they are called.
    own = table.bound if question.disjoint and request.terms.contribution is None else None
    bound = own or bound_contribution(table, request.terms.contribution)
    labels = check_labels([] if question.disjoint else [table], bound)
    inputs = Inputs(*state_tables([table], request, chain(labels, facts)), bound)
    design = design_selection(table.grid, question, request, mechanism, inputs)
    cells, people = int(table.key.size), int(table.count.sum())
    return Prepared(
        design,
        lambda: selection_digest(table, design.shown),
        partial(design.draw, question.measure(table, design.event)),
        table.reading,
        counted={"occupied_cells": cells, "counted_people": people},
    )


def design_selection(
    grid: Grid, question: Question, request: Request, mechanism: str | Selector, inputs: Inputs
) -> SelectionDesign:
    """Design a selection from public things alone; raises UsageError as :func:`prepare` does."""
    if request.metadata is not None and request.metadata.display_below is not None:
        raise UsageError(
            "A selection names places without counts: leave display_below out of its metadata.",
            code="selection-display-below",
        )
    selector = find_selector(mechanism)
    event = Selection.of(
        f"select-{question.name}:{selector.name}",
        request.terms.bound(inputs.bound),
        question.change,
        question.rounds,
        request.key_origin,
    )
    answer, facts = question.longest_answer(grid), inputs.facts
    shown = Selected(
        grid,
        question,
        selector,
        event,
        answer,
        public_facts=facts,
        reading=inputs.readings[0],
        metadata=request.metadata,
    )
    # Building the card now shows errors in it before anything is charged.
    shown.card()
    return SelectionDesign(request, inputs, shown)


def selection_digest(table: CountTable, selected: Selected) -> bytes:
    """Compute the SHA-256 of everything that a selection depends on, except the key.

    It covers the table, the grid, the question with its version and settings, the mechanism, the
    event, and every stream that can be drawn with its exact law.
    """
    components: dict[str, Plain] = {
        **grid_components(selected.grid),
        "question": (selected.question.name, selected.question.version),
        "settings": selected.question.settings,
        "mechanism": (selected.selector.name, selected.selector.version),
        "event": loss_fields(selected.event),
        "draws": tuple((draw.stream, draw.law) for draw in selected.draws),
    }
    return digest(
        LABEL,
        encode(tuple(components.items())),
        table.key.astype("<u8", copy=False),
        table.count.astype("<i8", copy=False),
    )


@takes(request_selection)
def top_cells(
    table: CountTable,
    k: int,
    *,
    level: str | int | None = None,
    mechanism: str | Selector = DEFAULT,
    **options: Any,
) -> Selected:
    """Name the k cells, or areas, that hold the most people, with pure differential privacy.

    Nothing but their codes is released, in the order in which they were drawn. The cost of a draw
    grows with the occupied cells, on domains of up to ``2**62`` cells.

    Parameters
    ----------
    table : CountTable
        Confidential counts on a public domain.
    k : int
    level : str or int, optional
        Name areas and not cells: a published area of the code system (``"jis:basic"``), cells on a
        side, or a level of the grid's regions.
    mechanism : str or Selector, optional
        ``"permute-and-flip"``, the default, or ``"exponential"``.
    contribution
        The most that one person adds to the sum of all counts, required wherever geodp has not
        bounded it itself.

    Returns
    -------
    Selected

    Raises
    ------
    UsageError
        A call that cannot be carried out.
    BudgetError
        The ledger's cap would be exceeded; nothing was drawn.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((64, 64))
    >>> counts = np.zeros((64, 64), int)
    >>> counts[7, 9] = 1000
    >>> table = geodp.CountTable.from_dense(counts, grid)
    >>> geodp.select.top_cells(table, 1, epsilon=1, contribution=1).chosen
    ({'code': '7_9'},)
    """
    question = Top(k, None if level is None else str(level))
    return prepare(table, question, request_selection(**options), mechanism).release()


STATED_ALONE = ("software", "budget", "release_id")
"""Fields that do not follow from others, or that other questions compare."""


@dataclass(frozen=True, eq=False)
class WrittenSelection(Answers):
    """A selection read from a folder.

    Attributes
    ----------
    index : SelectionCard
    """

    __repr__ = one_line

    index: SelectionCard

    @property
    def chosen(self) -> tuple[Mapping[str, Code], ...]:
        """Codes and labels of the chosen candidates, in the order of the draws."""
        return self.index.chosen

    def card(self) -> SelectionCard:
        """Return the card as it was read."""
        return self.index

    def write(self, path: str | Path, **kwargs: Any) -> NoReturn:
        """Raise UsageError: a written selection is copied."""
        raise UsageError(WRITTEN)


def _check_identity(folder: Path, card: SelectionCard) -> str:
    require(
        card.digest == card.release_id,
        Rule("selection-id-differs", "The release id is not that of the card."),
    )
    return f"{card.release_id}, of the card"


def _check_guarantee(folder: Path, card: SelectionCard) -> str:
    """Check that all figures and sentences follow from budget, question and domain."""
    guarantee, worded = card.guarantee, has_words_of(card.software, card.mechanism.noise_format)
    # The flag must agree with the sentences, which is what most readers see.
    require(
        card.private is ("NOT PRIVATE" not in guarantee.in_words + guarantee.noise_key),
        Rule("selection-contradicts-itself", "The card contradicts itself on privacy."),
    )
    own = _rebuild(card)
    require_charge(card.budget, own.event.unit, own.event.neighbours, own.event.loss)
    # Files of a mask and of regions are not here.
    is_whole = not (card.domain.mask or card.domain.regions)
    domain = StatedDomain.of(own.grid)
    domain = domain if is_whole else replace(card.domain, places=domain.places)
    made = own.state(domain, card.question.candidates)
    # The last sentences tell how the table was read, which is in no file.
    facts = guarantee.not_protected[len(made.guarantee.not_protected) :]
    made = replace(own, public_facts=facts).state(domain, card.question.candidates)
    stated, expected = (
        {name: one for name, one in write_plain(each).items() if name not in STATED_ALONE}
        for each in (card, made)
    )
    for plain in (stated, expected):
        # Earlier versions listed no assumptions, of which one is on the mask or the regions.
        if not is_whole or guarantee.assumptions is None:
            plain["guarantee"].pop("assumptions", None)
        if not worded:
            plain.pop("mechanism")
    require_same(stated, expected, "card", worded=worded)
    return guarantee.in_words


def _rebuild(card: SelectionCard) -> Selected:
    """Return the selection of a card, on the grid without its mask and regions."""
    guarantee, name = card.guarantee, card.mechanism.name
    require(
        card.software.name == "geodp" and name in SELECTORS,
        Rule("selection-mechanism-unknown", "geodp has no such mechanism of selections."),
    )
    terms = Terms(
        PureDP(Fraction(guarantee.epsilon)),
        guarantee.neighbours,
        guarantee.contribution,
        guarantee.enforced,
        guarantee.unit,
        layout=guarantee.layout,
    )
    question = _rebuild_question(card.question)
    asked = f"select-{question.name}:{name}", terms, question.change, question.rounds
    event = Selection.of(*asked, guarantee.key_origin)
    grid, metadata = grid_of(card.domain), card.metadata
    return Selected(grid, question, SELECTORS[name], event, card.chosen, metadata=metadata)


def _rebuild_question(stated: QuestionInfo) -> Question:
    """Return the question of a card."""
    if stated.name == "top":
        return Top(stated.chosen, stated.level)
    require(
        stated.q is not None,
        Rule("selection-setting-missing", "The card leaves out a setting of the question."),
    )
    return Quantile(Fraction(str(stated.q)), str(stated.axis))


def _check_answers(folder: Path, card: SelectionCard) -> str:
    """Check that answers are as many as requested, distinct, and candidates of the domain."""
    question, chosen, domain = card.question, card.chosen, card.domain
    require(
        len(chosen) == question.chosen <= question.candidates,
        Rule("selection-answers-differ", "There are more or fewer answers."),
    )
    # The order of columns in an answer is of no meaning.
    distinct = {tuple(sorted(answer.items())) for answer in chosen}
    require(len(distinct) == len(chosen), Rule("selection-answer-twice", "An answer is repeated."))
    summary = f"{len(chosen)} of {question.candidates:,} candidates, each once"
    by_region = question.level not in (None, CELL) or domain.has_units
    if question.name == "top" and domain.regions is not None and by_region:
        return f"{summary}; the regions are not here to look them up"
    candidates, sentence = ANSWER_CHECKS[question.name](grid_of(domain), card)
    require(
        candidates in (None, question.candidates),
        Rule("selection-candidates-differ", "There are more or fewer candidates."),
    )
    return f"{summary}; {sentence}"


def _check_top(grid: Grid, card: SelectionCard) -> tuple[int | None, str]:
    """Check codes and labels of cells or areas; return the number of candidates."""
    candidates: int | None = card.domain.cells
    if card.question.level not in (None, CELL):
        grid = Coarsening.of(grid, str(card.question.level)).grid
        # The mask is not in the folder, so the number of its coarser cells is unknown.
        candidates = None if card.domain.mask else grid.size
    for place, column in zip(grid.places, grid.maps.codes, strict=True):
        codes: list[Any] = [answer.get(column) for answer in card.chosen]
        require(
            all(isinstance(code, str) for code in codes),
            Rule("selection-answer-without-code", "An answer has no code."),
        )
        at, size = parse_codes(place, codes), [[place.rows], [place.cols]]
        require(
            bool(((np.asarray(at) >= 0) & (at < np.array(size))).all()),
            Rule("selection-code-outside", "A code lies outside the extent."),
        )
    for attribute in grid.attributes:
        is_label = all(answer.get(attribute.name) in attribute.labels for answer in card.chosen)
        require(is_label, Rule("selection-label-unknown", "A label is not one of its attribute."))
    return candidates, "codes lie in the extent"


def _check_quantile(grid: Grid, card: SelectionCard) -> tuple[int | None, str]:
    """Check that the answer is a position, with its label; return the number of positions."""
    (answer,) = card.chosen
    axis, index = card.question.axis, answer.get("index")
    require(
        axis in grid.axis_names and answer.get("axis") == axis,
        Rule("selection-axis-differs", "The axis is another."),
    )
    size = grid.shape[grid.axis_names.index(str(axis))]
    require(
        isinstance(index, int) and 0 <= index < size,
        Rule("selection-position-outside", "The position lies outside of the axis."),
    )
    for attribute in grid.attributes:
        label = attribute.labels[int(str(index))] if attribute.name == axis else None
        require(
            label in (None, answer.get("label")),
            Rule("selection-label-of-other-position", "The label is that of another position."),
        )
    return size, "a position of the axis"


ANSWER_CHECKS: dict[str, Callable[[Grid, SelectionCard], tuple[int | None, str]]] = {
    "top": _check_top,
    "quantile": _check_quantile,
}

CHECKS: list[tuple[str, Callable[[Path, SelectionCard], str]]] = [
    ("checksums", check_checksums),
    ("files", check_files),
    ("release id", _check_identity),
    ("guarantee", _check_guarantee),
    ("answers", _check_answers),
    ("restricted", check_restricted),
]


def verify_selection(folder: Path) -> list[Check]:
    """Verify the public folder of a selection: all checks, in their order."""
    try:
        card = read_card(folder)
    except VerificationError as error:
        return [Check("card", False, str(error))]
    # read_card chooses the class by the schema, and this check runs for selections only.
    assert isinstance(card, SelectionCard)
    first = Check("card", True, f"schema {card.schema}, release {card.release_id}")
    return [first, *run_checks(CHECKS, folder, card)]
