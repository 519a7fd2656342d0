"""A folder with the confidential files of one kind, in which its commands are run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.release import transaction
from tests.command import Done, cli, context_of, geodp
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
        self.open_ledger()
        for words in kind.before:
            require(self.run(*words))

    def moved(self, folder: Path) -> Desk:
        """Copy all that lies here to a folder that is not there yet; return a desk there."""
        shutil.copytree(self.folder, folder)
        desk = copy(self)
        desk.folder = folder
        return desk

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

    def known(self, option: str, *values: object) -> tuple[object, ...]:
        """Return the words of an option, none where the command that publishes lacks it."""
        command = cli.geodp
        for word in self.kind.command:
            command = command.commands[word]
        params = command.get_params(context_of(command))
        return (option, *values) if any(option in one.opts for one in params) else ()

    def open_ledger(self) -> None:
        """Make a new ledger, with a cap of 100."""
        ledger = Ledger.create(self.folder / "ledger")
        ledger.add_dataset(DATASET, PureDP(100), unit=self.kind.unit)

    def ledger(self) -> Ledger:
        """Return the ledger."""
        return Ledger.open(self.folder / "ledger")

    def charges(self) -> list[Any]:
        """Return the charges in the ledger."""
        return list(self.ledger().charges(DATASET))

    def names(self) -> list[str]:
        """Return the names of all that lies here."""
        return sorted(one.name for one in self.folder.iterdir())

    def index(self, to: str = "out") -> dict[str, Any]:
        """Return the card or the index of a release."""
        path = self.folder / to / "public" / self.kind.index
        return json.loads(path.read_text(encoding="utf-8"))

    def asked(self, to: str = "out") -> str:
        """Return the folder that ``estimate`` reads: of a series that of a period."""
        return f"{to}/public/{self.kind.periods[0]}" if self.kind.periods else to

    def copy(self, release: Path, to: str = "copy") -> Path:
        """Copy a release to this folder."""
        shutil.copytree(release, self.folder / to)
        return self.folder / to


@contextmanager
def count_draws() -> Iterator[list[str]]:
    """Yield a list that gets the fingerprint of every release that is drawn."""
    drawn, draw_and_charge = [], transaction.draw_and_charge

    def note(ledger: Any, dataset: Any, event: Any, fingerprint: str, draw: Any, *more: Any,
             **named: Any) -> Any:  # fmt: skip
        def drawing() -> Any:
            drawn.append(fingerprint)
            return draw()

        return draw_and_charge(ledger, dataset, event, fingerprint, drawing, *more, **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(transaction, "draw_and_charge", note)
        yield drawn


def require(done: Done) -> Done:
    """Return a command that succeeded, and fail with what it said otherwise."""
    assert done.returncode == 0, done.stderr or done.stdout
    return done


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder by their names in it."""
    files = (one for one in sorted(folder.rglob("*")) if one.is_file())
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in files}
