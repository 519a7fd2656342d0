"""A release in memory: tables of Arrow, Polars, pandas and geopandas, arrays of xarray, maps."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from geodp.advice import no_attribute
from geodp.errors import Rule, UsageError
from geodp.io.write.frame import MAX_BLOCKS
from geodp.io.write.geometry import geometry_crs
from geodp.io.write.map.look import Look
from geodp.io.write.picture import draw_map, why_no_picture
from geodp.io.write.tables import name_of_counts
from geodp.table.display import show_count

if TYPE_CHECKING:
    from geodp.io.write.view import View
    from geodp.table.released import ReleasedTable

INSTEAD = {
    "save dump to_file to_csv to_parquet to_excel to_json to_feather": (
        "write(folder) writes all files of it, and to_pandas() or to_geopandas() has its rows alone"
    ),
    "head tail columns index iloc loc values describe groupby query sum mean sort_values items "
    "to_frame to_df to_dict dtypes": "its rows are to_pandas(), to_polars() or to_arrow()",
    "to_numpy to_array": "all cells as an array are table.to_dense(), or to_xarray()",
    "to_gdf to_geodataframe geometry": "its cells with their outlines are to_geopandas()",
    "show explore map": "plot() draws it, and a notebook shows it as it is",
    "epsilon delta rho budget guarantee": "card().guarantee states it, and event has its numbers",
    "crs bounds transform": "its cells are grid.places[0]",
    "shape size": "grid has it",
    "total count counts": "table.total is the sum, and table.count has the counts of its rows",
}
"""What a release has, by the names that people try who know frames."""

ITEMS = (
    "A release has no items: the count of an area or a cell is estimate(code), and its rows are "
    "to_pandas()."
)

SMALL = 240
"""Pixels that the longer side of a notebook's map is enlarged towards."""

SHARP = 144
"""Dots per inch of it: it is shown at half the size, so that fine screens show it sharply."""

BESIDE = "display: flex; flex-wrap: wrap; align-items: center"
WORDS = "flex: 1; min-width: 18em; max-width: 40em"
"""The words stand beside the map, or below it where there is no room."""


