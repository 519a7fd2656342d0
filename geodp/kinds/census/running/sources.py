"""Tables of one census from several files: a TOML file says where each of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.cli.inputs import grid_of, read_named
from geodp.cli.readers import make_reader, read
from geodp.cli.recipes import name_of_flag
from geodp.errors import Rule, UsageError, printable
from geodp.grid.grid import Grid
from geodp.io.read.layout.presets import read_text, read_toml
from geodp.io.read.points import Points
from geodp.kinds.census.inputs import (
    CensusTables,
    count_sizes,
    name_columns,
    relate_margins,
)
from geodp.kinds.census.kind import Column
from geodp.kinds.census.margins import HOUSEHOLDS, PERSONS, Margins
from geodp.kinds.households.inputs import LARGEST_SIZE, sizes_of
from geodp.kinds.households.records import HouseholdRecords

if TYPE_CHECKING:
    from geodp.privacy.key import NoiseKey

Convert = Callable[[Mapping[str, Any]], dict[str, Any]]

MEMBERS, MARGINS = "members", "margins"

RECORDS = ("household", "size")
"""Columns of records of persons or of households: the household, and its size."""

SIZES = "sizes"
"""Number of sizes by which households of records are told apart."""

EXPECTED = Rule(
    "census-file-tables",
    "The file of tables {} has a table [persons], and beside it [margins.NAME], [households] and "
    "[members]; each has inputs, and options of how they are read, such as value or by. Records of "
    "[households] may have sizes, the number of sizes that are told apart.",
)

TWICE = Rule(
    "census-file-and-options",
    "The file of tables {} names all tables: leave --margin, --part, --households, --members, "
    "--all-columns and further INPUTS out.",
)


@dataclass(frozen=True, eq=False)
class ListedTables:
    """The tables that a file lists.

    Attributes
    ----------
    options : mapping of str to mapping
        Options of persons, households and members, by these names, as they are read.
    of_margins : mapping of str to mapping
        Options of each margin.
    records : mapping of str to str or list
        Columns of the household and its size, where households are read from records.
    sizes : int
        Number of sizes that are told apart there, the last one and more.
    rest : mapping of str to str
    max_size : int
    """

    options: Mapping[str, dict[str, Any]]
    of_margins: Mapping[str, dict[str, Any]]
    records: Mapping[str, Any]
    sizes: int
    rest: Mapping[str, str]
    max_size: int

    @classmethod
    def of(cls, options: dict[str, Any], convert: Convert) -> ListedTables:
        """Read the file; UsageError for one that lists something else.

        Parameters
        ----------
        options : dict
            Options of the call, which hold where a table has none of its own.
        convert : callable
            Returns options of a table as those of the call, and raises UsageError for others.
        """
        path = Path(options["inputs"][0])
        given = ("margin", "part", "households", "members", "household_margin", "all_columns")
        if any(options[name] for name in given) or len(options["inputs"]) > 1:
            raise UsageError(TWICE.format(printable(path.name)))
        document = read_toml(read_text(path), f"The file of tables {printable(path.name)}")
        margins = document.pop(MARGINS, {})
        sections = {**document, **(margins if isinstance(margins, dict) else {})}
        wrong = EXPECTED.format(printable(path.name))
        if PERSONS not in document or not document.keys() <= {PERSONS, HOUSEHOLDS, MEMBERS}:
            raise UsageError(wrong)
        if not isinstance(margins, dict) or len(sections) < len(document) + len(margins):
            raise UsageError(wrong)
        if not all(isinstance(one, dict) and one.get("inputs") for one in sections.values()):
            raise UsageError(wrong)
        homes = document.get(HOUSEHOLDS, {})
        records = {name: homes.pop(name) for name in RECORDS if name in homes}
        sizes = homes.pop(SIZES, 1) if records else 1
        largest = homes.pop("max-size", homes.pop("max_size", options["max_size"]))
        if (MEMBERS in document and (records or not homes)) or not all(
            type(one) is int for one in (sizes, largest)
        ):
            raise UsageError(wrong)
        made = {
            name: _complete(options, path.parent, one, convert) for name, one in sections.items()
        }
        if records:
            made[HOUSEHOLDS]["points"] = True
        return cls(
            {name: made[name] for name in document},
            {name: made[name] for name in margins},
            records,
            sizes,
            read_named(options["rest"], "--rest"),
            largest,
        )

    @cached_property
    def ground(self) -> Grid:
        """The map."""
        return grid_of(self.options[PERSONS])

    @cached_property
    def margins(self) -> Margins:
        """The margins; UsageError where they do not go together."""
        return relate_margins(
            self.ground,
            self._grids,
            {} if HOUSEHOLDS in self.options else None,
            max_size=self.max_size if self.has_members else None,
            sizes=self.sizes if self.records else count_sizes(self._homes, self.has_members),
            rest=self.rest,
            within={},
        )

    @cached_property
    def _grids(self) -> dict[str, Grid]:
        """Grids of the margins: the map with their attributes."""
        return {name: grid_of(one) for name, one in self.of_margins.items()}

    @cached_property
    def _homes(self) -> Grid:
        """Grid of the households: the map, perhaps with their sizes."""
        return grid_of(self.options.get(HOUSEHOLDS, self.options[PERSONS]))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of all tables, each once."""
        options = (*self.options.values(), *self.of_margins.values())
        return tuple(dict.fromkeys(path for one in options for path in one["inputs"]))

    @property
    def has_members(self) -> bool:
        """Whether persons in households are counted, too."""
        return bool(self.records) or MEMBERS in self.options

    @property
    def columns(self) -> tuple[Column, ...]:
        """A column for each part."""
        return name_columns(self.margins)

    def read(self, contradictions: Any, key: NoiseKey | None) -> CensusTables:
        """Read all tables; raises UsageError and InputError as their commands do."""
        tables: dict[str, Any] = {
            name: read(one, self._homes if name == HOUSEHOLDS else self.ground, key)
            for name, one in self.options.items()
            if not (self.records and name == HOUSEHOLDS)
        }
        if self.records:
            tables |= self._read_records(key)
        margins = {name: read(one, self._grids[name], key) for name, one in self.of_margins.items()}
        return CensusTables.of(
            tables.pop(PERSONS),
            margins,
            **tables,
            max_size=self.max_size,
            rest=self.rest,
            contradictions=contradictions,
        )

    def _read_records(self, key: NoiseKey | None) -> dict[str, Any]:
        """Count households, and the persons in them, from records of persons or households."""
        options = self.options[HOUSEHOLDS]
        values = make_reader(options, self.ground, key).shared(Points)
        reader = HouseholdRecords.of(
            self.ground,
            **values,
            household=self.records.get("household", ()),
            size=self.records.get("size"),
            max_size=LARGEST_SIZE,
            rows_are_persons="size" not in self.records,
        )
        table = reader.read(options["inputs"])
        streams = sizes_of(table, LARGEST_SIZE).streams()
        homes = streams.households if self.sizes == 1 else sizes_of(table, self.sizes).table
        return {HOUSEHOLDS: homes, MEMBERS: streams.all_members}


def _complete(
    call: dict[str, Any], folder: Path, section: dict[str, Any], convert: Convert
) -> dict[str, Any]:
    """Return the options by which a table is read; ``folder``: where its paths begin."""
    section = {name_of_flag(name.replace("-", "_")): value for name, value in section.items()}
    inputs = section.pop("inputs")
    paths = [inputs] if isinstance(inputs, str) else [*inputs]
    if "labels" in section:
        labels = section["labels"]
        labels = [labels] if isinstance(labels, str) else labels
        section["labels"] = [_place_labels(folder, str(one)) for one in labels]
    return {**call, **convert(section), "inputs": tuple(folder / one for one in paths)}


def _place_labels(folder: Path, text: str) -> str:
    """Return a value of ``labels`` with the path of its file, where it names one in the folder."""
    if (folder / text).is_file():
        return str(folder / text)
    name, mark, file = text.partition("=")
    return f"{name}={folder / file}" if mark and (folder / file).is_file() else text
