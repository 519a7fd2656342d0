"""Files of a release of flows: noisy pairs of blocks, noisy trips by label, a prior, and all pairs.

The first three are Parquet; the trips of all pairs of zones are one table in every format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
from numpy.typing import NDArray

from geodp.grid.axes import Attribute
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import ENDS
from geodp.io.folder.publication import list_file, write_rows
from geodp.io.opening import open_parquet, read_parquet, require_rows
from geodp.io.write.geometry import LENGTH, has_geometry, measure_lines
from geodp.io.write.parquet import MEDIA_TYPE
from geodp.io.write.scale import Shown
from geodp.io.write.tables import UNCERTAINTY_COLUMNS, RowErrors
from geodp.io.write.view import JointView
from geodp.kinds.flows.english import FILES, describe_file
from geodp.kinds.flows.estimator import NoisyPairs
from geodp.kinds.flows.kind import FLOWS, StatedPairErrors
from geodp.kinds.flows.label_model import NoisyLabels
from geodp.kinds.flows.pair_errors import look_up_errors
from geodp.kinds.flows.prior_flows import FlowsPrior
from geodp.kinds.flows.zones import ZoneBlocks, Zones, pairs_of
from geodp.release.release import Release
from geodp.table.card import File
from geodp.table.counts import ReleasedTable, coalesce
from geodp.table.index import Joint
from geodp.typing import IntArray, KeyArray

PAIRS = 1 << 20
"""Pairs that are written or compared at a time: a row group."""

NOISY = "noisy"
"""Column of noisy trips; before it are the places of both blocks, counted in blocks."""

UNITS_FILE = "blocks.parquet"
"""Name of the file of the blocks of areal units."""


def name_columns(blocks: ZoneBlocks) -> list[str]:
    """Return the columns of the places of both blocks of a pair."""
    return [f"{end}_{axis}" for end in ENDS for axis in blocks.places]


def write_measured(
    noisy: Sequence[NoisyPairs],
    labels: Sequence[NoisyLabels],
    prior: FlowsPrior | None,
    zones: Zones,
    attributes: tuple[Attribute, ...],
    folder: Path,
) -> tuple[File, ...]:
    """Write what was measured besides the ends, and a prior; return the entries of the files."""
    files = (
        *write_noisy(noisy, folder),
        *write_labels(labels, zones, attributes, folder),
        *write_prior(prior, zones, folder),
    )
    if zones.grid.names.on_map:
        return files
    sides = sorted({*(one.blocks.side for one in noisy), *(one.side for one in labels)})
    return (*files, write_blocks([zones.blocks(side) for side in sides], zones, folder))


def write_blocks(blocks: Sequence[ZoneBlocks], zones: Zones, folder: Path) -> File:
    """Write the block of every areal unit, of each size; return the entry of the file."""
    columns = name_zones(zones)
    columns |= {f"block_{one.side}": pa.array(one.of_zone.astype(np.int32)) for one in blocks}
    path, table = folder / UNITS_FILE, pa.table(columns)
    pa.parquet.write_table(table, path, compression="zstd")
    return _list(path, describe_file(FILES, "blocks"), table.column_names)


def _list(path: Path, what: str, columns: Sequence[str]) -> File:
    """Return the entry of a written file in the index."""
    return list_file(path, MEDIA_TYPE, what, columns=tuple(columns))


PRIOR = "prior.parquet"
"""Name of the file of the flows of a prior."""

BATCH = 1 << 16
"""Flows of a prior that are read at once."""

TRIPS = "trips"
"""Column of the trips of pairs and of a prior; before it are both zones."""


def name_file(side: int) -> str:
    """Return the name of the file of a side."""
    return f"pairs-{side}.parquet"


def write_noisy(noisy: Sequence[NoisyPairs], folder: Path) -> tuple[File, ...]:
    """Write the noisy pairs of every side; return the entries of their files in the index."""
    entries = []
    for one in noisy:
        path = folder / name_file(one.blocks.side)
        with pa.parquet.ParquetWriter(path, _schema(one.blocks), compression="zstd") as file:
            for first in range(0, one.noisy.size, PAIRS):
                file.write_table(_slice(one, first, PAIRS))
        columns = [*name_columns(one.blocks), NOISY]
        entries.append(_list(path, _describe("pairs", one.blocks), columns))
    return tuple(entries)


def _describe(kind: str, blocks: ZoneBlocks) -> str:
    """Describe a file of noisy trips of blocks, or of their pairs."""
    return describe_file(FILES, kind, blocks.side, on_map=blocks.on_map)


def _slice(one: NoisyPairs, first: int, number: int) -> pa.Table:
    """Return some noisy pairs as columns, the origin varying slowest."""
    noisy = one.noisy.reshape(-1)[first : first + number]
    ends = np.divmod(np.arange(first, first + noisy.size), one.blocks.number)
    places = [axis[end] for end in ends for axis in one.blocks.places.values()]
    columns = [pa.array(place.astype(np.int32)) for place in places]
    return pa.table([*columns, pa.array(noisy)], schema=_schema(one.blocks))


def _list_places(blocks: ZoneBlocks) -> list[IntArray]:
    """List the places of both blocks of all pairs, the origin varying slowest: int64[pairs]."""
    axes, number = blocks.places.values(), blocks.number
    return [*(np.repeat(axis, number) for axis in axes), *(np.tile(axis, number) for axis in axes)]


def _schema(blocks: ZoneBlocks) -> pa.Schema:
    """Return the columns of a file, and their types."""
    names = name_columns(blocks)
    kinds = [pa.int32()] * len(names) + [pa.int64()]
    return pa.schema([*zip([*names, NOISY], kinds, strict=True)])


def read_noisy(path: Path, empty: NoisyPairs) -> NoisyPairs:
    """Read the noisy pairs of a file; ValueError if they are of other blocks.

    ``empty``: pairs of these blocks, with the noise that they have.

    Raises VerificationError, before any is read, where the file declares more of them.
    """
    blocks = empty.blocks
    file, pairs = open_parquet(path), blocks.number**2
    require_rows(path, file.metadata.num_rows, pairs)
    if file.schema_arrow != _schema(blocks):
        raise ValueError("The file has other columns.")
    if file.metadata.num_rows != pairs:
        raise ValueError("The file lists other pairs.")
    noisy, first = np.zeros(pairs, np.int64), 0
    one = replace(empty, noisy=noisy.reshape(blocks.number, -1))
    for batch in file.iter_batches(PAIRS):
        if any(column.null_count for column in batch.columns):
            raise ValueError("The file has other columns.")
        noisy[first : first + batch.num_rows] = batch.column(NOISY).to_numpy()
        if not pa.table(batch).equals(_slice(one, first, batch.num_rows)):
            raise ValueError("The file lists other pairs.")
        first += batch.num_rows
    return one


def name_labels(ends: str) -> str:
    """Return the name of the file of trips by label of a kind of cells."""
    return f"labels-{ends}.parquet"


def write_labels(
    labels: Sequence[NoisyLabels],
    zones: Zones,
    attributes: tuple[Attribute, ...],
    folder: Path,
) -> tuple[File, ...]:
    """Write the noisy trips by label of every kind; return the entries of their files."""
    entries = []
    for one in labels:
        path, table = folder / name_labels(one.ends), _table_of_labels(one, zones, attributes)
        pa.parquet.write_table(table, path, compression="zstd")
        what = _describe(f"labels_{one.ends}", zones.blocks(one.side))
        entries.append(_list(path, what, table.column_names))
    return tuple(entries)


def _table_of_labels(one: NoisyLabels, zones: Zones, attributes: tuple[Attribute, ...]) -> pa.Table:
    """Return noisy trips by label as columns, the cell varying slowest."""
    blocks, labels = zones.blocks(one.side), one.noisy.shape[1]
    names, places = name_columns(blocks), _list_places(blocks)
    if one.ends != "pairs":
        places = [*blocks.places.values()]
        first = ("origins", "destinations").index(one.ends) * len(places)
        names = names[first : first + len(places)]
    columns = [pa.array(np.repeat(place, labels).astype(np.int32)) for place in places]
    listed = [*product(*(attribute.labels for attribute in attributes))]
    for part in zip(*listed, strict=True):
        texts = pa.array(part, pa.string()).dictionary_encode()
        indices = np.tile(texts.indices.to_numpy(), one.noisy.shape[0])
        columns.append(pa.DictionaryArray.from_arrays(indices, texts.dictionary).cast(pa.string()))
    columns.append(pa.array(one.noisy.reshape(-1)))
    named = [attribute.name for attribute in attributes]
    return pa.table(columns, names=[*names, *named, NOISY])


def read_labels(
    path: Path, empty: NoisyLabels, zones: Zones, attributes: tuple[Attribute, ...]
) -> NoisyLabels:
    """Read the noisy trips of a file; ValueError if they are of other cells or labels.

    ``empty``: counts of the right kind and shape, with the variance of their noise.
    """
    rows = read_parquet(path, empty.noisy.size)
    # Before as many are made again as the index states.
    if rows.num_rows != empty.noisy.size:
        raise ValueError("The file lists other cells.")
    expected = _table_of_labels(empty, zones, attributes)
    if rows.schema != expected.schema:
        raise ValueError("The file lists other cells.")
    if rows.drop_columns("noisy") != expected.drop_columns("noisy") or rows["noisy"].null_count:
        raise ValueError("The file lists other cells.")
    noisy = np.asarray(rows["noisy"].to_numpy(), np.int64).reshape(empty.noisy.shape)
    return replace(empty, noisy=noisy)


def name_zones(zones: Zones) -> dict[str, pa.Array]:
    """Return the columns that name every zone: row and column, or the code of a unit."""
    if zones.grid.names.on_map:
        return {"row": _array_of(zones.row), "col": _array_of(zones.column)}
    codes = zones.grid.names.format(0, np.stack([zones.row, zones.column]))
    return {"code": pa.array(codes.tolist(), pa.string())}


def _array_of(axis: IntArray) -> pa.Array:
    return pa.array(axis.astype(np.int32))


def write_prior(prior: FlowsPrior | None, zones: Zones, folder: Path) -> tuple[File, ...]:
    """Write the flows of a prior, if there is one; return the entry of its file in the index."""
    if prior is None:
        return ()
    path, table = folder / PRIOR, _table_of_prior(prior, zones)
    pa.parquet.write_table(table, path, compression="zstd")
    return (_list(path, describe_file(FILES, "prior"), table.column_names),)


def _table_of_prior(prior: FlowsPrior, zones: Zones) -> pa.Table:
    """Return the flows of a prior as columns."""
    names, columns = name_zones(zones), dict[str, Any]()
    for end, number in zip(ENDS, (prior.origin, prior.destination), strict=True):
        columns |= {f"{end}_{name}": one.take(pa.array(number)) for name, one in names.items()}
    return pa.table({**columns, TRIPS: pa.array(prior.count)})


def read_prior(path: Path, zones: Zones, source: str) -> FlowsPrior:
    """Read the flows of a prior; ValueError if they are no flows between zones, in their order."""
    file, names = open_parquet(path), name_zones(zones)
    kinds = [(f"{end}_{name}", one.type) for end in ENDS for name, one in names.items()]
    if file.schema_arrow != pa.schema([*kinds, (TRIPS, pa.int64())]):
        raise ValueError("The file has other columns.")
    parts, last = [], -1
    # Most pairs of zones have no flow, so their number is no bound of memory: of a file that
    # repeats a pair, no more than a batch is read.
    for batch in file.iter_batches(BATCH):
        rows = pa.table(batch)
        if any(one.null_count for one in rows.columns):
            raise ValueError("The file has other columns.")
        count = np.asarray(rows[TRIPS].to_numpy(), np.int64)
        if count.min(initial=1) < 1:
            raise ValueError("The file lists other pairs.")
        ends = [_find_zones(rows, end, names, zones) for end in ENDS]
        pair = np.append(last, ends[0] * zones.number + ends[1])
        if not (np.diff(pair) > 0).all():
            raise ValueError("The file lists pairs in another order.")
        last = pair[-1]
        parts.append((*ends, count))
    if not parts:
        raise ValueError("The file lists other pairs.")
    origin, destination, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return FlowsPrior(zones.number, origin, destination, count, source)


def _find_zones(rows: pa.Table, end: str, names: Mapping[str, pa.Array], zones: Zones) -> IntArray:
    """Return the numbers of the zones at an end; ValueError for another zone.

    ``names``: from :func:`name_zones`.
    """
    columns = [rows[f"{end}_{name}"] for name in names]
    if zones.grid.names.on_map:
        index = np.stack([np.asarray(one.to_numpy(), np.int64) for one in columns])
        if not zones.grid.contains(index).all():
            raise ValueError("The file lists other pairs.")
        return zones.find(index)
    (codes,) = names.values()
    found = pa.compute.index_in(columns[0].combine_chunks(), value_set=codes)
    if found.null_count:
        raise ValueError("The file lists other pairs.")
    return np.asarray(found.to_numpy(), np.int64)


@dataclass(frozen=True, eq=False)
class FlowColumns(RowErrors):
    """The columns after the trips: errors by the size of the flow, and the length of the line.

    Attributes
    ----------
    table : ReleasedTable
        Trips of all labels together.
    stated : StatedPairErrors or None
        Errors by size, as the index states them; None: no trips are released.
    """

    table: ReleasedTable | None = None
    stated: StatedPairErrors | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        assert self.table is not None  # as only `view_of` makes these columns
        length = (LENGTH,) if has_geometry(self.table.grid) else ()
        return (*UNCERTAINTY_COLUMNS, *length)

    def columns(self, key: KeyArray, rows: slice) -> list[NDArray[Any]]:
        """Return the columns of pairs; lengths are masked where an end lies nowhere."""
        assert self.table is not None
        count = np.asarray(self.table.count[rows], np.float64)
        errors = look_up_errors(self.stated, count)
        grid = self.table.grid
        lines = [measure_lines(grid, grid.decode(key))] if has_geometry(grid) else []
        return [*errors, *lines]


@dataclass(frozen=True, eq=False)
class FlowsView(JointView):
    """The view of all pairs of zones with trips as one table."""

    @property
    def shown(self) -> Shown:
        """Trips, as lines have no area."""
        return Shown(self.name, self.counted, by_area=False)


def view_of(flows: Release, zones: Grid, stated: StatedPairErrors | None) -> JointView:
    """Return the view of all pairs of zones with trips, those of all labels together.

    Parameters
    ----------
    flows : Release
        The table of flows.
    zones : Grid
        The grid of the zones.
    stated : StatedPairErrors or None
        Errors by size, as the index states them; None: no trips are released.
    """
    table = flows.table
    if table.grid.attributes:
        index = table.grid.decode(table.key)[: -len(table.grid.attributes)]
        pairs = pairs_of(zones)
        counts = coalesce(pairs.encode(index), np.asarray(table.count, np.int64))
        table = ReleasedTable(pairs, *counts, table.event)
    # The id of the table of flows is none of this table's.
    card = replace(flows.view(TRIPS).card, release_id="")
    columns = FlowColumns(0.0, None, table, stated)
    return FlowsView(table, card, columns, counts=flows.view(FLOWS), stem=FLOWS)


def write_flows(view: JointView, folder: Path) -> Joint:
    """Write the table in every format that its zones can have; return the index's entries."""
    return write_rows(view, FLOWS, folder, describe_file(FILES, FLOWS), unit=view.counted)
