"""Publish a confidential table under a privacy budget: :func:`publish`, and its stages.

:func:`prepare` does everything that comes before the draw, :meth:`Prepared.release` draws and
charges. Commands and clusters call the two themselves.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from geodp import progress
from geodp.advice import pick, takes
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.read.counting.choosing import read_with_key
from geodp.io.read.points import Points
from geodp.io.read.raster import Raster
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.table import Table
from geodp.mechanisms import Mechanism, choose_method
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Charge
from geodp.privacy.noise.draws import Draws
from geodp.release.inputs import check_labels, choose_prior, read_input, state_tables
from geodp.release.measurements import MeasurementsRequest, choose_measurements
from geodp.release.noise_identity import key_of_table, release_digest
from geodp.release.preview import preview_release, warn_before_release
from geodp.release.release import Release
from geodp.release.request import Request, make_event, make_request
from geodp.release.transaction import DrawnCells, Inputs, Prepared
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import Prior
from geodp.table.public_totals import PublicTotals
from geodp.table.stated.release import StatedPrior
from geodp.typing import IntArray, KeyArray


# Keywords of other libraries: the error names the argument that is meant.
@takes(
    make_request,
    Table,
    Points,
    Raster,
    without=("secret",),
    sensitivity="contribution",
    column="value",
    count="value",
    values="value",
    mesh="grid",
    system="grid",
)
def publish(
    table: CountTable | TableSource,
    *,
    grid: Grid | str | None = None,
    reader: str | None = None,
    prior: CountTable | Release | Prior | None = None,
    prior_source: str | None = None,
    **options: Any,
) -> Release:
    """Release a table with differential privacy.

    Parameters
    ----------
    table : CountTable, or a frame or files
        Confidential counts on a public domain; or a frame of pandas, geopandas, Polars or Arrow, an
        array of xarray, or the path of a file. These are read by :func:`geodp.read` with ``grid``,
        and with those of the last parameters that its reader has.
    grid : Grid or str
        For a frame or file: the public grid, or the name of a code system for its full extent.
    reader : str, optional
        For a frame or file: ``"table"``, ``"points"`` or ``"raster"``; default: the one that fits.
    prior : CountTable, Release or Prior, optional
        Public knowledge of where people are likely to be: a public table on the same grid or on
        one of larger squares, such as another year's census or 0 and 1 for inhabited cells, or an
        earlier release. The measurements are the same; from them it is learned how far the prior
        can be trusted (docs/informed.md).
    prior_source : str, optional
        Where the prior was published, as text that the card quotes. With it you vouch that the
        prior is public. A Prior has its own, and a Release that was charged to a ledger needs none.

    Returns
    -------
    Release

    Raises
    ------
    UsageError
        For arguments that do not go together; columns that cannot be recognised; a contribution
        below the table's bound, too small for totals next to their parts, or missing although
        nothing bounds it; a table that counts nothing.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Warns
    -----
    UserWarning
        Before the charge, if totals of small labels of an attribute are biased by more than their
        stated error, or if a pure release of the same epsilon would be more accurate than this one
        with delta.

    Notes
    -----
    The guarantee is that of the method (``METHODS[method].guarantee``). It holds for this release
    alone; budgets of releases about the same people add up.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((64, 64))
    >>> table = geodp.CountTable.from_dense(np.full((64, 64), 100), grid)
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> bool((release.table.to_dense() >= 0).all())
    True
    >>> round(release.standard_error(64), 1)
    11.3

    A frame, whose columns are recognised:

    >>> import pandas
    >>> frame = pandas.DataFrame({"mesh": ["53394611", "53394612"], "people": [812, 40]})
    >>> box = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))
    >>> geodp.publish(frame, grid=box, epsilon=1, contribution=1).grid.shape
    (120, 80)
    """
    request = make_request(**pick(make_request, options))
    read = partial(read_with_key, key=request.key)
    table = read_input(table, CountTable, read, grid=grid, reader=reader, **options)
    request = replace(request, prior=choose_prior(table, prior, prior_source))
    prepared = prepare(table, request)
    # Between: the frame of the decorator.
    warn_before_release(prepared.design.shown, between=1, request=request)
    return prepared.release()


@dataclass(frozen=True, eq=False)
class DrawnTable:
    """The draws of a table.

    Attributes
    ----------
    cells : DrawnCells
    prior : StatedPrior or None
        The prior, with what was learned of it.
    measured : tuple of (uint64[n], int64[n])
        Nodes and noisy values of every level, if measurements are published.
    """

    cells: DrawnCells
    prior: StatedPrior | None = None
    measured: tuple[tuple[KeyArray, IntArray], ...] = ()


@dataclass(frozen=True, eq=False)
class TableDesign:
    """The release of a table before anything is drawn.

    Attributes
    ----------
    request : Request
    inputs : Inputs
    method : Mechanism
    event : Measurement
    preview : Release
        Release of an empty table; its card and closed forms are those of the release, except for
        the charge.
    measurements : MeasurementsRequest or None
        Which measurements are published.
    """

    drawn: ClassVar[type] = DrawnTable

    request: Request
    inputs: Inputs
    method: Mechanism
    event: Measurement
    preview: Release
    measurements: MeasurementsRequest | None

    @property
    def shown(self) -> Release:
        """The release of the empty table."""
        return self.preview

    @property
    def draws(self) -> Draws:
        """The draws of the method."""
        return self.method.declare(self.preview.grid, self.event)

    @property
    def nodes(self) -> int | None:
        """Number of nodes of the complete levels of measurements; None without measurements."""
        return None if self.measurements is None else sum(self.measurements.sizes)

    def draw(self, table: CountTable, key: NoiseKey) -> DrawnTable:
        """Draw the release of a table."""
        drawn, prior = self._draw_table(table, key)
        if self.request.totals is not None:
            drawn = self.request.totals.fit(drawn)
        measured = self.measurements and self.measurements.measure(table, drawn, key)
        return DrawnTable(DrawnCells.of(drawn), prior, measured or ())

    def draw_period(self, table: CountTable, key: NoiseKey) -> DrawnTable:
        """Draw the release of one period of several under its own key alone.

        A table that is published alone draws a base map under a key that follows from the map: in
        a series, two equal maps would have equal noise, which would tell that they are equal.
        """
        return DrawnTable(DrawnCells.of(self.method.release(table, self.event, key)))

    def _draw_table(
        self, table: CountTable, key: NoiseKey
    ) -> tuple[ReleasedTable, StatedPrior | None]:
        """Draw the table, and describe what was learned about the prior."""
        prior = self.request.prior
        if prior is not None:
            return self.method.release_informed(table, self.event, key, prior)
        base = self.method.base(table.grid, self.event)
        if base is None:
            return self.method.release(table, self.event, key), None
        # The base release has a key of its own, derived from its own digest: it is the same release
        # as if it were published alone, so whoever has both sees nothing new.
        part = self.method.first(table)
        derived_key, _ = key_of_table(self.request.key, part, base.method, base.event)
        with derived_key:
            first = base.method.release(part, base.event, derived_key)
        return self.method.refine_base(first, table, self.event, key), None

    def complete(self, drawn: DrawnTable, charge: Charge | None) -> Release:
        """Return the release of what was drawn."""
        asked = self.measurements
        release = replace(
            self.preview,
            table=drawn.cells.on(self.preview.grid, self.event),
            charge=charge,
            measurements=None if asked is None else asked.complete(drawn.measured),
            prior=drawn.prior,
            preview=self.preview,
        )
        if not self.request.simulate:
            return release
        from geodp.release.settlements import simulate_settlements  # slow to import

        progress.begin("Simulating")
        return simulate_settlements(release, self.request.simulate)


def prepare(
    table: CountTable, request: Request, disjoint: Collection[str] = ()
) -> Prepared[TableDesign, Release]:
    """Do everything of :func:`publish` that comes before the charge.

    ``disjoint``: attributes of whose labels nobody can be in two, whatever their counts.

    Raises
    ------
    UsageError
        As for :func:`publish`.
    """
    # All errors that a user can cause are raised here. The few that depend on the data (an empty
    # file, sums that do not fit) are public facts of the card in turn.
    bound = bound_contribution(table, request.terms.contribution)
    inputs = Inputs(*state_tables([table], request, check_labels([table], bound, disjoint)), bound)
    design = design_table(table.grid, request, inputs)
    if request.totals is not None:
        request.totals.require(table)
    return prepare_table(design, table)


def prepare_table(design: TableDesign, table: CountTable) -> Prepared[TableDesign, Release]:
    """Prepare the release of a table by its design."""
    cells, people, prior = int(table.key.size), int(table.count.sum()), design.request.prior
    return Prepared(
        design,
        lambda: release_digest(table, design.method, design.event),
        partial(design.draw, table),
        table.reading,
        cells=cells,
        counted={"occupied_cells": cells, "counted_people": people},
        prior=None if prior is None else prior.sha256,
    )


def design_table(grid: Grid, request: Request, inputs: Inputs) -> TableDesign:
    """Design the release of a table from public things alone; raises as :func:`publish`."""
    method = choose_method(request.method, grid)
    event = make_event(grid, method, request.terms.bound(inputs.bound), request.key_origin)
    preview = preview_release(
        *(grid, method, event, request.terms.people, inputs.facts, inputs.readings[0]),
        request.metadata,
    )
    _require_simulated(preview, request)
    measurements = _request_measurements(method, grid, event, request.measurements)
    preview = _add_prior(preview, method, request.prior)
    preview = _add_totals(preview, method, event, request.totals)
    return TableDesign(request, inputs, method, event, preview, measurements)


def _require_simulated(preview: Release, request: Request) -> None:
    """Raise UsageError if the requested release cannot be simulated."""
    if not request.simulate:
        return
    from geodp.release.settlements import require_simulated

    require_simulated(preview, request.simulate)
    if request.totals is not None or request.prior is not None:
        what = "public totals" if request.prior is None else "a prior"
        raise UsageError(
            f"Releases with {what} are not simulated: leave out --simulate.", code="not-simulated"
        )


def _add_prior(preview: Release, method: Mechanism, prior: Prior | None) -> Release:
    """Add the description of a prior to the preview; UsageError if the method takes none."""
    if prior is None:
        return preview
    if not method.informed:
        raise UsageError(f"{method.name} takes no prior; pyramid does.", code="prior-needs-pyramid")
    return replace(preview, prior=prior.describe())


def _add_totals(
    preview: Release, method: Mechanism, event: Measurement, totals: PublicTotals | None
) -> Release:
    """Add public totals to the preview; UsageError where they do not go with the release."""
    if totals is None:
        return preview
    if not (method.whole and method.nonnegative):
        raise UsageError(
            f"{method.name} does not release whole counts from 0 on, which public totals need.",
            code="totals-need-whole-counts",
        )
    if totals.grid != preview.grid:
        raise UsageError(
            "The public totals are of areas of another grid.", code="totals-of-other-grid"
        )
    facts = *preview.public_facts, totals.describe_guarantee(event)
    return replace(preview, public_facts=facts, totals=totals)


def _request_measurements(
    method: Mechanism, grid: Grid, event: Measurement, measurements: bool | str | int
) -> MeasurementsRequest | None:
    """Choose which measurements are published, if any; see :func:`publish`."""
    if measurements is False:
        return None
    complete_to = None if measurements is True else measurements
    return choose_measurements(method, grid, event, complete_to)


def make_table_event(table: CountTable, method: Mechanism, request: Request) -> Measurement:
    """Make the event of a release of a table, from its grid and bound only.

    Raises
    ------
    UsageError
        As for :func:`publish`.
    """
    bound = request.terms.bound(bound_contribution(table, request.terms.contribution))
    return make_event(table.grid, method, bound, request.key_origin)
