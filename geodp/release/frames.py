"""Convert a release to tables of Arrow, Polars, pandas and geopandas, to xarray, and to maps."""

from __future__ import annotations

import base64
import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from geodp.advice import no_attribute
from geodp.errors import Rule, UsageError, require_library
from geodp.grid.grid import Grid
from geodp.io.write.frame import MAX_BLOCKS
from geodp.io.write.geometry import geometry, geometry_crs, has_geometry
from geodp.io.write.tables import name_of_counts
from geodp.release.base import BaseRelease
from geodp.table.display import show_count
from geodp.typing import IntArray

if TYPE_CHECKING:
    from geodp.io.write.view import View

ALTERNATIVES = {
    "save dump to_file to_csv to_parquet to_excel to_json to_feather": (
        "write(folder) writes all files of it, and to_pandas() or to_geopandas() has its rows alone"
    ),
    "head tail columns index iloc loc values describe groupby query sum mean sort_values items "
    "to_frame to_df to_dict dtypes": "its rows are to_pandas(), to_polars() or to_arrow()",
    "to_numpy to_array": "all cells as an array are table.to_dense(), or to_xarray()",
    "to_gdf to_geodataframe geometry": "its cells with their outlines are to_geopandas()",
    "show map": "plot() draws it, explore() lets you move in it, and a notebook shows it as it is",
    "epsilon delta rho budget guarantee": "card().guarantee states it, and event has its numbers",
    "crs bounds transform": "its cells are grid.places[0]",
    "shape size": "grid has it",
    "total count counts": "table.total is the sum, and table.count has the counts of its rows",
}
"""Calls to suggest instead, by the attributes of frames that users try on a release."""

ITEMS = (
    "A release has no items: the count of an area or a cell is estimate(code), and its rows are "
    "to_pandas()."
)

MAP_PIXELS = 240
"""Longer side of the map in a notebook, in pixels, about."""

MAP_DPI = 144
"""Dots per inch of the map: it is shown at half its size, to be sharp on fine screens."""

MAPS_IN_A_ROW = 4
"""Small maps of a series beside each other."""

PREVIEW_STYLE = "display: flex; flex-wrap: wrap; align-items: center"
TEXT_STYLE = "flex: 1; min-width: 18em; max-width: 40em"
"""CSS that puts the text beside the map, or below it in a narrow window."""


class Rows(ABC):
    """Conversions of a release whose cells have rows, with those columns that its files have."""

    @abstractmethod
    def view(self, name: str | None = None) -> View:
        """Return the public view of the rows; ``name`` is that of the count's column."""

    def views(self) -> list[View]:
        """Return the views of all tables, for exports."""
        return [self.view()]

    def to_arrow(self, name: str | None = None) -> Any:
        """Convert the rows to a ``pyarrow.Table``; ``name`` is that of the count's column."""
        return self.view(name).all_rows.columns

    def to_pandas(self, name: str | None = None) -> Any:
        """Convert the rows to a ``pandas.DataFrame``; codes are text, counts keep their type.

        Raises UsageError where pandas is not installed.
        """
        require_library("pandas", "to_pandas()", remedy="Or use to_arrow().")
        return self.to_arrow(name).to_pandas()

    def to_geopandas(self, name: str | None = None) -> Any:
        """Convert the rows to a ``geopandas.GeoDataFrame`` in the grid's CRS.

        The geometry of a cell is its outline; that of a pair of origin and destination is a line
        between the cells' centres, or points within units, of length 0 for those who stay, and
        None where an end lies nowhere.

        Raises UsageError for a grid without a place on the Earth, and without geopandas.
        """
        view = self.view(name)
        return locate_rows(self.to_pandas(name), view.table.grid, view.all_rows.index)


