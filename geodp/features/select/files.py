"""The folder of a selection: created and tried before anything is charged, complete or absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from geodp.features.select.card import SelectionCard
from geodp.io.folder.publication import write_card
from geodp.io.folder.staged_release import Staged
from geodp.io.folder.staging import require_free, require_only_release_files


class StagedSelection(Staged):
    """A folder for a selection, which holds a preview that depends on no data."""

    @classmethod
    @contextmanager
    def stage(cls, path: str | Path, *, overwrite: bool, resume: bool = False) -> Iterator[Self]:
        """Yield a folder as :meth:`Staged.stage` does, for a card."""
        require_free(path, overwrite=overwrite)
        require_only_release_files(path)
        with super().stage(path, overwrite=overwrite, resume=resume) as place:
            place.make_public()
            yield place

    def try_out(self, preview: SelectionCard) -> None:
        """Write a card as long as the one to come, so that a full disk shows before the charge."""
        write_card(preview, self.folder / "public")

    def write(self, card: SelectionCard, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the files; return their paths, ``{"public": [...], "restricted": [...]}``."""
        write_card(card, self.folder / "public")
        return self.finish(restricted)
