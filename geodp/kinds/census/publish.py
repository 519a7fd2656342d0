"""Publish the whole table of a census as one release with one charge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from geodp.advice import takes
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.joint import split_grid
from geodp.io.write.tables import column_names, names_of
from geodp.kinds.census.census import Census, describe_release, make_index, name_event
from geodp.kinds.census.given import Given, open_given
from geodp.kinds.census.inputs import CensusTables, Contradictions
from geodp.kinds.census.kind import Column
from geodp.kinds.census.margins import PERSONS, Margin, Margins
from geodp.kinds.census.methods import CensusTable
from geodp.kinds.census.streams import CensusStreams, CensusTruth, release_streams
from geodp.mechanisms.base import Plain
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.options.shared import DEFAULT_SIZE
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.noise.draws import Draws
from geodp.release.composite import fill_tables, place_cells
from geodp.release.inputs import state_tables
from geodp.release.maps import describe_maps
from geodp.release.noise_identity import encode, grid_components, loss_fields
from geodp.release.preview import preview_release, warn_before_release
from geodp.release.release import Release
from geodp.release.request import OF_TABLES, Request, choose_pyramid, make_event, make_request
from geodp.release.transaction import DrawnCells, Inputs, Prepared
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable
from geodp.table.reading import join_known

CONTRIBUTION = Rule(
    "census-contribution-unstated",
    "No column shows how often one person is counted, so say it: --contribution N "
    "(contribution=N), which is 1 if each person is counted once and is in one household.",
)

GivenPath = tuple[str | Path | None, str | None]
"""Folder of a given release, and where it was published and charged."""

NOT_GIVEN: GivenPath = (None, None)
"""No given release."""

LABEL = b"geodp census identity 1"
"""Domain separation of the hash of a release, with a version of the list of components."""

PERSON_ALONE = Rule(
    "census-unit",
    "A census protects one person: what one household changes in margins of persons is up to its "
    "size. Publish households by size with geodp households to protect households.",
)


@takes(make_request, without=OF_TABLES)
def publish(
    persons: CountTable | CensusTables,
    margins: Mapping[str, CountTable] | None = None,
    *,
    households: CountTable | None = None,
    members: CountTable | None = None,
    max_size: int = DEFAULT_SIZE,
    household_margins: Mapping[str, CountTable] | None = None,
    rest: Mapping[str, str] | None = None,
    within: Mapping[str, tuple[str, str]] | None = None,
    columns: Sequence[Column] = (),
    contradictions: Contradictions | None = None,
    given: str | Path | None = None,
    given_source: str | None = None,
    method: str | None = None,
    **options: Any,
) -> Census:
    """Release persons and margins of the same cells, so that everything adds up.

    Parameters
    ----------
    persons : CountTable or CensusTables
        Confidential counts of all persons on one public map; or all columns of a file
        (:func:`geodp.census.read_table`), beside which no other tables are given.
    margins : mapping of str to CountTable
        Of each margin, by its name, counts on the same map with attributes. The last attribute
        has the name of the margin: every person has exactly one of its labels. Attributes above it
        are those of another margin, of which it divides every part: ``{"sex": ..., "age": ...}``,
        the second on a grid with the attributes sex and age, has ages of each sex.
    households : CountTable, optional
        Households on the same map, each counted where it lives; with ``members``, perhaps by
        size, on the map with an attribute named size whose labels are 1, 2, 3 ... and the last one
        and more. Then households of each size or more have a column of their own.
    members : CountTable, optional
        Persons who live in these households. Then households, persons in them and persons outside
        are one table, which adds up to the persons.
    max_size : int
        With ``members``: most persons of a household, from 2 to 100.
    household_margins : mapping of str to CountTable, optional
        Margins of the households, such as their size.
    rest : mapping of str to str, optional
        Names of the rest of margins that not everybody is in: ``{"employed": "not employed"}``. It
        is what the given labels leave, is measured, and needs no counts.
    within : mapping of str to pairs of str, optional
        Margins that divide one label only of the margin above: that label, and the label of
        everybody else. ``{"size": ("private", "not private")}``: sizes of private households.
    columns : sequence of Column, optional
        Columns of the whole table, each a sum of parts; default: a column for each part.
    contradictions : {"refuse", "fit"}
        What happens where the parts of a margin do not add up: nothing is published, or the parts
        of the cell are changed as little as possible. The card states the choice, and not whether
        it mattered.
    given : path, optional
        Folder of an earlier release of the same persons: a map, or a census. Its counts of persons
        are kept, to the last cell, and the whole budget goes to the margins. That both count the
        same persons, you vouch for; the new release holds both, and states the loss of both.
    given_source : str, optional
        Where the given release was published and charged, which the index quotes. Not needed where
        its card states a charge to a ledger.
    contribution
        How often one person is counted, and in how many households: 1, usually. You vouch for it.
    method : str, optional
        ``pyramid``, with settings after a colon, whose levels are those of all tables.

    Returns
    -------
    Census
        With ``tables`` by name, and ``estimate(region)`` of every column.

    Raises
    ------
    UsageError
        Tables that do not go together, or contradict each other; and as for :func:`geodp.publish`.
        Nothing was charged.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Notes
    -----
    The proof is in docs/proofs/census.md.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((16, 16))
    >>> people = geodp.CountTable.from_dense(np.full((16, 16), 90), grid)
    >>> by_sex = np.full((16, 16, 2), 45)
    >>> sex = geodp.CountTable.from_dense(by_sex, grid.with_attribute("sex", ["f", "m"]))
    >>> options = {"epsilon": 1, "contribution": 1, "contradictions": "refuse"}
    >>> census = geodp.census.publish(people, {"sex": sex}, **options)
    >>> parts = census.tables["sex"].table.to_dense()
    >>> bool((parts.sum(axis=2) == census.tables["persons"].table.to_dense()).all())
    True
    """
    request = make_request(**options, method=method)
    relations: dict[str, Any] = {
        "households": households,
        "members": members,
        "household_margins": household_margins,
        "rest": rest,
        "within": within,
        "columns": columns,
        "contradictions": contradictions,
    }
    if not isinstance(persons, CensusTables):
        tables = CensusTables.of(persons, margins or {}, max_size=max_size, **relations)
    elif margins or any(relations.values()):
        raise UsageError(
            "The columns of geodp.census.read_table are related already: leave margins and all "
            "that relates them out.",
            code="census-tables-twice",
        )
    else:
        tables = persons
    prepared = prepare_census(tables, request, (given, given_source))
    # Between: the frame of the decorator.
    warn_before_release(prepared.design.shown, between=1)
    return prepared.release()


@dataclass(frozen=True, eq=False)
class CensusDesign:
    """A release of a census before anything is drawn.

    Attributes
    ----------
    request : Request
    inputs : Inputs
    streams : CensusStreams
    preview : Census
        The release of empty tables.
    given : Given or None
    """

    drawn: ClassVar[Any] = tuple[DrawnCells, ...]

    request: Request
    inputs: Inputs
    streams: CensusStreams
    preview: Census
    given: Given | None

    @property
    def event(self) -> Measurement:
        """The event of all measured tables, with the release's name for the ledger."""
        return name_event(self.streams.measured_event)

    @property
    def draws(self) -> Draws:
        """The draws of all tables, with the key of each."""
        return self.streams.draws

    @property
    def shown(self) -> Release:
        """The empty table that is measured first."""
        return next(iter(self.preview.tables.values()))

    def identify(self, tables: CensusTables) -> bytes:
        """Return the SHA-256 of everything that the release depends on except the key."""
        streams = self.streams
        named: tuple[Plain, ...] = (
            ("version", CensusTable.version),
            *grid_components(streams.ground).items(),
            *(("margin", _describe(one)) for one in streams.margins.margins),
            ("tables", streams.margins.tables),
            ("fanouts", streams.fanouts),
            *(("laws", (name, _laws_of(streams, name))) for name in streams.margins.tables),
            ("whole", loss_fields(self.event)),
        )
        if self.given is not None:
            # Another given release is another draw: one noise at two scales would give the counts.
            named += (("given", (self.given.stated.sha256, self.given.noise.write())),)
        arrays = (
            array for name in streams.margins.tables for array in _arrays_of(tables.tables[name])
        )
        return digest(LABEL, encode(named), *arrays)

    def draw(self, tables: CensusTables, key: NoiseKey) -> tuple[DrawnCells, ...]:
        """Draw all tables, in their order."""
        given = {} if self.given is None else {PERSONS: self.given.release.table}
        populations = {
            name: tables.tables[name]
            for name in self.streams.margins.populations
            if name not in given
        }
        found = release_streams(
            self.streams, CensusTruth(populations, dict(tables.truths()), given), key
        )
        drawn = []
        for name, one in self.preview.tables.items():
            cell, *part, count = found[name]
            joint = split_grid(one.grid)
            assert joint is not None
            drawn.append(DrawnCells(joint.join(cell, part[0]) if part else cell, count))
        return tuple(drawn)

    def complete(self, drawn: Sequence[DrawnCells], charge: Charge | None) -> Census:
        """Return the release of drawn tables, in their order."""
        previews = self.preview.tables
        tables = place_cells(previews.values(), drawn)
        # Of what is released: whoever puts tables of two releases together is found out.
        made = fill_tables(previews.values(), tables, describe_maps(tables), charge)
        releases = {**self.preview.releases, **dict(zip(previews, made, strict=True))}
        margins = self.streams.margins
        for one in margins.margins:
            population = margins.population(one.name)
            # Errors of persons that were published before are those of their own card.
            if population in previews:
                parts = releases[one.name]
                releases[one.name] = replace(parts, of_parts=releases[population])
        return replace(self.preview, releases=releases).with_charge(charge)