class InMemory:
    """What a release is to those who work with frames: one row for every cell that is not 0.

    Columns are those of the files: codes or centres, other axes and labels, the count under its
    name, and where its error is known ``standard_error``, ``low`` and ``high``.
    """

    table: ReleasedTable

    if TYPE_CHECKING:

        def view(self, name: str | None = None) -> View:
            """As :class:`geodp.release.release.Release` has it."""

    @property
    def name(self) -> str:
        """Of the count, in columns and files, unless another is given."""
        return "population"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.table.summary})"

    def __len__(self) -> int:
        """How many cells are listed: those that are not 0."""
        return len(self.table)

    def __bool__(self) -> bool:
        """Whether there is a release: also where it lists no cell."""
        return True

    def __getitem__(self, item: object) -> NoReturn:
        """Say what is meant by an item, as there is none; iteration asks for one, too."""
        raise TypeError(ITEMS)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Say what is meant by a name that frames have."""
            raise no_attribute(self, "A release", name, INSTEAD)

    def to_arrow(self, name: str | None = None) -> Any:
        """Return the rows as a ``pyarrow.Table``; ``name`` is that of the count's column."""
        return self.view(name).all_rows.columns

    def to_pandas(self, name: str | None = None) -> Any:
        """Return the rows as a ``pandas.DataFrame``; codes are text, counts keep their type.

        Raises UsageError where pandas is not installed.
        """
        try:
            return self.to_arrow(name).to_pandas()
        except ModuleNotFoundError:
            raise UsageError(
                "pandas is not installed: pip install pandas, or to_arrow().",
                code="library-missing",
            ) from None

    def to_polars(self, name: str | None = None) -> Any:
        """Return the rows as a ``polars.DataFrame``.

        Raises UsageError where Polars is not installed.
        """
        try:
            import polars
        except ModuleNotFoundError:
            raise UsageError(
                "polars is not installed: pip install polars, or to_arrow().",
                code="library-missing",
            ) from None
        return polars.from_arrow(self.to_arrow(name))

    def to_geopandas(self, name: str | None = None) -> Any:
        """Return the rows as a ``geopandas.GeoDataFrame`` in the grid's CRS.

        Cells are their outlines; a row of origin and destination is a line between the cells'
        centres, of length 0 for those who stay.

        Raises UsageError on a grid that lies nowhere on the Earth, and without geopandas.
        """
        view = self.view(name)
        if not view.located:
            raise UsageError(
                "Rows of this grid lie nowhere on the Earth: use to_pandas().",
                code="rows-not-on-earth",
            )
        try:
            import geopandas
        except ModuleNotFoundError:
            raise UsageError(
                "geopandas is not installed: pip install geopandas.", code="library-missing"
            ) from None
        import shapely

        rows = view.all_rows
        shapes = shapely.from_wkb(rows.outlines[0].to_numpy(zero_copy_only=False))
        return geopandas.GeoDataFrame(
            rows.columns.to_pandas(), geometry=shapes, crs=geometry_crs(view.table.grid)
        )

    def to_xarray(self, name: str | None = None) -> Any:
        """Return all cells as an ``xarray.DataArray`` over attributes, y and x.

        Coordinates are the middles of rows and columns, those of y falling, and ``spatial_ref``
        holds the CRS as the CF conventions say it. Cells outside the domain are NaN, so that
        counts are float64 there; of a box they keep their type.

        Raises UsageError for more than 2**28 cells, on a grid that is not one map, and without
        xarray.
        """
        grid = self.table.grid
        place = grid.require_map(
            Rule(
                "xarray-needs-one-map", "Arrays of x and y need a grid of one map; use to_pandas()."
            )
        )
        try:
            import xarray
        except ModuleNotFoundError:
            raise UsageError(
                "xarray is not installed: pip install xarray.", code="library-missing"
            ) from None
        dense = self.table.to_dense()
        if not grid.domain.is_box:
            inside = grid.contains(np.indices(grid.shape).reshape(len(grid.shape), -1))
            dense = np.where(inside.reshape(grid.shape), dense, np.nan)
        xs, ys = place.edges()
        x, y = ((edges[1:] + edges[:-1]) / 2 for edges in (xs, ys))
        falls = y.size < 2 or y[0] > y[1]
        found = xarray.DataArray(
            np.moveaxis(dense if falls else dense[::-1], (0, 1), (-2, -1)),
            dims=(*(one.name for one in grid.attributes), "y", "x"),
            coords={
                **{one.name: list(one.labels) for one in grid.attributes},
                "y": y if falls else y[::-1],
                "x": x,
            },
            name=name or self.name,
            attrs={"long_name": name_of_counts(name or self.name, self.table.event.unit)},
        )
        if place.crs is None:
            return found
        from geodp.io.write.frame import crs_of

        found = found.assign_coords(spatial_ref=0)
        found.spatial_ref.attrs.update(crs_of(place.crs).to_cf())
        found.attrs["grid_mapping"] = "spatial_ref"
        return found

    def plot(self, ax: Any = None, **given: Any) -> Any:
        """Draw the map on axes of Matplotlib in the grid's CRS, and return these.

        Attributes are summed, and so are blocks of cells where there are more than 1,600 along a
        side; blocks of 0 and outside the domain stay blank.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Default: new ones.
        **given
            For ``imshow``. Default: a logarithmic scale from 1 on, and colours that the
            colour-blind can tell apart.

        Raises UsageError on a grid that is not one map, and without Matplotlib.
        """
        grid = self.table.grid
        place, block = (
            grid.require_map(
                Rule("plot-needs-one-map", "A plot needs a grid of one map; use to_pandas().")
            ),
            1,
        )
        try:
            import matplotlib.pyplot as plt
            from matplotlib.colors import LogNorm
        except ModuleNotFoundError:
            raise UsageError(
                "Matplotlib is not installed: pip install geodp[plots].", code="library-missing"
            ) from None
        while max(place.rows, place.cols) > block * MAX_BLOCKS:
            block *= 2
        drawn = np.zeros((-(-place.rows // block), -(-place.cols // block)))
        row, col = grid.decode(self.table.key)[:2] // block
        np.add.at(drawn, (row, col), self.table.count)
        west, south, _, north = place.bounds
        step = (north - south) / place.rows * block * drawn.shape[0]
        if place.transform is None or place.northwards:
            drawn, south_north = drawn[::-1], (south, south + step)
        else:
            south_north = (north - step, north)
        east = west + (place.bounds[2] - west) / place.cols * block * drawn.shape[1]
        top = max(float(drawn.max(initial=0)), 10.0)
        usual = {"cmap": "magma_r", "norm": LogNorm(1, top), "interpolation": "nearest"}
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        shown = np.ma.masked_less_equal(drawn, 0)
        image = ax.imshow(shown, extent=(west, east, *south_north), **(usual | given))
        label = name_of_counts(self.name, self.table.event.unit)
        ax.figure.colorbar(image, ax=ax, label=label if block == 1 else f"{label}, {block} cells")
        return ax

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a small map, and the first lines of the card."""
        view = self.view()
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in _first_lines(view))
        picture = ""
        if why_no_picture(self.table.grid) is None:
            drawn = draw_map(view, Look(size=SMALL), dpi=SHARP)
            data = base64.b64encode(drawn).decode("ascii")
            width = int.from_bytes(drawn[16:20]) // 2  # as the header of a PNG says it
            picture = (
                f'<img alt="map of the release" width="{width}" style="max-width: 100%" '
                f'src="data:image/png;base64,{data}">'
            )
        return f'<div style="{BESIDE}">{picture}<ul style="{WORDS}">{lines}</ul></div>'


def _first_lines(view: View) -> Iterator[str]:
    """Yield what must be known of a release, a sentence each."""
    card, table = view.card, view.table
    guarantee, domain = card.guarantee, card.domain
    if not card.private:
        yield "NOT PRIVATE: the key of the noise was known beforehand."
    yield guarantee.in_words
    people = show_count(table.total, view.limit)
    yield f"{table.key.size:,} of {domain.cells:,} cells listed, {people} in all"
    yield f"method {card.mechanism.spec}: {card.mechanism.values}"
    error = card.expected_error.largest
    if error is not None:
        yield f"standard error of one cell {error:.3g}, {card.expected_error.holds}"
