"""The folder of a selection: made and tried before anything is charged, complete or not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodp.features.select.card import SelectionCard
from geodp.io.folder.kinds import CARD
from geodp.io.folder.manifest import SUMS, sha256, sums_text
from geodp.io.folder.publication import (
    RUN,
    card_bytes,
    list_written,
    make_restricted,
    write_restricted,
)
from geodp.io.folder.staging import require_free, require_only_release_files, stage


@dataclass(frozen=True)
class StagedSelection:
    """A folder for a selection, which holds one that depends on no data.

    Attributes
    ----------
    folder : Path
        The staged folder.
    target : Path
        Whose place it takes.
    """

    folder: Path
    target: Path

    def write(self, card: SelectionCard, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the files; return their paths, ``{"public": [...], "restricted": [...]}``."""
        _write_card(card, self.folder / "public")
        write_restricted(self.folder / "restricted", RUN, restricted)
        return list_written(self.folder, self.target)


@contextmanager
def stage_selection(
    preview: SelectionCard | None, path: str | Path, *, overwrite: bool, resume: bool = False
) -> Iterator[StagedSelection]:
    """Yield a :class:`StagedSelection` that takes the place of ``path`` when the block ends well.

    Parameters
    ----------
    preview : SelectionCard or None
        As long as the one to come; it is written to try the disk. None to resume.
    path : path
    overwrite : bool
        Allow ``path`` to hold an earlier release.
    resume : bool
        Go on in the folder of the interrupted run that kept its card.

    Raises
    ------
    UsageError, OutputError
        As :func:`geodp.io.folder.staging.stage`.
    """
    require_free(path, overwrite=overwrite)
    require_only_release_files(path)
    with stage(path, overwrite=overwrite, resume=resume) as folder:
        (folder / "public").mkdir()
        make_restricted(folder, path, again=resume)
        if preview is not None:
            _write_card(preview, folder / "public")
        yield StagedSelection(folder, Path(path))


def _write_card(card: SelectionCard, folder: Path) -> None:
    (folder / CARD).write_bytes(card_bytes(card.to_json()))
    (folder / SUMS).write_text(
        sums_text({CARD: sha256(folder / CARD)}), encoding="utf-8", newline="\n"
    )
