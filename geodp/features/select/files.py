"""The folder of a selection: created and tried before anything is charged, complete or absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

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
    """A folder for a selection, which holds a preview that depends on no data.

    Attributes
    ----------
    folder : Path
        The staged folder.
    target : Path
        Final path of the folder.
    """

    folder: Path
    target: Path

    @classmethod
    @contextmanager
    def stage(cls, path: str | Path, *, overwrite: bool, resume: bool = False) -> Iterator[Self]:
        """Yield a folder that is moved to ``path`` when the block succeeds.

        Parameters
        ----------
        path : path
        overwrite : bool
            Allow ``path`` to hold an earlier release.
        resume : bool
            Continue in the folder of the interrupted run that stored its answer.

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
            yield cls(folder, Path(path))

    def try_out(self, preview: SelectionCard) -> None:
        """Write a card as long as the one to come, so that a full disk shows before the charge."""
        _write_card(preview, self.folder / "public")

    def write(self, card: SelectionCard, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the files; return their paths, ``{"public": [...], "restricted": [...]}``."""
        _write_card(card, self.folder / "public")
        write_restricted(self.folder / "restricted", RUN, restricted)
        return list_written(self.folder, self.target)


def _write_card(card: SelectionCard, folder: Path) -> None:
    (folder / CARD).write_bytes(card_bytes(card.to_json()))
    (folder / SUMS).write_text(
        sums_text({CARD: sha256(folder / CARD)}), encoding="utf-8", newline="\n"
    )