def _describe(margin: Margin) -> tuple[Plain, ...]:
    """Return the fields of a margin, as the identity of a release has them."""
    return margin.name, margin.of, margin.within, margin.max_size, *margin.labels


def _laws_of(streams: CensusStreams, table: str) -> tuple[Plain, ...]:
    """Return the laws of a table's noise by level."""
    return tuple(law.identity for law in streams.laws(table))


def _arrays_of(table: CountTable) -> tuple[Any, Any]:
    """Return the key and the counts of a table."""
    return table.key, table.count


def prepare_census(
    tables: CensusTables, request: Request, given: GivenPath = NOT_GIVEN
) -> Prepared[CensusDesign, Census]:
    """Do everything of :func:`publish` that comes after its tables, and before the charge."""
    bound = vouch_contribution(tables.read, request.terms.contribution)
    facts, readings = state_tables(tables.read, request, tables.facts)
    inputs = Inputs(facts, readings[:1], bound)
    design = design_census(
        tables.ground,
        tables.margins,
        tables.columns,
        tables.contradictions,
        request,
        inputs,
        given,
    )
    cells = {name: int(one.key.size) for name, one in tables.tables.items()}
    return Prepared(
        design,
        partial(design.identify, tables),
        partial(design.draw, tables),
        join_known(one.reading for one in tables.read),
        cells=cells,
        counted={
            "occupied_cells": cells,
            "counted": {name: int(one.count.sum()) for name, one in tables.tables.items()},
            "fitted_cells": tables.changed,
        },
    )


