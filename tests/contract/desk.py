"""A folder with the confidential files of one kind, in which its commands are run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.command import Done, geodp
from tests.contract.kinds import Kind
from tests.keys import keep

DATASET = "census"
CHARGED = ("--ledger", "ledger", "--dataset", DATASET)
KEPT = ("--key-file", "kept.key")


class Desk:
    """Runs commands of one kind in a folder.

    Parameters
    ----------
    folder : Path
        An empty one: it gets the files of the kind, a kept key, and a ledger with a cap of 100.
    kind : Kind
    """

    def __init__(self, folder: Path, kind: Kind) -> None:
        self.folder, self.kind = folder, kind
        kind.write(folder)
        keep(folder / "kept.key")
        Ledger.create(folder / "ledger").add_dataset(DATASET, PureDP(100), unit=kind.unit)
        for words in kind.before:
            require(self.run(*words))

    def run(self, *words: object) -> Done:
        """Run any command here."""
        return geodp(*words, cwd=self.folder)

    def words(self, *more: object, to: str = "out") -> tuple[object, ...]:
        """Return the words of the command that publishes, and more."""
        kind = self.kind
        return (*kind.command, *kind.inputs, *kind.options, *kind.terms, *more, "--output", to)

    def publish(self, *more: object, to: str = "out") -> Done:
        """Publish into a folder, with more words, and return what is left of the command."""
        return self.run(*self.words(*more, to=to))

    def published(self, *more: object, to: str = "out") -> Path:
        """Publish into a folder that must come about; return its path."""
        require(self.publish(*more, to=to))
        return self.folder / to

    def use(self, word: str, *words: object) -> Done:
        """Run a command of this kind on a release: ``geodp flows estimate ...`` for flows."""
        return self.run(*self.kind.tools, word, *words)

    def asked(self, to: str = "out") -> str:
        """Return the folder that ``estimate`` reads: of a series that of a period."""
        return f"{to}/public/{self.kind.periods[0]}" if self.kind.periods else to

    def charges(self) -> list[Any]:
        """Return the charges in the ledger."""
        return list(Ledger.open(self.folder / "ledger").charges(DATASET))

    def names(self) -> list[str]:
        """Return the names of all that lies here."""
        return sorted(one.name for one in self.folder.iterdir())

    def index(self, to: str = "out") -> dict[str, Any]:
        """Return the card or the index of a release."""
        path = self.folder / to / "public" / self.kind.index
        return json.loads(path.read_text(encoding="utf-8"))

    def copy(self, release: Path, to: str = "copy") -> Path:
        """Copy a release to this folder."""
        shutil.copytree(release, self.folder / to)
        return self.folder / to


def require(done: Done) -> Done:
    """Return a command that succeeded, and fail with what it said otherwise."""
    assert done.returncode == 0, done.stderr or done.stdout
    return done


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder by their names in it."""
    files = (one for one in sorted(folder.rglob("*")) if one.is_file())
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in files}
