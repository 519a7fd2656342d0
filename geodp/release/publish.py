"""The sentence: publish a confidential table under a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from geodp.accuracy.margins import UNKNOWN
from geodp.advice import by_names
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.public.land import state_land
from geodp.io.read.reading import read
from geodp.io.read.rows.input_files import ArrowStream, LabelledArray, TableSource
from geodp.io.read.rows.pairing import Values
from geodp.mechanisms import Mechanism, choose_method
from geodp.privacy.budget import Budget
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.terms import Terms
from geodp.release.charging import Keep, draw_and_charge
from geodp.release.identity import key_of_table
from geodp.release.measurements import MeasurementsRequest, choose_measurements
from geodp.release.metadata import state_metadata
from geodp.release.outline import outline, warn_before_release
from geodp.release.prior import choose_prior
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.table.contribution import bound_contribution, require_no_sums
from geodp.table.counts import CountTable
from geodp.table.prior import Prior
from geodp.table.public_totals import PublicTotals
from geodp.table.reading import require_rows
from geodp.table.released import ReleasedTable
from geodp.table.stated.prior import StatedPrior, unpack_prior
from geodp.table.totals import InMemoryTable

NO_TABLE = Rule(
    "table-or-grid-expected",
    "Publishing takes a table of counts, or a frame or a file with the public grid that it is "
    "counted on: geodp.publish(frame, grid='jis:half', epsilon=..., contribution=...). An array "
    "of NumPy becomes a table by geodp.CountTable.from_dense(array, grid).",
)
READY = Rule(
    "table-released",
    "This is published already: release.write(folder) writes it, release.to_pandas() has its rows.",
)
LAZY = Rule("frame-lazy", "A lazy frame has no rows yet: geodp.publish(frame.collect(), ...).")
NO_GRID = Rule(
    "grid-unstated",
    "Say on which public grid the rows are counted: grid='jis:half', or one of geodp.Grid, such as "
    "Grid.mesh('jis:half', bounds=...).",
)
READ_ALREADY = (
    "Not for a table of counts, which is read already: {}. They go with a frame or a file."
)


@by_names(
    eps="epsilon",
    privacy_budget="epsilon",
    sensitivity="contribution",
    column="value",
    count="value",
    values="value",
    mesh="grid",
    system="grid",
    id="person",
    seed="key",
)
def publish(
    table: CountTable | TableSource,
    *,
    grid: Grid | str | None = None,
    value: Values = None,
    code: str | None = None,
    x: str | None = None,
    y: str | None = None,
    person: str | None = None,
    columns: Mapping[str, str] | None = None,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    method: str | Mechanism | None = None,
    prior: CountTable | Release | Prior | None = None,
    prior_source: str | None = None,
    totals: PublicTotals | None = None,
    measurements: bool | str | int = False,
    simulate: int = 0,
    metadata: Mapping[str, str | int] | None = None,
    allow_empty: bool = False,
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    records: str | None = None,
) -> Release:
    """Release a table with differential privacy.

    Parameters
    ----------
    table : CountTable, or a frame or files
        Confidential counts on a public domain; or a frame of pandas, geopandas, Polars or Arrow, an
        array of xarray, or the path of a file, which :func:`geodp.read` reads with the next seven.
        Read it by that function first to say more of it.
    grid : Grid or str
        Of a frame or file: the public grid, or the name of a code system, whose whole extent it is.
    value : str, sequence of str, or mapping
        Of a frame or file: the column of counts. Default: the only one, or that of its layout.
    code, x, y : str
        Of a frame or file: the column of cells' codes, or those of coordinates; of an array ``x``
        and ``y`` are the dimensions of columns and rows. Default: as their names or the form of
        their values tell, or the geometries.
    person : str
        Of a frame or file with a row for each record: the column that says whose it is.
    columns : mapping
        Of a frame or file: columns of labels by attributes, and of origin and destination.
    epsilon : str, int, float, Decimal or Fraction
        The budget, read exactly: ``0.1``, ``"1/10"``. Alone it is that of pure differential
        privacy; with delta, of Gaussian noise with the largest rho that implies the two.
    rho : as epsilon
        Instead of it: zero-concentrated differential privacy, with Gaussian noise.
    delta : as epsilon, optional
        With rho: the chance for which the release also states an epsilon.
    neighbours : {"add-remove-one", "replace-one"}
        Which tables are to be indistinguishable.
    contribution : int, optional
        The most that one person adds to the sum of all counts: 1 where everybody is counted once.
        You vouch for it. May be left out where a reader enforced it on the records, or where the
        layout of one official table states it (``table.bound``).
    unit : str
        Whom the guarantee protects, as a noun: person, household, person-day, trip.
    people : float, optional
        A public guess of the sum of all counts, such as an older census tells; never taken from
        the data. The card then states the resolution floor.
    method : str or Mechanism, optional
        A name in ``METHODS``, with settings after a colon: ``"hay:fanout=4"``; or a method of your
        own, whose releases under a kept key are told apart by its name, version, settings and
        queries. Default: parts on a grid with attributes below its cells, otherwise pyramid.
    prior : CountTable, Release or Prior, optional
        Where people are likely to be, by a table that is public, on the same grid or on one of
        larger squares, or by an earlier release: another year's census, 0 and 1 of inhabited cells.
        The same is measured; how far it can be trusted is learned from that (docs/informed.md).
    prior_source : str, optional
        Where it was published, in words. With it you vouch that the prior is public; the card
        quotes it. A Prior has its own, and a Release that was charged to a ledger needs none.
    totals : PublicTotals
        Totals of areas that are public already (:mod:`geodp.table.public_totals`): the table must
        have them, and the release meets them exactly.
    measurements : bool, str or int
        Also publish what was measured before any clamp (:mod:`geodp.release.measurements`), which
        costs no more: True, or the smallest areas of which all are measured, such as ``"basic"``
        in the order of official areas, ``"cell"``, or a number of cells of a block.
    simulate : int
        Releases that are simulated for the intervals of cells and what settlements lose, 20 to
        10,000 (:mod:`geodp.release.simulated_cells`), which take as long as several times as many.
        Default: 0, margins of public maps.
    metadata : mapping, optional
        What the office says, such as ``title``, ``contact`` and ``reference_date``; all names are
        the fields of :class:`geodp.table.card.StatedMetadata`.
    allow_empty : bool
        Publish a table that counts nothing, or to which a file adds nothing, too. Otherwise it is
        refused before anything is charged, and the card states as a public fact that at least one
        row of every file was counted.
    key : NoiseKey, optional
        Default: fresh from the operating system and forgotten. With a kept key the noise
        depends on the key and a digest of the table, the grid, all parameters and what the method
        measures (see :mod:`geodp.release.identity`): the same input gives the same release again,
        and different inputs, or a method that has changed, never share noise.
    ledger : Ledger, optional
        Asked before any noise is drawn, and charged before anything that was drawn is returned; the
        charge stays if the run fails afterwards.
        Publishing the same input again with the same kept key is recognised and costs nothing.
    dataset : str, optional
        Name of the data set in the ledger.
    records : {"all", "fresh-sample", "same-sample"}, optional
        What the table was made from; needed where a table of a secret sample was charged to the
        data set (see :mod:`geodp.audit`), and refused where it is the same sample.

    Returns
    -------
    Release

    Raises
    ------
    UsageError
        A call that cannot be carried out; columns that nothing tells; a contribution below the
        table's bound or too small for totals beside their parts, or none where nothing bounds it; a
        table that counts nothing.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Warns
    -----
    UserWarning
        Before the charge, where totals of small labels of an attribute are biased by more than
        their stated error.

    Notes
    -----
    The guarantee is that of the method (``METHODS[method].guarantee``); it holds for this
    release alone, and budgets of releases about the same people add up.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((64, 64))
    >>> table = geodp.CountTable.from_dense(np.full((64, 64), 100), grid)
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> bool((release.table.to_dense() >= 0).all())
    True
    >>> round(release.standard_error(64), 1)
    8.3

    A frame, whose columns are found:

    >>> import pandas
    >>> frame = pandas.DataFrame({"mesh": ["53394611", "53394612"], "people": [812, 40]})
    >>> box = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))
    >>> geodp.publish(frame, grid=box, epsilon=1, contribution=1).grid.shape
    (120, 80)
    """
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people)
    named = {"value": value, "code": code, "x": x, "y": y, "person": person, "columns": columns}
    table = _read(table, grid, {name: one for name, one in named.items() if one is not None})
    request = Request(
        terms=terms,
        method=method,
        prior=choose_prior(table, prior, prior_source),
        totals=totals,
        measurements=measurements,
        simulate=simulate,
        metadata=state_metadata(metadata) if metadata else None,
        allow_empty=allow_empty,
        key=key,
        ledger=ledger,
        dataset=dataset,
        records=records,
    )
    prepared = prepare(table, request)
    warn_before_release(prepared.outline, between=1)  # that of by_names
    release = prepared.release()
    if not simulate:
        return release
    from geodp.release.simulated_cells import simulate_cells  # loaded by those who simulate alone

    return simulate_cells(release, simulate)


def _read(
    table: CountTable | TableSource, grid: Grid | str | None, named: Mapping[str, Any]
) -> CountTable:
    """Return the counts of a frame or of files on a grid; a table as it is."""
    if isinstance(table, CountTable):
        if grid is not None or named:
            given = [*(["grid"] if grid is not None else []), *named]
            raise UsageError(READ_ALREADY.format(", ".join(given)), code="read-already")
        return table
    if not isinstance(table, str | PathLike | list | tuple | ArrowStream | LabelledArray):
        released = isinstance(table, Release | ReleasedTable)
        raise UsageError(READY if released else LAZY if hasattr(table, "collect") else NO_TABLE)
    if grid is None:
        raise UsageError(NO_GRID)
    return read(table, grid, **named)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A release of which all is settled that is public; nothing is charged and nothing drawn.

    Attributes
    ----------
    table : CountTable
    request : Request
    method : Mechanism
    event : Measurement
    outline : Release
        Of nobody: card and closed forms are those of the release, but for its charge.
    asked : Asked or None
        Which measurements are published.
    """

    table: CountTable = field(repr=False)
    request: Request
    method: Mechanism
    event: Measurement
    outline: Release
    asked: MeasurementsRequest | None

    @property
    def nodes(self) -> int | None:
        """Nodes of the complete levels of measurements; None without any."""
        return None if self.asked is None else sum(self.asked.sizes)

    def release(self, keep: Keep[Release] | None = None) -> Release:
        """Draw, and charge; ``keep`` gets the release before it is charged, and its fingerprint."""
        request = self.request
        own, fingerprint = key_of_table(request.key, self.table, self.method, self.event)
        try:
            release, charge = draw_and_charge(
                request.ledger,
                request.dataset,
                self.event,
                fingerprint,
                lambda: self._draw(own),
                keep,
                records=request.records,
            )
        finally:
            own.forget()
        return release if charge is None else replace(release, charge=charge)

    def _draw(self, key: NoiseKey) -> Release:
        """Draw the release, which is not charged yet."""
        drawn, told = self._draw_table(key)
        if self.request.totals is not None:
            drawn = self.request.totals.fit(drawn)
        found = None if self.asked is None else self.asked.measure(self.table, drawn, key)
        return replace(
            self.outline, table=drawn, measurements=found, prior=told, outline=self.outline
        )

    def _draw_table(self, key: NoiseKey) -> tuple[ReleasedTable, StatedPrior | None]:
        """Draw the table, what it begins with by a key of its own; and state what a prior told."""
        prior = self.request.prior
        if prior is not None:
            return self.method.release_informed(self.table, self.event, key, prior)
        base = self.method.base(self.table.grid, self.event)
        if base is None:
            return self.method.release(self.table, self.event, key), None
        table = self.method.first(self.table)
        own, _ = key_of_table(self.request.key, table, base.method, base.event)
        try:
            first = base.method.release(table, base.event, own)
        finally:
            own.forget()
        return self.method.refine_base(first, self.table, self.event, key), None