def vouch_contribution(tables: Sequence[CountTable], contribution: int | None) -> ContributionBound:
    """Take the operator's bound; UsageError where there is none, or less than a table allows."""
    if contribution is None:
        raise UsageError(CONTRIBUTION)
    for one in tables:
        bound_contribution(one, contribution)
    return ContributionBound(contribution)


def design_census(
    ground: Grid,
    margins: Margins,
    columns: Sequence[Column],
    contradictions: Contradictions,
    request: Request,
    inputs: Inputs,
    given: GivenPath = NOT_GIVEN,
) -> CensusDesign:
    """Design a release from public things alone; raises UsageError as :func:`publish` does."""
    if request.terms.unit == "household":
        raise UsageError(PERSON_ALONE)
    method = choose_pyramid(request.method, "A census")
    if not isinstance(method, Pyramid):
        raise TypeError
    new = make_event(ground, method, request.terms.bound(inputs.bound), request.key_origin)
    path, source = given
    if path is None and source is not None:
        raise UsageError(
            "The source of a given release goes with a given release only (--given, given=).",
            code="source-without-given",
        )
    kept = None if path is None else open_given(path, source, ground, new)
    whole = new if kept is None else kept.add_loss(new)
    streams = CensusStreams(
        ground,
        margins,
        method,
        whole,
        () if kept is None else (PERSONS,),
        new.depending_on(whole).share,
    )
    choice = {"refuse": "refused", "fit": "fitted"}[contradictions]
    stated = None if kept is None else kept.stated
    index = make_index(name_event(whole), margins, columns, choice, stated)
    facts = (*inputs.facts, describe_release(index))
    releases = {} if kept is None else {PERSONS: kept.release}
    for name in streams.measured:
        own = CensusTable.of(streams, name, None if kept is None else kept.noise)
        releases[name] = preview_release(
            margins.grid(ground, name),
            own,
            streams.event_of(name, own.spec),
            request.terms.people if name in margins.populations else None,
            facts,
            inputs.readings[0] if inputs.readings else None,
            request.metadata,
        )
    preview = Census(releases, index, None if kept is None else kept.folder)
    # Names of columns that no file can have are refused before the charge.
    view = preview.view()
    column_names(ground, view.name, names_of(view.errors))
    return CensusDesign(request, inputs, streams, preview, kept)
