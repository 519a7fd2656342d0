"""Metadata of rasters: how the numbers are stored, what they count, and where they lie."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError, printable
from geodp.grid.crs import name_plane, same_plane
from geodp.io.opening import require_regular
from geodp.io.read.rows.forms.netcdf import Header, Variable, read_header
from geodp.io.read.rows.forms.raster import read_metadata
from geodp.io.read.rows.input_files import FilePath, guard
from geodp.table.source import Fact
from geodp.table.stored import (
    CLASSES,
    Stored,
    describe_stored,
    exact,
    read_stored,
    require_counts,
    signed_as,
)

ALIGNED = 1e-3
"""Tolerance, in cells, between the cells of a raster and those of the grid."""

OFF = 0.25
"""Maximum rounding of coordinates by their type, in cells."""

COLOURS = {
    *("palette", "alpha", "hue", "saturation", "lightness", "cyan", "magenta", "yellow", "black"),
    *("Y", "Cb", "Cr"),
}
"""GDAL's interpretations of bands of colours or classes. Red, green and blue are not listed, as
GDAL assigns them to any three bands of bytes."""

NARROW = {"16": 11, "24": 17}
"""Significant bits of narrow floating-point types, by their size, which GDAL shows as float32."""

TAGGED_NUMBERS = ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range")
TAGGED_TEXTS = (*CLASSES, "units", "standard_name", "long_name", "cell_methods")
"""Attributes of the CF conventions that writers of GeoTIFF store as tags of a band."""

DIRECTIONS = {
    "x": ("degrees_east", "longitude", "projection_x_coordinate", "X"),
    "y": ("degrees_north", "latitude", "projection_y_coordinate", "Y"),
}
"""Values of units, standard_name or axis that give the direction of a coordinate."""

METRES, DEGREES = r"m|met(?:re|er)s?|1", r"deg(?:ree)?s?(?:_.*)?|1"
"""Units of coordinates that agree with a CRS in metres, or in degrees."""

NO_PLACE = Rule(
    "raster-without-place",
    "The raster has no transform that places its cells on the Earth; write one into the raster "
    "(gdal_translate -a_ullr -a_srs).",
)
CURVED = Rule(
    "raster-curved",
    "The raster is placed by {}, so that its cells are not rectangles of one size; bring its "
    "records onto a grid first, without warping, which makes counts fractional.",
)
UNEVEN = Rule(
    "raster-uneven",
    "The coordinates {} of the file are not evenly spaced, or are rounded too far, so that its "
    "cells have no one size; write the counts on a regular grid with coordinates in double "
    "precision, or as a table with a column of cells.",
)


@dataclass(frozen=True)
class RasterHeader:
    """Header of an open raster.

    Attributes
    ----------
    raster : rasterio.io.DatasetReader
    path : path
    """

    raster: Any
    path: FilePath

    @property
    def name(self) -> str:
        """Name of the file in errors."""
        return str(self.path)

    @cached_property
    def netcdf(self) -> Header | None:
        """The header of a NetCDF file; None for other rasters."""
        return read_header(self.path) if self.raster.driver == "netCDF" else None

    @property
    def variable(self) -> Variable | None:
        """The variable of a NetCDF file whose pixels are read; None for other rasters."""
        if self.netcdf is None:
            return None
        return self.netcdf.variables[self.raster.tags(1)["NETCDF_VARNAME"]]

    @cached_property
    def crs(self) -> str | None:
        """The CRS as WKT; for an ASCII grid, that of a ``.prj`` file beside it."""
        if self.raster.crs is not None:
            return str(self.raster.crs.to_wkt())
        sidecar = Path(self.path).with_suffix(".prj")
        if self.raster.driver != "AAIGrid" or not sidecar.is_file():
            return None
        text = guard(self.name, sidecar.read_bytes).decode("utf-8", "replace")
        if not same_plane(text, text):
            raise InputError(
                f"{sidecar.name} beside the raster is no CRS as WKT, so that nothing says where "
                "its cells lie; write it as WKT, or move it away and name the CRS with the grid.",
                file=self.name,
                code="raster-crs-file",
            )
        return text

    def stored(
        self, band: int, unit: float | None, missing: Sequence[float], *, counted: bool
    ) -> Stored:
        """Return how a band's numbers encode counts or, unless ``counted``, a mask.

        Raises InputError for numbers that are no counts, or that lossy compression changed.
        """
        if not self.raster.dtypes[band - 1].startswith(("int", "uint", "float")):
            raise InputError(
                "The raster's values must be real numbers.", file=self.name, code="raster-not-real"
            )
        self._require_numbers(band, counted)
        if counted:
            self._require_no_classes(band, unit)
        attributes = self._attributes(band)
        try:
            if counted:
                require_counts(attributes, unit)
            stored = read_stored(attributes, self._dtype(band), unit=unit, missing=missing)
        except UsageError as error:
            rule = Rule(error.code, str(error))
        else:
            # GDAL reads float16 and float24 as float32, which would seem to have more exact digits.
            digits = NARROW.get(self.raster.tags(band, ns="IMAGE_STRUCTURE").get("NBITS", ""))
            return stored if digits is None else Stored(**{**vars(stored), "digits": digits})
        raise InputError(rule, file=self.name)

    @property
    def ambiguous_fill(self) -> bool:
        """Whether a number that is missing only by default may also be a count.

        NetCDF fills unwritten values with a default. For signed types it is negative, but for
        unsigned types it may be a count.
        """
        variable = self.variable
        return (
            variable is not None
            and self._dtype(1).kind == "u"
            and not {"_FillValue", "missing_value"} & {*variable.attributes}
        )

    def typed(self, band: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return a band's numbers in the type that the file declares, instead of GDAL's."""
        return values.view(self._dtype(band))

    def facts(
        self, band: int, stored: Stored, unit: float | None, missing: Sequence[float]
    ) -> tuple[Fact, ...]:
        """Return the facts of the header and the options, with their sources."""
        raster = self.raster
        attributes = self._attributes(band)
        named = "" if self.variable is None else f" ({raster.tags(1)['NETCDF_VARNAME']})"
        facts = [
            Fact("format", raster.driver, "file"),
            Fact("band", f"{band} of {raster.count}{named}", "file"),
            *describe_stored(stored, str(self._dtype(band)), unit, missing),
            Fact("transform", " ".join(f"{one:.17g}" for one in [*raster.transform][:6]), "file"),
        ]
        if raster.nodatavals[band - 1] is not None:
            facts.append(Fact("nodata", str(raster.nodatavals[band - 1]), "file"))
        if self.crs is not None:
            facts.append(Fact("CRS", name_plane(self.crs), "file"))
        for field, key in (("unit", "units"), ("title", "long_name")):
            if attributes.get(key):
                facts.append(Fact(field, str(attributes[key]), "file"))
        masks = [flag.name for flag in raster.mask_flag_enums[band - 1]]
        if "per_dataset" in masks:
            facts.append(Fact("mask", "in the file", "file"))
        if point := raster.tags().get("AREA_OR_POINT"):
            facts.append(Fact("pixel is", point.lower(), "file"))
        return tuple(facts)

    def require_affine(self) -> tuple[float, float]:
        """Require that a transform is the only placement of the cells.

        Return the tolerances of x and y, in units of the CRS, due to rounded coordinates. Raises
        InputError.
        """
        raster = self.raster
        # Control points, sensor models and geolocation arrays place cells that are no rectangles.
        if raster.gcps[0]:
            raise InputError(CURVED.format("ground control points"), file=self.name)
        if raster.rpcs is not None:
            raise InputError(CURVED.format("a sensor model (RPC)"), file=self.name)
        if raster.transform.is_identity and "GEOLOCATION" in raster.tag_namespaces():
            raise InputError(UNEVEN.format("x or y"), file=self.name)
        header, variable = self.netcdf, self.variable
        slack = 0.0, 0.0
        if header is not None and variable is not None:
            x, y = (self._coordinate(header, variable, number) for number in (-1, -2))
            if not raster.transform.is_identity:
                slack = self._slack("x", x), self._slack("y", y)
        if raster.transform.is_identity:
            raise InputError(NO_PLACE, file=self.name)
        return slack

    def _dtype(self, band: int) -> np.dtype[Any]:
        """Return the type of a band's numbers, as ``_Unsigned`` sets it."""
        dtype: np.dtype[Any] = np.dtype(self.raster.dtypes[band - 1])
        return dtype if self.variable is None else signed_as(self.variable.attributes, dtype)

    def _require_numbers(self, band: int, counted: bool) -> None:
        """Raise InputError for colours and for lossy compression."""
        raster = self.raster
        kinds = {colour.name for colour in raster.colorinterp}
        interpretation = raster.colorinterp[band - 1].name
        if "alpha" in kinds:
            raise InputError(
                "The raster has an alpha band, so that it is a picture in which some numbers are "
                "hidden (GDAL declares a fourth band of bytes as alpha by itself). Write the "
                "band of counts alone, or all with PHOTOMETRIC=MINISBLACK and ALPHA=NO.",
                file=self.name,
                code="raster-has-alpha",
            )
        if interpretation in COLOURS and (counted or interpretation != "palette"):
            raise InputError(
                "The raster's numbers stand for colours or classes (it has a colour table), which "
                "are not counted; give a raster of counts.",
                file=self.name,
                code="raster-has-colours",
            )
        about = raster.tags(ns="IMAGE_STRUCTURE")
        # Lossy compression changes counts by small amounts that no check could find later.
        packed = about.get("COMPRESSION", "")
        if (
            "JPEG" in packed
            or about.get("COMPRESSION_REVERSIBILITY", "").startswith("LOSSY")
            or float(about.get("MAX_Z_ERROR", 0))
        ):
            raise InputError(
                f"The raster was compressed with loss ({packed}), so that its numbers are not "
                "those that were counted; write it again from its source without loss, such as "
                "with COMPRESS=DEFLATE.",
                file=self.name,
                code="raster-lossy",
            )

    def _require_no_classes(self, band: int, unit: float | None) -> None:
        """Raise InputError for classes, declared or likely if no ``unit`` is given."""
        if evidence := find_classes(self.path, self.raster):
            raise InputError(
                f"The raster's numbers stand for classes (it has {evidence}), which are not "
                "counted; give a raster of counts. If they are counts all the same, move a file "
                "beside the raster away, or write the raster without its metadata.",
                file=self.name,
                code="raster-has-classes",
            )
        if unit is None and is_thematic(self.path, self.raster, band):
            raise InputError(
                "The raster is declared thematic, like classes, which are not counted. If its "
                "numbers are counts all the same, declare the value of one person, such as 1 "
                "(--raster-unit, value_unit=).",
                file=self.name,
                code="raster-thematic",
            )

    def _attributes(self, band: int) -> dict[str, Any]:
        """Return the attributes of a band by the CF conventions, whatever its format."""
        raster, variable = self.raster, self.variable
        if variable is not None:
            return dict(variable.attributes)
        tags = raster.tags(band)
        attributes: dict[str, Any] = {key: tags[key] for key in TAGGED_TEXTS if key in tags}
        attributes |= {key: _parse(tags[key]) for key in TAGGED_NUMBERS if key in tags}
        # GDAL has scale and offset of its own; a tag that contradicts them leaves the value in
        # doubt.
        for key, value in (
            ("scale_factor", raster.scales[band - 1]),
            ("add_offset", raster.offsets[band - 1]),
        ):
            tagged = _parse(tags.get(key, ""))
            if key in tags and not (
                isinstance(tagged, np.ndarray)
                and tagged.size == 1
                and exact(tagged.item()) == exact(value)
            ):
                raise InputError(
                    f"The band has a tag {key} that contradicts its scale or offset, so that the "
                    "meaning of its numbers is uncertain; delete the one that is wrong.",
                    file=self.name,
                    code="raster-tag-differs",
                )
            attributes[key] = value
        nodata = raster.nodatavals[band - 1]
        if nodata is not None and not (self._dtype(band).itemsize == 8 and abs(nodata) > 2**53):
            # Beyond 2**53, GDAL's nodata value is a rounded float and may miss the stored number.
            fills = np.atleast_1d(attributes.get("_FillValue", np.empty(0)))
            attributes["_FillValue"] = np.append(fills, nodata)
        if raster.units[band - 1] and not self._is_of_heights(raster.units[band - 1]):
            attributes["units"] = raster.units[band - 1]
        if raster.descriptions[band - 1]:
            attributes["long_name"] = raster.descriptions[band - 1]
        return attributes

    def _is_of_heights(self, unit: str) -> bool:
        """Whether a unit is that of the vertical axis of the CRS instead of the band."""
        from pyproj import CRS

        # GDAL assigns the unit of a vertical axis to bands that have none.
        axes = [] if self.crs is None else CRS.from_user_input(self.crs).axis_info[2:]
        return any(axis.unit_name == unit for axis in axes)

    def _coordinate(self, header: Header, variable: Variable, number: int) -> NDArray[Any] | None:
        """Return the coordinate of x (-1) or y (-2); None if the file has none."""
        if len(variable.dimensions) < 2:
            raise InputError(NO_PLACE, file=self.name)
        dimension = variable.dimensions[number]
        coordinate = header.variables.get(dimension)
        if coordinate is None or coordinate.dimensions != (dimension,):
            return None
        axis, other = ("x", "y") if number == -1 else ("y", "x")
        declared = {
            str(coordinate.attributes.get(key)) for key in ("units", "standard_name", "axis")
        }
        # GDAL takes the last dimension for x, whatever it is.
        if declared & {*DIRECTIONS[other]} and not declared & {*DIRECTIONS[axis]}:
            raise InputError(
                "The file's rows run along x and its columns along y, and it would be read with "
                "x and y exchanged; turn it (ncpdq -a y,x).",
                file=self.name,
                code="raster-axes-exchanged",
            )
        units, crs = str(coordinate.attributes.get("units", "")), self.raster.crs
        if units and crs is not None:
            metric = crs.is_projected and crs.linear_units_factor[1] == 1
            wanted = METRES if metric else DEGREES if crs.is_geographic else ".*"
            if not re.fullmatch(wanted, units, re.IGNORECASE):
                raise InputError(
                    f"The coordinates {axis} of the file are in another unit than its CRS; write "
                    "them in the unit of the CRS, such as metres.",
                    file=self.name,
                    code="raster-coordinate-unit",
                )
        if {"scale_factor", "add_offset"} & {*coordinate.attributes}:
            raise InputError(
                f"The coordinates {axis} of the file are packed (scale_factor); write them as they "
                "are (ncpdq -U).",
                file=self.name,
                code="raster-coordinate-packed",
            )
        if coordinate.dtype.kind not in "if":
            raise InputError(UNEVEN.format(axis), file=self.name)
        return header.values(dimension)

    def _slack(self, axis: str, middles: NDArray[Any] | None) -> float:
        """Return the tolerance of a rounded coordinate; InputError if it is uneven."""
        if middles is None:
            return 0.0
        a, _, c, _, e, f = [*self.raster.transform][:6]
        step, first = (a, c) if axis == "x" else (e, f)
        positions = middles.astype(np.float64)
        if (positions[-1] - positions[0]) * step < 0:  # GDAL shows rows from north to south
            positions = positions[::-1]
        # GDAL looks at three steps of a coordinate only; here all values are compared.
        deviation = positions - (first + step * (np.arange(positions.size) + 0.5))
        if axis == "x":  # GDAL shows longitudes from -180 to 180
            deviation -= 360 * np.round(deviation[0] / 360)
        rounded = middles.dtype.kind == "f" and middles.dtype.itemsize == 4
        size = np.abs(middles).max().astype(np.float32 if rounded else np.float64)
        slack: float = min(2 * float(np.spacing(size)), OFF * abs(step))
        if not np.abs(deviation).max() <= ALIGNED * abs(step) + slack:  # also true for NaN
            raise InputError(UNEVEN.format(axis), file=self.name)
        return slack