def prepare(table: CountTable, request: Request) -> Prepared:
    """Do everything of :func:`publish` that comes before the charge.

    Raises
    ------
    UsageError
        As :func:`publish`.
    """
    method = choose_method(request.method, table.grid)
    event = make_table_event(table, method, request)
    facts = (
        *require_rows(table.rows, table.reading, allow_empty=request.allow_empty),
        *require_no_sums(table.grid, event, InMemoryTable(table)),
        *state_land(table.grid),
    )
    public = None if table.reading is None else table.reading.public
    nobody = outline(
        table.grid, method, event, request.terms.people, facts, public, request.metadata
    )
    _require_simulated(table.grid, method, event, request)
    asked = _ask_measurements(method, table.grid, event, request.measurements)
    nobody = _add_prior(nobody, method, request.prior)
    nobody = _add_totals(nobody, table, method, event, request.totals)
    return Prepared(table, request, method, event, nobody, asked)


def _require_simulated(grid: Grid, method: Mechanism, event: Measurement, request: Request) -> None:
    """Raise UsageError where no releases can be simulated of what is asked for."""
    if not request.simulate:
        return
    from geodp.release.simulated_cells import require_simulated

    require_simulated(method, grid, event, request.simulate)
    if request.totals is not None or request.prior is not None:
        what = "public totals" if request.prior is None else "a prior"
        raise UsageError(
            f"Releases with {what} are not simulated: leave out --simulate.", code="not-simulated"
        )


