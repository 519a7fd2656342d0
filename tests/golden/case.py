"""A golden folder: how a release is made in the shell and in Python, under a kept key.

``case.prepare(folder)`` writes the inputs, the key and a ledger; then ``case.publish(folder)`` and
``case.publish_frames(folder, "other")`` return public folders, and ``case.pin(folder)`` what is
pinned of them. All of that belongs in :func:`tests.golden.fixed.fixed`. What is pinned lies in
``tests/golden/releases``.
"""

import io
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import pandas as pd

import geodp as package
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP, ZeroConcentratedDP
from tests.command import Done, geodp
from tests.golden.pinned import Pinned, format_json, pin_public
from tests.keys import keep

RELEASES = Path(__file__).with_name("releases")
"""The golden folders, by the name of their case."""

EXTRAS = ("prior", "labels", "weights", "regions", "mask")
"""What a release may have besides its counts."""

BUDGETS = {
    "epsilon": {"epsilon": "1/2"},
    "rho": {"rho": "1/32"},
    "delta": {"epsilon": "1/2", "delta": "1/1000000"},
    "rho, delta": {"rho": "1/32", "delta": "1/1000000"},
}
"""Budgets by name: pure, zero-concentrated, approximate, and rho whose epsilon is stated."""

CAPS = {
    "epsilon": PureDP(Fraction(20)),
    "rho": ZeroConcentratedDP(Fraction(5)),
    "delta": ApproximateDP(Fraction(20), Fraction(1, 1000)),
    "rho, delta": ZeroConcentratedDP(Fraction(5)),
}
"""Caps of a ledger for each of them."""

LEDGER, DATASET, KEY = "ledger", "people", "key"


@dataclass(frozen=True)
class Golden:
    """A release under a kept key.

    Attributes
    ----------
    name : str
    kind : str
        Of :data:`tests.golden.folders.TAKES`.
    words : str
        The command without budget, key, ledger and output; paths are names in the folder. Empty:
        the package that adds the kind has the command, and Python publishes here.
    files : mapping of str to str
        Texts of the inputs by name.
    frames : callable
        Makes the same release in Python from a :class:`Given`.
    budget : str
        Of :data:`BUDGETS`.
    extras : tuple of str
        Of :data:`EXTRAS`.
    charged : bool
        Whether a ledger is charged.
    dataset : mapping
        Whom the data set of the ledger protects: ``unit``, ``neighbours``, ``model``.
    """

    name: str
    kind: str
    words: str
    files: Mapping[str, str]
    frames: Callable
    budget: str = "epsilon"
    extras: tuple[str, ...] = ()
    charged: bool = True
    dataset: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder that holds what is pinned."""
        return RELEASES / self.name

    def prepare(self, folder: Path) -> None:
        """Write inputs, key and ledger into an empty folder."""
        for name, text in self.files.items():
            (folder / name).write_bytes(text.encode())
        keep(folder / KEY, "golden")
        if self.charged:
            Ledger.create(folder / LEDGER).add_dataset(DATASET, CAPS[self.budget], **self.dataset)

    def command(self, *more: str, output: str = "out") -> list[str]:
        """Return all words of the command; ``more`` are further ones."""
        budget = (w for name, value in BUDGETS[self.budget].items() for w in (f"--{name}", value))
        charged = ("--ledger", LEDGER, "--dataset", DATASET) if self.charged else ()
        kept = ("--key-file", KEY, "--output", output)
        return [*shlex.split(self.words), *budget, *charged, *kept, *more]

    def run(self, folder: Path, *more: str, output: str = "out") -> Done:
        """Run the command in a prepared folder."""
        return geodp(*self.command(*more, output=output), cwd=folder)

    def publish(self, folder: Path, *more: str, output: str = "out") -> Path:
        """Publish in the shell, in a prepared folder; return the public folder."""
        if not self.words:
            return self.publish_frames(folder, output)
        done = self.run(folder, *more, output=output)
        assert done.returncode == 0, done.stderr
        return folder / output / "public"

    def publish_frames(self, folder: Path, output: str = "out") -> Path:
        """Publish in Python, in a prepared folder; return the public folder."""
        self.frames(Given(self, folder)).write(folder / output)
        return folder / output / "public"

    def pin(self, folder: Path, output: str = "out") -> Pinned:
        """Return what is pinned of a release in a prepared folder, however it was made."""
        pinned = pin_public(folder / output / "public")
        if self.charged:
            entries = [*map(json.loads, Ledger.open(folder / LEDGER).export())]
            pinned["charge.json"] = format_json(entries)
        return pinned

    def pin_run(self, folder: Path, output: str = "out") -> Pinned:
        """Return what the command also writes for its operator, without the seconds it took."""
        if not self.words:
            return {}
        path = folder / output / "restricted" / "run.json"
        run = json.loads(path.read_text(encoding="utf-8"))
        return {"run.json": format_json({k: v for k, v in run.items() if k != "seconds"})}


@dataclass(frozen=True)
class Given:
    """What a case gives to Python: frames, and the arguments of all front doors."""

    case: Golden
    folder: Path

    def table(self, name: str, **types) -> pd.DataFrame:
        """Return an input as a frame; types of columns, of which codes are texts."""
        return pd.read_csv(io.StringIO(self.case.files[name]), dtype=types)

    def path(self, name: str) -> Path:
        """Return the path of a public file."""
        return self.folder / name

    @cached_property
    def key(self) -> package.NoiseKey:
        """The kept key."""
        return package.NoiseKey.from_file(self.folder / KEY)

    @cached_property
    def paid(self) -> dict:
        """The ledger and its data set."""
        if not self.case.charged:
            return {}
        return {"ledger": Ledger.open(self.folder / LEDGER), "dataset": DATASET}

    @property
    def terms(self) -> dict:
        """Budget, key and ledger."""
        return {**BUDGETS[self.case.budget], "key": self.key, **self.paid}