def _parse(text: str) -> Any:
    """Parse a tag such as ``-9`` or ``{10,20}`` as an array; return other texts as they are."""
    try:
        return np.array([_number(number) for number in text.strip().strip("{}").split(",")])
    except (ValueError, OverflowError):
        return text


def _number(text: str) -> int | float:
    """Parse an integer, or else a float."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def describe_raster(header: RasterHeader) -> Mapping[str, Any]:
    """Return the header as plain values, with a list over bands where these differ."""
    raster = header.raster
    return {
        "driver": raster.driver,
        "crs": None if header.crs is None else name_plane(header.crs),
        "transform": list(raster.transform)[:6],
        "shape": list(raster.shape),
        "bands": raster.count,
        "types": list(raster.dtypes),
        "nodata": raster.nodata,
        "scales": list(raster.scales),
        "offsets": list(raster.offsets),
        "units": [unit or "" for unit in raster.units],
        "masks": [" ".join(flag.name for flag in flags) for flags in raster.mask_flag_enums],
        "pixel_is": raster.tags().get("AREA_OR_POINT", "").lower(),
    }


ELEMENTS = (b"<CategoryNames", b"<ColorTable", b"<GDALRasterAttributeTable")
"""Elements of GDAL's XML metadata that name classes or colours."""