def _add_prior(nobody: Release, method: Mechanism, prior: Prior | None) -> Release:
    """Return the outline with what is said of a prior; UsageError where the method takes none."""
    if prior is None:
        return nobody
    if not method.informed:
        raise UsageError(f"{method.name} takes no prior; pyramid does.", code="prior-needs-pyramid")
    return replace(nobody, prior=prior.describe(), margins=UNKNOWN)


def _add_totals(
    nobody: Release,
    table: CountTable,
    method: Mechanism,
    event: Measurement,
    totals: PublicTotals | None,
) -> Release:
    """Return the outline with public totals, which the table must have; UsageError otherwise."""
    if totals is None:
        return nobody
    if not (method.whole and method.nonnegative):
        raise UsageError(
            f"{method.name} does not release whole counts from 0 on, which public totals need.",
            code="totals-need-whole-counts",
        )
    if totals.grid != table.grid:
        raise UsageError(
            "The public totals are of areas of another grid.", code="totals-of-other-grid"
        )
    totals.require(table)
    facts = *nobody.public_facts, totals.describe_guarantee(event)
    return replace(nobody, public_facts=facts, totals=totals)


def _ask_measurements(
    method: Mechanism, grid: Grid, event: Measurement, measurements: bool | str | int
) -> MeasurementsRequest | None:
    """Return which measurements are published, if any; see :func:`publish`."""
    if measurements is False:
        return None
    complete_to = None if measurements is True else measurements
    return choose_measurements(method, grid, event, complete_to)


