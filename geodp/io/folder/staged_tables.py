"""The folder of a release of several tables: a release for every table, and an index of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from geodp.io.folder.pending import discard_draft, reserve
from geodp.io.folder.publication import (
    RUN,
    list_written,
    make_restricted,
    write_index,
    write_member,
    write_restricted,
)
from geodp.io.folder.staged_release import (
    list_cells,
    require_space,
    try_formats,
    try_longest_name,
)
from geodp.io.folder.staging import stage
from geodp.io.write.view import View
from geodp.table.stated.release import TableInfo


@dataclass(frozen=True)
class StagedTables:
    """A folder for several tables, created and tested before anything is charged.

    Attributes
    ----------
    folder : Path
        The staged folder.
    target : Path
        The folder that it replaces.
    """

    folder: Path
    target: Path

    @classmethod
    @contextmanager
    def stage(cls, path: str | Path, *, overwrite: bool, resume: bool = False) -> Iterator[Self]:
        """Yield a folder that replaces ``path`` if the block ends without an error.

        Parameters and errors are those of :func:`geodp.io.folder.staged_release.stage_release`.
        """
        with stage(path, overwrite=overwrite, resume=resume) as folder:
            make_restricted(folder, path, again=resume)
            yield cls(folder, Path(path))

    def try_tables(self, empty: Mapping[str, tuple[View, int]]) -> int:
        """Try what may fail of tables by name; return how many cells they may list together.

        ``empty``: a view without cells, and the number of occupied ones to expect.
        """
        listed = 0
        for name, (view, cells) in empty.items():
            try_formats(view)
            try_longest_name(self.folder, name, name)
            listed += list_cells(view.table.grid, view.card, cells)
        return listed

    def reserve(self, listed: int) -> None:
        """Require space for so many listed cells, and reserve it."""
        require_space(self.folder, listed)
        reserve(self.folder, listed)

    def make_public(self) -> Path:
        """Make the public folder, in the space that was reserved; return it."""
        public = self.folder / "public"
        # The draft has reserved the space that the files take now.
        discard_draft(self.folder)
        public.mkdir()
        return public

    def write_tables(self, tables: Mapping[str, View]) -> tuple[TableInfo, ...]:
        """Write tables by name into folders of their own; return what an index says of them."""
        public = self.make_public()
        return tuple(
            TableInfo(name, *write_member(view, public / name)) for name, view in tables.items()
        )

    def complete(
        self, index: str, values: dict[str, Any], restricted: dict[str, Any]
    ) -> dict[str, list[str]]:
        """Write the index and the operator's record; return the paths of all that was written."""
        write_index(self.folder / "public", index, values)
        return self.finish(restricted)

    def finish(self, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the operator's record beside a complete public folder; return all paths."""
        write_restricted(self.folder / "restricted", RUN, restricted)
        return list_written(self.folder, self.target)