COUNTING = {"OID", "OBJECTID", "ROWID", "FID", "VALUE", "COUNT"}
"""Fields of the histogram that ArcGIS writes for any raster of whole numbers."""

THEMATIC = re.compile(rb'"(?:LAYER_TYPE|DataType)"\s*>\s*thematic', re.IGNORECASE)

SIDECAR, ATTRIBUTE_TABLE = ".aux.xml", ".vat.dbf"
"""Endings of files beside a raster: GDAL's metadata, and ArcGIS's table of attributes."""


def find_classes(path: FilePath, raster: Any) -> str | None:
    """Return where a raster declares its numbers as classes, as a noun phrase; None if nowhere.

    Parameters
    ----------
    path : path
    raster : rasterio.io.DatasetReader

    Raises InputError for a file beside it that cannot be read.
    """
    metadata = _read_sidecar(path)
    if any(word in metadata for word in ELEMENTS):
        return f"names of classes or colours in {printable(Path(path).name)}{SIDECAR}"
    # GDAL 3.10 does not show attribute tables that later versions embed, so the tag is read here.
    if raster.driver == "GTiff" and any(word in read_metadata(path) for word in ELEMENTS):
        return "a table of attributes in its metadata"
    for table in (Path(f"{path}{ATTRIBUTE_TABLE}"), Path(path).with_suffix(ATTRIBUTE_TABLE)):
        require_regular(table)
        fields = _fields(guard(str(table), table.read_bytes)) if table.is_file() else {"VALUE"}
        if not fields or not fields <= COUNTING:
            return f"the table of attributes {printable(table.name)}"
    return None


def is_thematic(path: FilePath, raster: Any, band: int) -> bool:
    """Whether a raster is declared thematic, which programs also write for whole numbers."""
    tags = {**raster.tags(), **raster.tags(band)}
    if any(tags.get(key, "").lower() == "thematic" for key in ("LAYER_TYPE", "DataType")):
        return True
    return THEMATIC.search(_read_sidecar(path)) is not None


def _read_sidecar(path: FilePath) -> bytes:
    """Return the bytes of GDAL's metadata beside a raster; empty without them."""
    where = Path(path).with_name(f"{Path(path).name}{SIDECAR}")
    require_regular(where)
    return guard(str(where), where.read_bytes) if where.is_file() else b""


def _fields(data: bytes) -> set[str]:
    """Return the names of the fields of a dBASE table."""
    names = set()
    for at in range(32, len(data) - 31, 32):
        # The list of fields ends with a carriage return.
        if data[at] == 0x0D:
            break
        names.add(data[at : at + 11].partition(b"\0")[0].decode("ascii", "replace").upper())
    return names