def restore_extras(
    release: Release,
    method: Mechanism,
    event: Measurement,
    arrays: Mapping[str, NDArray[Any]],
    measurements: bool | str | int = False,
) -> Release:
    """Return a release with what was drawn beside its table and kept, for the same call."""
    if (told := unpack_prior(arrays)) is not None:
        release = replace(release, prior=told, margins=UNKNOWN)
    asked = _ask_measurements(method, release.grid, event, measurements)
    return release if asked is None else replace(release, measurements=asked.restore(arrays))


def make_table_event(table: CountTable, method: Mechanism, request: Request) -> Measurement:
    """Make the event of a release of a table, of which only grid and bound are read.

    Raises
    ------
    UsageError
        As :func:`publish`.
    """
    bound = request.terms.bound(bound_contribution(table, request.terms.contribution))
    return make_event(table.grid, method, bound, request.key_origin)


def make_event(
    grid: Grid, method: Mechanism, terms: Terms, key_origin: str = "entropy"
) -> Measurement:
    """Make the event of a method on a grid, under terms with a contribution.

    Raises
    ------
    UsageError
        A grid or a budget that the method does not take.
    """
    if refusal := method.unsupported(grid):
        raise UsageError(refusal)
    event = method.event(grid, terms, key_origin)
    names = ("loss", "neighbours", "contribution", "enforced", "layout", "unit")
    if any(getattr(event, name) != getattr(terms, name) for name in names):
        raise UsageError(
            f"{method.name} spends something else than it is given.", code="method-spends-otherwise"
        )
    if overload := method.explain_noise_limit(grid, event):
        raise UsageError(overload)
    return event
