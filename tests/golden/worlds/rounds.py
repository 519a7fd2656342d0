"""Rounds of local collection."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import geodp as package
from tests.command import geodp
from tests.golden.case import DATASET, LEDGER, Golden
from tests.golden.pinned import Pinned
from tests.golden.worlds.maps import CODES, MESH, csv, mesh, square


@dataclass(frozen=True)
class LocalRound(Golden):
    """A round of local collection: ``words`` are those of its plan."""

    def steps(self, output: str = "out") -> list[tuple[str, ...]]:
        """Return the words of the commands: plan, open, make and add up reports, and publish."""
        charged = ("--ledger", LEDGER, "--dataset", DATASET) if self.charged else ()
        return [
            (*shlex.split(self.words), "--output", "plan.toml"),
            ("local", "open", "--plan", "plan.toml", *charged, "--output", "round.json"),
            (
                "local",
                "randomize",
                "round.json",
                "cells.csv",
                "--code",
                "cell",
                "-o",
                "reports.jsonl",
            ),
            ("local", "aggregate", "round.json", "reports.jsonl", "-o", "round.sums"),
            ("local", "publish", "round.sums", "-o", output),
        ]

    def publish(self, folder: Path, output: str = "out") -> Path:
        """Hold the round in the shell, in a prepared folder; return the public folder."""
        for words in self.steps(output):
            done = geodp(*words, cwd=folder)
            assert done.returncode == 0, done.stderr
        return folder / output / "public"

    def pin(self, folder: Path, output: str = "out") -> Pinned:
        """Return what is pinned of a release, and the file that devices and servers have."""
        opened = (folder / "round.json").read_text(encoding="utf-8")
        return {**super().pin(folder, output), "round.json": opened}

    def pin_run(self, folder: Path, output: str = "out") -> Pinned:
        """Return what the commands also write: the plan, and how reports and their sums begin."""
        first = {}
        for name in ("reports.jsonl", "round.sums"):
            with (folder / name).open("rb") as file:
                first[f"{name}.txt"] = file.readline().decode()
        plan = (folder / "plan.toml").read_text(encoding="utf-8")
        return {**super().pin_run(folder, output), **first, "plan.toml": plan}


def local(grid, **options):
    """Return what holds a round in Python."""

    def publish(given):
        plan = package.local.plan(grid(), **options)
        opened = package.local.open_round(plan, path=given.path("round.json"), **given.paid)
        cells = given.table("cells.csv", cell=str)["cell"].tolist()
        sums = package.local.aggregate(opened, package.local.randomize(opened, cells))
        return package.local.publish(opened, sums)

    return publish


DEVICES = {"neighbours": "replace-one", "unit": "device", "model": "local"}
LOCAL = [
    LocalRound(
        "local",
        "local round",
        "local plan --grid regular:4x4 --devices 1000 --epsilon 2 --protocol haar",
        {"cells.csv": csv("cell", [(f"{n * n % 4}_{n * n * n % 7 % 4}",) for n in range(1000)])},
        local(square, devices=1000, epsilon=2, protocol="haar"),
        dataset=DEVICES,
    ),
    LocalRound(
        "local-official",
        "local round",
        f"local plan {MESH} --order official --devices 1000 --epsilon 3 --protocol counts",
        {"cells.csv": csv("cell", [(CODES[n * n % 13],) for n in range(1000)])},
        local(lambda: mesh().with_official_order(), devices=1000, epsilon=3, protocol="counts"),
        charged=False,
    ),
]
