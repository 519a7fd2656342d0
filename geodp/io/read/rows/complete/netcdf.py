"""Completeness of classic NetCDF files: variables and records of the header against the file.

GDAL returns fill values for data beyond the end of the file.
"""

from __future__ import annotations

import os

from geodp.errors import InputError, Rule
from geodp.io.read.rows.complete.error import incomplete
from geodp.io.read.rows.forms.netcdf import read_header

STREAMING = 0xFFFFFFFF
"""Number of records in a file whose writer did not update it."""

ENDS = Rule("netcdf-ends-early", "The NetCDF file ends before its variables do")


def check_netcdf(path: str | os.PathLike[str]) -> None:
    """Compare the header of a classic NetCDF file with its length.

    Raises
    ------
    InputError
        Variables or records lie beyond the end of the file or overlap, the header counts too few
        records or none, or the format is CDF-5.
    """
    header = read_header(path)
    fixed: list[tuple[int, int]] = []
    in_records: list[tuple[int, int]] = []
    for variable in header.variables.values():
        (in_records if header.is_record(variable) else fixed).append(
            (variable.begin, header.held(variable))
        )
    size = os.path.getsize(path)
    # Readers then derive the number from the length of the file, complete or not.
    if header.records == STREAMING and in_records:
        rule = Rule(
            "netcdf-records-untold",
            "The NetCDF file does not state how many records it has; rewrite it (nccopy).",
        )
        raise InputError(rule, file=os.fspath(path))
    records = header.records, header.step
    _check_places(os.fspath(path), size, header.end, fixed, in_records, records)


def _check_places(
    name: str,
    size: int,
    end: int,
    fixed: list[tuple[int, int]],
    in_records: list[tuple[int, int]],
    counted: tuple[int, int],
) -> None:
    """Raise InputError unless all variables, (begin, bytes) each, lie within the file.

    ``in_records`` are interleaved record by record; ``counted`` holds the number of records and the
    bytes from one to the next.
    """
    for begin, held in sorted(fixed):
        if begin < end:
            raise incomplete(
                name,
                Rule(
                    "netcdf-variables-overlap", "Variables of the NetCDF file lie over one another"
                ),
            )
        end = begin + held
    if end > size:
        raise incomplete(name, ENDS)
    if not in_records:
        return
    (records, step), first = counted, end
    for begin, held in sorted(in_records):
        if begin < first:
            raise incomplete(
                name,
                Rule(
                    "netcdf-variables-overlap", "Variables of the NetCDF file lie over one another"
                ),
            )
        first = begin + held
        if records and begin + (records - 1) * step + held > size:
            raise incomplete(name, ENDS)
    # More data than the header counts: the writer ended before it updated the number of records.
    if step and size - min(begin for begin, _ in in_records) >= (records + 1) * step:
        raise incomplete(
            name,
            Rule("netcdf-records-differ", "The NetCDF file has more records than its header says"),
        )
