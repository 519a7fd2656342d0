"""Define a release: the published table, its guarantee and its expected errors (`Release`).

:func:`geodp.publish` makes one, and :func:`geodp.open` reads one from files. Conversions to frames
are in :mod:`geodp.release.frames`, estimates in :mod:`geodp.release.estimates`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.area_sums import Areas, areas_of
from geodp.accuracy.cell_interval import cell_intervals
from geodp.accuracy.closed_form import BlockError, cell_errors
from geodp.accuracy.interval import USUAL, Estimate, Tops
from geodp.accuracy.interval_arithmetic import Figures
from geodp.errors import UsageError
from geodp.grid.region import Labels, Region
from geodp.io.folder.staged_release import write_publication
from geodp.io.write import frame
from geodp.io.write.tables import Intervals, RowErrors
from geodp.io.write.view import View
from geodp.release.card import card_of, state_budget
from geodp.release.cutting import NumbersOf
from geodp.release.estimates import PartErrors, error_of_region, estimate_frame, estimate_regions
from geodp.release.frames import InMemory
from geodp.release.regional import Regional
from geodp.table.card import Card
from geodp.table.counts import ReleasedTable

SMOOTHED = "Smoothing over time"
"""Beginning of the sentence on cards of snapshots that were smoothed by others of their series."""


@dataclass(frozen=True, eq=False, repr=False)
class Release(InMemory, Regional):
    """A released table and all public facts about it.

    Attributes
    ----------
    table : ReleasedTable
    charge : Charge or StatedCharge, optional
        The charge to a ledger.
    people : float, optional
        A public guess of the sum of all counts.
    public_facts : tuple of str
        What the absence of an error reveals of the input; the card lists it as not protected.
    custom_method : Method, optional
        Default: the method of ``METHODS`` or ``PROTOCOLS`` that the event names.
    measurements : Measurements, optional
        Noisy values before any clamp, if they are published too.
    totals : PublicTotals, optional
        Public totals that the table meets exactly.
    prior : StatedPrior, optional
        The prior that the table was made with.
    postprocessing : tuple of str
        Post-processing in addition to that of the method, a sentence each.
    simulated : int, optional
        Number of simulated releases behind ``settlements``.
    settlements : StatedSettlements, optional
        Simulated biases of settlements, for the card.
    metadata : StatedMetadata, optional
        Metadata by the publishing office; :func:`geodp.release.metadata.read_metadata`.
    reading : StatedReading, optional
        How the input was read, for the card.
    preview : Release, optional
        Release of an empty table from before the draw. If only drawn values differ, its card and
        closed forms are reused, as they are computed already.
    of_parts : Release, optional
        Of a table of parts, the release of the map whose counts they add up to, where there is one
        with the same counts and noise: it computes its errors once for all tables of parts.
    """

    preview: Release | None = None
    of_parts: Release | None = None

    quantities = ("count",)

    @property
    def tables(self) -> dict[str, Release]:
        """This one table by its name."""
        return {self.name: self}

    @property
    def sums_of_cells(self) -> dict[str, NumbersOf]:
        """Released counts of cells."""
        return {"count": self.table.counts_at}

    def __post_init__(self) -> None:
        # A CountTable has the same columns: it would be written without any noise.
        if not isinstance(self.table, ReleasedTable):
            raise UsageError(
                "A Release holds a released table; geodp.publish makes one.",
                code="released-table-expected",
            )

    def estimate(
        self,
        region: Any,
        labels: Labels | None = None,
        *,
        interval: str = USUAL,
        within: Any = None,
    ) -> Any:
        """Estimate the sum over a region, with its standard error and a 95 % interval.

        The interval allows for the counts that were released as 0
        (:mod:`geodp.accuracy.region_interval`), and so it may be narrower than the standard error
        would make it, which is that of the noise. For parts of a map see
        :mod:`geodp.accuracy.part_errors`.

        Everything is computed from the release alone; areas whose totals are public are exact.

        Parameters
        ----------
        region, labels
            As for :meth:`geodp.grid.region.Region.of`; or a ``geopandas.GeoDataFrame`` of polygons
            in any CRS, which are estimated together.
        interval : str
            ``"usual"``, or ``"worst-case"``: a bound that assumes nothing of the map, several times
            as wide (:mod:`geodp.accuracy.interval`).
        within : path, optional
            With a frame: a finer public map of land or people, see
            :func:`geodp.io.read.public.finer.read_finer`. Cells that a polygon cuts count by the
            part of it that lies inside, and intervals include the error of cutting.

        Returns
        -------
        Estimate
            For a frame: the frame with the additional columns ``cells``, ``count``,
            ``standard_error``, ``low``, ``high``, ``cutting_error`` (the standard error of the
            people in parts of cells that the polygon cuts off) and ``clamped``; a polygon without
            a cell of the domain has no numbers.

        Raises
        ------
        UsageError
            For an unknown region or interval, a frame without a CRS, or a method without a closed
            form for it.
        """
        # Recognised by its methods, so that geopandas is not imported for other regions.
        if hasattr(region, "to_crs"):
            if not hasattr(region, "columns"):
                raise UsageError(
                    "Give a frame of the polygons: estimate(series.to_frame('geometry')).",
                    code="polygons-no-frame",
                )
            return estimate_frame(self, region, labels, interval, within)
        if within is not None:
            raise UsageError(
                "within= is for a frame of polygons; of single ones see estimate_polygons().",
                code="within-without-frame",
            )
        return self.estimate_all([region], labels, interval=interval)[0]

    @cached_property
    def parts(self) -> PartErrors | None:
        """Errors of a map and its parts, for a method that apportions a map."""
        split = self.method.split(self.table)
        if split is None:
            return None
        return PartErrors(self.table, split, self._of_map(split.map))

    def _of_map(self, table: ReleasedTable) -> Release:
        """Make the release of the map of all parts together."""
        if self.of_parts is not None:
            return self.of_parts
        return replace(self, table=table, custom_method=None, charge=None)

    def estimate_all(
        self,
        regions: Iterable[Any],
        labels: Labels | None = None,
        *,
        interval: str = USUAL,
    ) -> list[Estimate]:
        """Estimate many regions together, in their order.

        Parameters and errors are those of :meth:`estimate`.
        """
        cells = [Region.of(self.grid, one, labels) for one in regions]
        return [*estimate_regions(self, cells, interval)]

    def list_figures(self, regions: Iterable[Any], **options: Any) -> list[Figures]:
        """Return the counts of many regions by their quantity; ``options``: of `estimate_all`."""
        return [{"count": one} for one in self.estimate_all(regions, **options)]

    def standard_error(self, cells: Any = 1) -> Any:
        """Compute the closed-form standard error of an aligned block of cells, or of a region.

        It depends on public parameters only, except for parts of a map. If the method clamps at 0,
        it holds where no count on the way is clamped, that is, for blocks well above the noise; an
        isolated occupied cell has a larger one (``isolated_cell`` in the card). For a block it is
        that inside the domain; at the edges it can be larger (``largest``).

        Parameters
        ----------
        cells : int, array of int or region
            A region as for :meth:`estimate`: the error of its cells, with the noise of shared
            parents. Or a number of cells of a block, or a list of these, consecutive in key order;
            a power of 4 is a square of a map. If no block has that number of cells: a run from the
            beginning of a block, with the sum of the errors of its blocks.

        Returns
        -------
        float or float64 array
            In counts.

        Raises
        ------
        UsageError
            For a block that the grid does not have, or a method whose error depends on the data.
        """
        named = isinstance(cells, list) and cells and isinstance(cells[0], str)
        if named or isinstance(cells, str | tuple | Region) or hasattr(cells, "geom_type"):
            return error_of_region(self, Region.of(self.grid, cells))
        errors = self.block_errors
        if errors is None:
            raise UsageError(
                f"{self.event.mechanism} has no closed form of its standard error: it depends on "
                "the data.",
                code="standard-error-unknown",
            )
        sizes, n = np.asarray(cells), errors[0].cells

        def error(size: int) -> float:
            if not 1 <= size <= n:
                raise UsageError(f"A block of this grid has 1 to {n} cells.", code="block-size")
            # Greedy from the largest block on; adding errors, not variances, is an upper bound
            # whatever noise the blocks share.
            total = 0.0
            for block in errors:
                total += size // block.cells * block.standard_error
                size %= block.cells
            return total

        if sizes.dtype.kind not in "iu":
            raise UsageError(f"A block of this grid has 1 to {n} cells.", code="block-size")
        by_size = np.array([error(int(size)) for size in sizes.flat])
        return by_size.reshape(sizes.shape) if sizes.ndim else float(by_size[0])

    def expected_error(self) -> list[dict[str, Any]]:
        """List error and 95 % margin of aligned blocks of 1, 4, 16 ... cells, and of all cells.

        In other key orders, blocks are cells that share digits. Empty if the error depends on the
        data.
        """
        errors = list(reversed(self.block_errors or ()))
        # Every second level of a binary order is a square; the others would double the list.
        if self.grid.order.is_binary:
            errors = errors[:-1:2] + errors[-1:]
        return [error.describe() for error in errors]

    @cached_property
    def _matching_preview(self) -> Release | None:
        """The preview, if this release differs from it in drawn values only."""
        first, drawn = self.preview, ("table", "charge", "measurements", "preview")
        if first is None or first.grid is not self.grid or first.event != self.event:
            return None
        # Identity, not equality: `replace` keeps the objects, and comparing arrays would cost more.
        names = (one.name for one in fields(self) if one.name not in drawn)
        same = all(getattr(self, name) is getattr(first, name) for name in names)
        return first if same and self.parts is None else None

    @cached_property
    def block_errors(self) -> tuple[BlockError, ...] | None:
        """Errors of blocks whose keys share their first i digits, at index i; None without any."""
        if self._matching_preview is not None:
            return self._matching_preview.block_errors
        return self.method.block_errors(self.grid, self.event)

    @cached_property
    def pixel_errors(self) -> list[dict[str, Any]]:
        """Errors of the sums that pixels of each map show."""
        return frame.pixel_errors(self.grid, self._pixel_error)

    def _pixel_error(self, pixel: frame.Pixel) -> float | None:
        """Compute the error of a pixel's sum by the cheapest way that its cells allow."""
        if self.block_errors is None:
            return None
        if pixel.cells == 1:
            return self.block_errors[-1].standard_error
        if pixel.run is not None:
            number, keys = pixel.run
            variance = self._variances(keys, np.array([number], np.uint64))
            return None if variance is None else float(np.sqrt(variance[0]))
        tree = self.method.tree_variance(self.grid, self.event)
        if tree is None or pixel.keys is None:
            return None
        return error_of_region(self, Region(self.grid, pixel.keys))

    def cell_errors(self) -> float | NDArray[np.float64] | None:
        """Compute the standard error of every released cell, or one number if all are equal."""
        if self.block_errors is None:
            return None if self.parts is None else self.parts.cell_errors()
        if self._alike is not None:
            return self._alike
        return cell_errors(self._variances, self.table.key)

    @cached_property
    def _alike(self) -> float | None:
        """Standard error of a cell, if all cells have the same; otherwise None."""
        if self.block_errors is None:
            return None
        cell = self.block_errors[-1].describe()
        same = cell["largest"] == cell["standard_error"]
        return self.block_errors[-1].standard_error if same else None

    def errors(self, tops: Tops | None = None) -> RowErrors | None:
        """Return the errors of cells for files; ``tops`` as for :meth:`intervals`."""
        if self.block_errors is None:
            return None if self.parts is None else self.parts.rows
        error, intervals = self.cell_errors(), self.intervals(tops)
        return None if error is None else RowErrors(error, intervals)

    def intervals(self, tops: Tops | None = None) -> Intervals | None:
        """Return 95 % intervals of single cells, as :meth:`estimate` gives them, or None.

        ``tops``: for a part of a release, see :class:`geodp.accuracy.interval.NodeSums`.
        """
        if self.block_errors is None:
            return self.parts
        # Intervals of the table itself are cached: writers of all formats need them again.
        return self._table_intervals if tops is None else self._intervals(self._alike, tops)

    @cached_property
    def _table_intervals(self) -> Intervals:
        return self._intervals(self._alike)

    def _intervals(self, error: float | None, tops: Tops | None = None) -> Intervals:
        return cell_intervals(self.method, self.table, error, tops)

    def _variances(self, stride: int, block: NDArray[np.uint64]) -> NDArray[np.float64] | None:
        return self.method.variances_of(self.grid, self.event, stride, block)

    def card(self) -> Card:
        """Return the public card: all of ``release.json`` except the list of files.

        ``mechanism.whole`` and ``mechanism.nonnegative`` state which counts are possible: int64 or
        float64, above 0 or merely not 0. ``expected_error.blocks`` may be None.
        """
        return self._card

    @cached_property
    def _card(self) -> Card:
        # Of all on the card, only the charge is known later than the preview.
        if self._matching_preview is not None:
            return replace(self._matching_preview.card(), budget=state_budget(self.charge))
        return card_of(self)

    def view(self, name: str | None = None) -> View:
        """Return the public view of the release, from which formats, maps and pages are made.

        ``name``: name of the count; default: that of the release, or ``population``.
        """
        # The name is chosen when a release is written, and the cached card has the default one.
        return View(
            self.table,
            replace(self.card(), name=name or self.name),
            self.errors(),
            self.areas,
            self.measurements,
            self.totals,
        )

    def areas(self) -> Iterator[Areas]:
        """Yield sums of every level of areas, with errors; see :mod:`geodp.accuracy.area_sums`."""
        return areas_of(self.table, self._area_variances)

    def _area_variances(self, stride: int, block: NDArray[np.uint64]) -> NDArray[np.float64] | None:
        """Compute the variances of areas: 0 for areas whose totals are public."""
        variances = self._variances(stride, block)
        if variances is None or self.totals is None:
            return variances
        return np.where(self.totals.are_exact(stride, block), 0.0, variances)

    def write(
        self,
        path: str | Path,
        *,
        name: str = "population",
        overwrite: bool = False,
        restricted: dict[str, Any] | None = None,
    ) -> dict[str, list[str]]:
        """Write ``path/public`` and ``path/restricted``, all or nothing.

        Parameters
        ----------
        path : path
            A folder that does not exist yet or is empty; with ``overwrite``, an earlier release.
        name : str
            Name of the count: column, layer and file name.
        overwrite : bool
            Replace an earlier release, which stays until the new one is complete.
        restricted : dict, optional
            Values for the operator only, stored in ``restricted/run.json``.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths written.

        Raises
        ------
        UsageError
            If the folder holds anything else than a release, or the name is no file name.
        OutputError
            If the disk is full or the folder cannot be written; nothing is published there.
        """
        return write_publication(
            self.view(), path, name=name, overwrite=overwrite, restricted=restricted or {}
        )