class InMemory(Rows, BaseRelease):
    """Conversions of a release, with one row for every cell that is not 0.

    Columns are those of the files: codes or centres, other axes and labels, the count under its
    name, and if the error is known ``standard_error``, ``low`` and ``high``.
    """

    @property
    def name(self) -> str:
        """Default name of the count, in columns and files."""
        return "population"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.table.summary})"

    def __len__(self) -> int:
        """Return the number of listed cells, which are those that are not 0."""
        return len(self.table)

    def __bool__(self) -> bool:
        """Return True: also a release that lists no cell is one."""
        return True

    def __getitem__(self, item: object) -> NoReturn:
        """Raise TypeError with what to call instead; iteration comes here, too."""
        raise TypeError(ITEMS)

    # Hidden from type checkers, which would otherwise accept every name as an attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError with what to call instead of an attribute of frames."""
            raise no_attribute(self, "A release", name, ALTERNATIVES)

    def to_polars(self, name: str | None = None) -> Any:
        """Convert the rows to a ``polars.DataFrame``.

        Raises UsageError where Polars is not installed.
        """
        require_library("polars", "to_polars()", remedy="Or use to_arrow().")
        import polars

        return polars.from_arrow(self.to_arrow(name))

    def to_xarray(self, name: str | None = None) -> Any:
        """Convert all cells to an ``xarray.DataArray`` over attributes, y and x.

        Coordinates are the centres of rows and columns, in descending order of y, and
        ``spatial_ref`` holds the CRS by the CF conventions. Cells outside the domain are NaN, and
        counts are float64 then; on a box they keep their dtype.

        Raises UsageError for more than 2**28 cells, for a grid that is not one map, and without
        xarray.
        """
        grid = self.table.grid
        place = grid.require_map(
            Rule(
                "xarray-needs-one-map", "Arrays of x and y need a grid of one map; use to_pandas()."
            )
        )
        require_library("xarray", "to_xarray()")
        import xarray

        dense = self.table.to_dense()
        if not grid.domain.is_box:
            inside = grid.contains(np.indices(grid.shape).reshape(len(grid.shape), -1))
            dense = np.where(inside.reshape(grid.shape), dense, np.nan)
        xs, ys = place.edges()
        x, y = ((edges[1:] + edges[:-1]) / 2 for edges in (xs, ys))
        # Rows of a grid may run north or south; xarray and GDAL expect y to fall.
        falls = y.size < 2 or y[0] > y[1]
        array = xarray.DataArray(
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
            return array
        from geodp.io.write.frame import crs_of

        array = array.assign_coords(spatial_ref=0)
        array.spatial_ref.attrs.update(crs_of(place.crs).to_cf())
        array.attrs["grid_mapping"] = "spatial_ref"
        return array

    def plot(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the map on Matplotlib axes in the grid's CRS, and return the axes.

        Attributes are summed. Blocks of cells are summed if a side has more than 1,600 cells.
        Blocks that are 0 or outside the domain stay blank. Areal units are drawn by their outlines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Default: new axes.
        **kwargs
            Passed to ``imshow``, and of units to ``GeoDataFrame.plot``. Default: a logarithmic
            scale that begins at 1, and a colour map that is readable with colour blindness.

        Raises UsageError for a grid that is not one map, and without Matplotlib.
        """
        grid = self.table.grid
        place = grid.require_map(
            Rule("plot-needs-one-map", "A plot needs a grid of one map; use to_pandas().")
        )
        if grid.outlines is not None:
            rows, codes = self.to_geopandas("count"), [*grid.maps.codes]
            rows["count"] = rows.groupby(codes)["count"].transform("sum")
            rows = rows.drop_duplicates(codes)
            label = name_of_counts(self.name, self.table.event.unit)
            return plot_rows(rows, "count", ax, **({"legend_kwds": {"label": label}} | kwargs))
        require_library("matplotlib", "A plot", "plots")
        import matplotlib.pyplot as plt
        from matplotlib.colors import LogNorm

        block = 1
        while max(place.rows, place.cols) > block * MAX_BLOCKS:
            block *= 2
        drawn = np.zeros((-(-place.rows // block), -(-place.cols // block)))
        # Matplotlib shows the nearest of several cells in a pixel: isolated ones would vanish.
        row, col = grid.decode(self.table.key)[:2] // block
        np.add.at(drawn, (row, col), self.table.count)
        west, south, _, north = place.bounds
        # The last block may reach past the map's edge: the extent follows the blocks, not the map.
        step = (north - south) / place.rows * block * drawn.shape[0]
        if place.transform is None or place.northwards:
            drawn, south_north = drawn[::-1], (south, south + step)
        else:
            south_north = (north - step, north)
        east = west + (place.bounds[2] - west) / place.cols * block * drawn.shape[1]
        # LogNorm needs two different ends, also of a map whose largest block is 1.
        top = max(float(drawn.max(initial=0)), 10.0)
        usual = {"cmap": "magma_r", "norm": LogNorm(1, top), "interpolation": "nearest"}
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        shown = np.ma.masked_less_equal(drawn, 0)
        image = ax.imshow(shown, extent=(west, east, *south_north), **(usual | kwargs))
        label = name_of_counts(self.name, self.table.event.unit)
        ax.figure.colorbar(image, ax=ax, label=label if block == 1 else f"{label}, {block} cells")
        return ax

    def explore(self, **kwargs: Any) -> Any:
        """Show the listed cells on an interactive map in a notebook, and return the map.

        Parameters
        ----------
        **kwargs
            Passed to ``GeoDataFrame.explore``, such as ``tiles=None`` without a network. Default:
            the colours of :meth:`plot`.

        Raises UsageError for a grid without a place on the Earth, and without geopandas or folium.
        """
        require_place(self.grid)
        return explore_rows(lambda: self.to_geopandas("count"), "count", **kwargs)

    def _repr_html_(self) -> str:
        """Render a small map and the first lines of the card as HTML, for notebooks."""
        return preview({self.name: self.view()}, _first_lines(self.view()))


class OnMaps(ABC):
    """Conversions of a release of several tables, for those that lie on one map."""

    @property
    @abstractmethod
    def tables(self) -> Mapping[str, Any]:
        """All tables by name."""

    @property
    def table_views(self) -> Mapping[str, View]:
        """Views of all tables by name."""
        return {name: one.view(name) for name, one in self.tables.items()}

    def _find_table(self, name: str | None) -> Any:
        """Return the table of a name, or the first that lies on one map."""
        named = {
            one: table for one, table in self.tables.items() if table.grid.maps.one is not None
        }
        chosen = next(iter(named), None) if name is None else name
        if chosen not in named:
            raise UsageError(NOT_ON_MAP.format(", ".join(named) or "none"))
        return named[chosen]

    def to_xarray(self) -> Any:
        """Convert the tables that lie on one map to an ``xarray.Dataset`` over y and x.

        Each is as :meth:`geodp.Release.to_xarray` converts it, under its name.

        Raises UsageError where no table lies on one map, and without xarray.
        """
        require_library("xarray", "to_xarray()")
        import xarray

        self._find_table(None)
        on_map = (one for one in self.tables.items() if one[1].grid.maps.one is not None)
        return xarray.Dataset({name: table.to_xarray(name) for name, table in on_map})

    def plot(self, table: str | None = None, ax: Any = None, **kwargs: Any) -> Any:
        """Draw a table on Matplotlib axes, and return the axes; see :meth:`geodp.Release.plot`.

        ``table``: its name; default: the first that lies on one map.
        """
        return self._find_table(table).plot(ax, **kwargs)

    def explore(self, table: str | None = None, **kwargs: Any) -> Any:
        """Show a table on an interactive map in a notebook; see :meth:`geodp.Release.explore`.

        ``table``: its name; default: the first that lies on one map.
        """
        return self._find_table(table).explore(**kwargs)

    def _repr_html_(self) -> str:
        """Render small maps and the first lines of the cards as HTML, for notebooks."""
        views = self.table_views
        on_map = {n: v for n, v in views.items() if v.table.grid.maps.one is not None}
        lines = [f"{name}: {line}" for name, view in views.items() for line in _list_size(view)]
        first = next(iter(views.values()))
        return preview(on_map, [*_list_guarantee(first), *lines])


NOT_ON_MAP = Rule("table-not-on-one-map", "Give one of the tables that lie on one map: {}.")


def preview(views: Mapping[str, View], lines: Iterable[str]) -> str:
    """Render small maps of tables beside lines of text as HTML, for notebooks."""
    # Fonts and colours of maps come with them, which take time to import.
    from geodp.io.write.map.look import Look
    from geodp.io.write.picture import draw_map, why_no_picture

    pictures = ""
    for name, view in views.items():
        if why_no_picture(view.table.grid) is not None:
            continue
        drawn = draw_map(view, Look(size=MAP_PIXELS), dpi=MAP_DPI)
        data = base64.b64encode(drawn).decode("ascii")
        # Bytes 16 to 20 of a PNG are its width, in the IHDR chunk.
        width = int.from_bytes(drawn[16:20]) // 2
        pictures += (
            f'<img alt="map of {html.escape(name)}" width="{width}" style="max-width: 100%" '
            f'src="data:image/png;base64,{data}">'
        )
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f'<div style="{PREVIEW_STYLE}">{pictures}<ul style="{TEXT_STYLE}">{items}</ul></div>'


COLOURS = {"cmap": "magma_r"}
"""Colour map of drawn rows: readable with colour blindness."""


def plot_rows(rows: Any, column: str | None, ax: Any, **kwargs: Any) -> Any:
    """Draw a ``GeoDataFrame`` on Matplotlib axes, coloured by a column, and return the axes."""
    require_library("matplotlib", "A plot", "plots")
    usual = {} if column is None else {"column": column, "legend": True, **COLOURS}
    return rows.plot(ax=ax, **(usual | kwargs))


def explore_rows(rows: Callable[[], Any], column: str | None, **kwargs: Any) -> Any:
    """Show a ``GeoDataFrame`` on an interactive map, coloured by a column, and return the map.

    ``rows``: a function that makes it, which is called where all libraries are installed.
    """
    libraries = "geopandas folium mapclassify matplotlib"
    require_library(libraries, "explore()", remedy="Or use plot().")
    usual = {} if column is None else {"column": column, **COLOURS}
    return rows().explore(**(usual | kwargs))


def require_place(grid: Grid) -> None:
    """Raise UsageError for a grid without a place on the Earth."""
    if not has_geometry(grid):
        raise UsageError(
            "Rows of this grid lie nowhere on the Earth: use to_pandas().",
            code="rows-not-on-earth",
        )


def locate_rows(rows: Any, grid: Grid, index: IntArray) -> Any:
    """Return rows as a ``geopandas.GeoDataFrame``, each with the outline of its cell.

    Parameters
    ----------
    rows : pandas.DataFrame
    grid : Grid
    index : int64[d, n]
        Of the cells, in the order of the rows.

    Raises UsageError for a grid without a place on the Earth, and without geopandas.
    """
    require_place(grid)
    require_library("geopandas", "to_geopandas()")
    import geopandas
    import shapely

    shapes = shapely.from_wkb(geometry(grid, index)[0].to_numpy(zero_copy_only=False))
    return geopandas.GeoDataFrame(rows, geometry=shapes, crs=geometry_crs(grid))


def make_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Make a ``pandas.DataFrame`` of rows; UsageError where pandas is not installed."""
    require_library("pandas", "to_pandas()")
    import pandas

    return pandas.DataFrame([dict(one) for one in rows])


def stack_frames(frames: Mapping[str, Any], column: str) -> Any:
    """Stack frames of pandas or geopandas, with a first column of their names."""
    import pandas

    for name, frame in frames.items():
        frame.insert(0, column, name)
    return pandas.concat([*frames.values()], ignore_index=True)


def stack_arrays(arrays: Sequence[Any], times: Any) -> Any:
    """Stack arrays or datasets of xarray along a first dimension ``time``; datetime64[times]."""
    import xarray

    axis = xarray.DataArray(times, dims="time", name="time")
    alike: Any = {"coords": "minimal", "compat": "override", "join": "exact"}
    return xarray.concat([*arrays], dim=axis, **alike)


def plot_maps(releases: Mapping[str, Any], ax: Any = None, **kwargs: Any) -> Any:
    """Draw small maps of releases of one grid on one scale, each with its name above it.

    Parameters
    ----------
    releases : mapping of str to Release
    ax : array of matplotlib.axes.Axes, optional
        One for each release. Default: new axes, in rows of four.
    **kwargs
        Passed to :meth:`InMemory.plot`.

    Returns
    -------
    array of matplotlib.axes.Axes

    Raises UsageError for a grid that is not one map, and without Matplotlib.
    """
    require_library("matplotlib", "A plot", "plots")
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    if ax is None:
        cols = min(len(releases), MAPS_IN_A_ROW)
        rows = -(-len(releases) // cols)
        _, ax = plt.subplots(rows, cols, figsize=(4 * cols, 3.2 * rows), layout="constrained")
    axes = np.asarray(ax).reshape(-1)
    for one, (name, release) in zip(axes, releases.items(), strict=False):
        release.plot(one, **kwargs)
        one.set_title(name)
    for one in axes[len(releases) :]:
        one.set_axis_off()
    images = [one.images[0] for one in axes[: len(releases)] if one.images]
    if "norm" not in kwargs and images:
        # Maps of several times are compared, so that one colour has to mean one count.
        norm = LogNorm(1, max(one.norm.vmax for one in images))
        for one in images:
            one.set_norm(norm)
    return axes[: len(releases)]


def plot_curve(numbers: Mapping[str, Any], label: str, ax: Any = None, **kwargs: Any) -> Any:
    """Draw a number of several times with its 95 % interval on Matplotlib axes; return the axes.

    Parameters
    ----------
    numbers : mapping of str to Interval or None
        By time; None: not estimable, which leaves a gap.
    label : str
        Of the axis of numbers.
    ax : matplotlib.axes.Axes, optional
        Default: new axes.
    **kwargs
        Passed to ``errorbar``.

    Raises UsageError without Matplotlib.
    """
    require_library("matplotlib", "A plot", "plots")
    import matplotlib.pyplot as plt

    ax = plt.subplots(layout="constrained")[1] if ax is None else ax
    known = {time: one for time, one in numbers.items() if one is not None}
    value = np.array([one.value for one in known.values()])
    ends = np.array([(one.low, one.high) for one in known.values()]).reshape(-1, 2).T
    usual = {"fmt": "o-", "capsize": 3}
    at = [[*numbers].index(time) for time in known]
    ax.errorbar(at, value, yerr=np.abs(ends - value), **(usual | kwargs))
    ax.set_xticks(range(len(numbers)), [*numbers], rotation=45, ha="right")
    ax.set_ylabel(label)
    return ax


def _first_lines(view: View) -> Iterator[str]:
    """Yield the main facts of a card, a sentence each."""
    card = view.card
    yield from _list_guarantee(view)
    yield from _list_size(view)
    yield f"method {card.mechanism.spec}: {card.mechanism.values}"
    error = card.expected_error.largest
    if error is not None:
        yield f"standard error of one cell {error:.3g}, {card.expected_error.holds}"


def _list_guarantee(view: View) -> Iterator[str]:
    """Yield what is promised."""
    if not view.card.private:
        yield "NOT PRIVATE: the key of the noise was known beforehand."
    yield view.card.guarantee.in_words


def _list_size(view: View) -> Iterator[str]:
    """Yield how many cells are listed, and their sum."""
    people = show_count(view.table.total, view.limit)
    cells = view.card.domain.cells
    yield f"{view.table.key.size:,} of {cells:,} cells listed, {people} in all"
