"""Every kind of release, each on one small map of 12 cells of a kilometre."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas

import geodp
from geodp.io.folder.kinds import list_kinds
from geodp.kinds.census.publish import prepare_census
from geodp.release.request import make_request
from tests.house.recipes import example

MODULE: dict[str, Any] = {"__name__": "employment"}
exec(example("Add a kind of release"), MODULE)
OWN = MODULE["KINDS"][0]
"""The kind of one's own of docs/how-to, which is no file of the project."""


@contextmanager
def offer_own() -> Iterator[None]:
    """Offer the kind of one's own and its series, as their package does."""
    listed, own = list_kinds(), {one.name: one for one in MODULE["KINDS"]}
    listed.update(own)
    yield
    for name in own:
        del listed[name]


BOUNDS = 139.5, 35.5, 139.55, 35.525
GRID = ("--grid", "jis:basic", "--bounds", *map(str, BOUNDS))
CODES = [f"533924{row}{col}" for row in range(3) for col in range(4)]
"""Of all cells, southernmost row first."""

WEST, EAST = CODES[:1], CODES[3:4]
"""Cells of two disjoint areas."""

TERMS = ("--epsilon", "2", "--contribution", "1")
"""So little noise that every cell is released as inhabited."""


def lines(*rows: object) -> str:
    """Return rows of a CSV file."""
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def counted(more: int = 0) -> str:
    """Return a table of counts by code."""
    return lines(("code", "n"), *((code, 60 + 5 * i + more) for i, code in enumerate(CODES)))


@dataclass(frozen=True)
class Kind:
    """How releases of one kind are made, and what uses them.

    Attributes
    ----------
    name : str
    files : dict of str to str
        Confidential files by name: their rows are few, and their texts CSV.
    command : tuple of str
        The command that publishes.
    inputs : tuple of str
        Its inputs, in the words that it takes.
    options : tuple of str
        How these are read, and what is counted, without budget, key, ledger and output.
    terms : tuple of str
        Budget, and the contribution unless it is known otherwise.
    index : str
        Name of the card, or of the index of all tables, in ``public``.
    region : tuple of str
        Words that name a region, or a flow, for ``estimate`` and ``compare``.
    other : tuple of str
        Words that name another one.
    places : tuple of str
        Columns of places in its files.
    amounts : tuple of str
        Columns of numbers in its files: counts, households, amounts.
    labels : tuple of str
        Columns of labels in its files.
    unit : str
        Whom a release protects, as the ledger says it.
    before : tuple of tuple of str
        Commands that make the inputs from the files.
    in_python : callable or None
        Publishes frames of the files, by their names, and takes what ``geodp.publish`` takes
        besides: budget, key, ledger, metadata ...; None: there is no such function.
    persons : tuple of str
        Columns of ids of persons in its files.
    dry : tuple of str
        Words with which publishing only reads; none where it cannot.
    reads : tuple of str
        The whole command that reads its files, where it is not the one that publishes.
    people : int
        How many people, or other units, its files count, all files and columns together.
    wrong : tuple of str
        Words in place of ``terms`` of which one has a value that is refused.
    asserted : tuple of str
        Those of ``options`` that say whom or what the release protects, which no recipe has, and
        what is asked for.
    periods : tuple of str
        Times of a series, which are the names of folders in ``public``; empty for others.
    uses : tuple of str
        Its own commands that answer questions about it.
    planned : tuple of str
        The command that predicts its errors, with grid and budget of ``options``.
    prior : str
        A public table that may be its prior, in CSV; "": it takes none.
    with_prior : tuple of str
        Words with which it takes this prior, without file, source and assertion.
    telling : dict of str to str
        Names of its columns that tell what they hold, in place of those that do not.
    public : tuple of str
        Options of public files that it takes at once, besides a prior.
    """

    name: str
    files: dict[str, str]
    command: tuple[str, ...]
    inputs: tuple[str, ...]
    options: tuple[str, ...]
    index: str
    terms: tuple[str, ...] = TERMS
    region: tuple[str, ...] = ("--area", WEST[0])
    other: tuple[str, ...] = ("--area", EAST[0])
    places: tuple[str, ...] = ("code",)
    amounts: tuple[str, ...] = ("n",)
    labels: tuple[str, ...] = ()
    unit: str = "person"
    before: tuple[tuple[str, ...], ...] = ()
    in_python: Callable[..., Any] | None = field(default=None, repr=False)
    persons: tuple[str, ...] = ()
    dry: tuple[str, ...] = ("--check",)
    reads: tuple[str, ...] = ()
    people: int = 0
    wrong: tuple[str, ...] = ("--epsilon", "-1", "--contribution", "1")
    asserted: tuple[str, ...] = ()
    periods: tuple[str, ...] = ()
    uses: tuple[str, ...] = ("estimate", "compare")
    planned: tuple[str, ...] = ()
    prior: str = ""
    with_prior: tuple[str, ...] = ()
    telling: dict[str, str] = field(default_factory=dict)
    public: tuple[str, ...] = ("--mask",)

    def write(self, folder: Path) -> None:
        """Write its confidential files."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")

    def thin(self) -> Kind:
        """Return the kind with other inputs of the same form: every fifth row is gone."""
        rows = {name: text.splitlines(keepends=True) for name, text in self.files.items()}
        kept = {name: [each[0], *(one for i, one in enumerate(each[1:]) if i % 5)]
                for name, each in rows.items()}  # fmt: skip
        return replace(self, files={name: "".join(each) for name, each in kept.items()})

    def frames(self) -> dict[str, pandas.DataFrame]:
        """Return its files as frames, with codes and ids as texts."""
        texts = dict.fromkeys((*self.places, *self.labels, "id"), str)
        return {
            name: pandas.read_csv(StringIO(text), dtype=texts, keep_default_na=False)
            for name, text in self.files.items()
        }


def widen(kind: Kind) -> Kind:
    """Return a kind whose map has four more columns of cells in the east."""
    east = {str(BOUNDS[2]): str(BOUNDS[2] + 0.05)}

    def edit(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(east.get(word, word) for word in words)

    before = tuple(edit(words) for words in kind.before)
    return replace(kind, options=edit(kind.options), before=before)


def grid() -> geodp.Grid:
    """Return the map of all kinds."""
    return geodp.Grid.mesh("jis:basic", bounds=BOUNDS)


ASKED = {"epsilon": 2, "contribution": 1}
"""Budget and contribution of the commands, as functions take them."""


def _publish_counts(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    return geodp.publish(frames["a.csv"], grid=grid(), code="code", value="n", **ASKED | more)


def _publish_by_label(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    table = geodp.read_table(
        frames["a.csv"], grid=grid(), code="code", value="n", by=["sex"],
        labels={"sex": ["f", "m"]},
    )  # fmt: skip
    return geodp.publish(table, **ASKED | more)


def _publish_series(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    tables = [geodp.read_table(one, grid=grid(), code="code", value="n") for one in frames.values()]
    return geodp.publish_series(tables, times=["2020", "2021"], person="all", **ASKED | more)


def _publish_households(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    persons, homes = (
        geodp.read_table(frames["a.csv"], grid=grid(), code="code", value=value)
        for value in ("n", "homes")
    )
    return geodp.households.publish(persons, homes, protect="person", **ASKED | more)


def _publish_sizes(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    table = geodp.read_table(
        frames["a.csv"], grid=grid(), code="code", value="n", by=["size"],
        labels={"size": ["1", "2", "3"]},
    )  # fmt: skip
    return geodp.households.publish(
        by_size=table, max_size=3, size_attribute="size", protect="household", **ASKED | more
    )


def _publish_census(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    with TemporaryDirectory() as folder:
        (Path(folder) / "own.toml").write_text(RELATIONS, encoding="utf-8")
        tables = geodp.census.read_table(
            frames["a.csv"], grid=grid(), code="code", preset=f"{folder}/own.toml",
            contradictions="fit",
        )  # fmt: skip
    return prepare_census(tables, make_request(**ASKED | more)).release()


def _publish_flows(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    return geodp.flows.publish(
        frames["a.csv"], grid=grid(), origin="code", destination="to", person="id", trips=1,
        **{"epsilon": 2, "outside": "crop"} | more,
    )  # fmt: skip


def _publish_amounts(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    return geodp.amounts.publish(
        frames["a.csv"], grid=grid(), code="code", amount="n", clip=(0, 9),
        unit_of_amount="EUR", classes=(3, 6), **ASKED | more,
    )  # fmt: skip


def _publish_series_of_amounts(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    tables = [
        geodp.amounts.read_records(
            one, grid=grid(), code="code", amount="n", clip=(0, 9), unit_of_amount="EUR"
        )
        for one in frames.values()
    ]
    return geodp.amounts.publish_series(
        tables, times=["2020", "2021"], person="all", **ASKED | more
    )


def _publish_series_of_households(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    tables = [
        {
            name: geodp.read_table(one, grid=grid(), code="code", value=value)
            for name, value in (("persons", "n"), ("households", "homes"))
        }
        for one in frames.values()
    ]
    return geodp.households.publish_series(
        tables, times=["2020", "2021"], person="all", protect="person", **ASKED | more
    )


def _publish_series_of_flows(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    tables = [
        geodp.flows.read_trips(
            one, grid=grid(), origin="code", destination="to", person="id", trips=1, outside="crop"
        )
        for one in frames.values()
    ]
    return geodp.flows.publish_series(
        tables, times=["2020", "2021"], person="all", **{"epsilon": 2} | more
    )


def _publish_own(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    tables = {
        name: geodp.read_table(frames["a.csv"], grid=grid(), code="code", value=value)
        for name, value in (("employed", "n"), ("adults", "adults"))
    }
    return OWN.publish(tables, **ASKED | more)


def _select(frames: dict[str, pandas.DataFrame], **more: Any) -> Any:
    table = geodp.read_table(frames["a.csv"], grid=grid(), code="code", value="n")
    return geodp.select.top_cells(table, 3, **ASKED | more)


RELATIONS = """
[table]
persons = "n"
households = "homes"
[[table.margins]]
name = "sex"
columns = ["f", "m"]
"""
AMOUNT = ("--code", "code", "--amount", "n", "--clip", "0", "9", "--unit-of-amount", "EUR")
GUESSES = ("--median", "4", "--upper-tenth", "9", "--clip", "9")
RECORDS = [(code, (i + j) % 11) for i, code in enumerate(CODES) for j in range(30)]
TRIPS = [(code, to) for i, code in enumerate(CODES) for to in CODES for _ in range(20 + i)]
YEARS = {"a.csv": counted(), "b.csv": counted(9)}
SOLD = {
    name: lines(("code", "n"), *RECORDS[:last]) for name, last in (("a.csv", 360), ("b.csv", 330))
}
EARLIER = lines(("code", "n"), *((code, 7919) for code in CODES))
PERIODS = ("2020=a.csv", "2021=b.csv")
ROUND = (
    ("local", "plan", *GRID, "--epsilon", "5", "--devices", "3000", "--output", "plan.toml"),
    ("local", "open", "--plan", "plan.toml", "--output", "round.json"),
    ("local", "randomize", "round.json", "a.csv", "--code", "cell", "-o", "reports.jsonl"),
    ("local", "aggregate", "round.json", "reports.jsonl", "-o", "round.sums"),
)

DEVICES = [(code,) for i, code in enumerate(CODES) for _ in range(140 + 20 * i)]

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "counts",
            {"a.csv": counted()},
            ("publish",),
            ("a.csv",),
            (*GRID, "--code", "code", "--value", "n"),
            "release.json",
            in_python=_publish_counts,
            people=1050,
            planned=("plan", *GRID, *TERMS),
            prior=EARLIER,
            public=("--regions", "--public-totals"),
        ),
        Kind(
            "counts by label",
            {
                "a.csv": lines(
                    ("code", "sex", "n"),
                    *((code, sex, 50 + i) for i, code in enumerate(CODES) for sex in "fm"),
                )
            },
            ("publish",),
            ("a.csv",),
            (*GRID, "--code", "code", "--value", "n", "--by", "sex", "--labels", "sex=f,m"),
            "release.json",
            labels=("sex",),
            in_python=_publish_by_label,
            people=1332,
            planned=("plan", *GRID, *TERMS, "--labels", "sex=f,m"),
            prior=lines(
                ("code", "sex", "n"), *((code, sex, 7919) for code in CODES for sex in "fm")
            ),
            with_prior=("--method", "pyramid"),
            public=("--regions",),
        ),
        Kind(
            "series",
            YEARS,
            ("publish-series",),
            PERIODS,
            (*GRID, "--code", "code", "--value", "n", "--person-in", "all"),
            "series.json",
            asserted=("--person-in", "all"),
            in_python=_publish_series,
            people=2208,
            periods=("2020", "2021"),
            planned=("plan", *GRID, *TERMS, "--snapshots", "2", "--person-in", "all"),
        ),
        Kind(
            "households of persons",
            {
                "a.csv": lines(
                    ("code", "n", "homes"),
                    *((code, 90 + 7 * i, 40 + i) for i, code in enumerate(CODES)),
                )
            },
            ("households", "publish"),
            ("a.csv",),
            (
                *(*GRID, "--code", "code", "--value", "n", "--households", "homes"),
                *("--protect", "person"),
            ),
            "households.json",
            amounts=("n", "homes"),
            asserted=("--protect", "person"),
            in_python=_publish_households,
            people=2088,
            planned=(
                "households",
                "plan",
                *GRID,
                *TERMS,
                "--protect",
                "person",
                "--people",
                "1500",
            ),
            telling={"n": "persons", "homes": "households"},
        ),
        Kind(
            "households by size",
            {
                "a.csv": lines(
                    ("code", "size", "n"),
                    *((code, size, 20 + i) for i, code in enumerate(CODES) for size in (1, 2, 3)),
                )
            },
            ("households", "publish"),
            ("a.csv",),
            (
                *(*GRID, "--code", "code", "--value", "n", "--by", "size", "--max-size", "3"),
                *("--labels", "size=1,2,3"),
                *("--protect", "household"),
            ),
            "households.json",
            labels=("size",),
            unit="household",
            asserted=("--protect", "household", "--max-size", "3"),
            in_python=_publish_sizes,
            people=918,
            planned=(
                *("households", "plan", *GRID, *TERMS, "--protect", "household"),
                *("--max-size", "3", "--people", "1500"),
            ),
            telling={"size": "household_size", "n": "households"},
        ),
        Kind(
            "census",
            {
                "a.csv": lines(
                    ("code", "n", "f", "m", "homes"),
                    *(
                        (code, 90 + 7 * i, 60 + 4 * i, 30 + 3 * i, 40 + i)
                        for i, code in enumerate(CODES)
                    ),
                )
            },
            ("census", "publish"),
            ("a.csv",),
            (
                *(*GRID, "--code", "code", "--value", "n", "--margin", "sex=f,m"),
                *("--households", "homes", "--contradictions", "fit"),
            ),
            "census.json",
            # Names of the others are labels, too.
            amounts=("n", "homes"),
            asserted=("--contradictions", "fit"),
            in_python=_publish_census,
            people=3630,
            planned=(
                *("census", "plan", *GRID, *TERMS, "--margin", "sex=f,m"),
                *("--households", "homes", "--cells", "1"),
            ),
            telling={"n": "persons", "homes": "households"},
        ),
        Kind(
            "flows",
            {
                "a.csv": lines(
                    ("id", "code", "to"), *((f"p{n}", *trip) for n, trip in enumerate(TRIPS))
                )
            },
            ("flows", "publish"),
            ("a.csv",),
            (*GRID, "--from", "code", "--to", "to", "--person", "id", "--trips", "1"),
            "flows.json",
            terms=("--epsilon", "2"),
            wrong=("--epsilon", "-1"),
            region=("--from", WEST[0], "--to", EAST[0]),
            other=("--from", EAST[0], "--to", WEST[0]),
            places=("code", "to"),
            amounts=(),
            persons=("id",),
            asserted=("--trips", "1"),
            in_python=_publish_flows,
            people=3672,
            planned=("flows", "plan", *GRID, "--epsilon", "2", "--trips", "1"),
            telling={"code": "origin", "to": "destination", "id": "person_id"},
            prior=lines(("code", "to", "n"), *((code, to, 7919) for code in CODES for to in CODES)),
            with_prior=("--prior-value", "n"),
        ),
        Kind(
            "amounts",
            {"a.csv": SOLD["a.csv"]},
            ("amounts", "publish"),
            ("a.csv",),
            (*GRID, *AMOUNT, "--classes", "3,6"),
            "amounts.json",
            asserted=("--clip", "0", "9", "--classes", "3,6"),
            in_python=_publish_amounts,
            people=360,
            planned=("amounts", "plan", *GRID, *TERMS, *GUESSES, "--share", "1/2"),
            telling={"n": "income"},
            prior=EARLIER,
            with_prior=("--prior-value", "n"),
        ),
        Kind(
            "series of amounts",
            SOLD,
            ("amounts", "publish-series"),
            PERIODS,
            (*GRID, *AMOUNT, "--person-in", "all"),
            "amounts-series.json",
            asserted=("--person-in", "all", "--clip", "0", "9"),
            in_python=_publish_series_of_amounts,
            people=690,
            periods=("2020", "2021"),
            planned=(
                *("amounts", "plan", *GRID, *TERMS, *GUESSES),
                *("--snapshots", "2", "--person-in", "all"),
            ),
            prior=EARLIER,
            with_prior=("--prior-value", "n"),
        ),
        Kind(
            "series of households",
            {
                name: lines(
                    ("code", "n", "homes"),
                    *((code, 90 + 7 * i, 40 + i + more) for i, code in enumerate(CODES)),
                )
                for name, more in (("a.csv", 0), ("b.csv", 5))
            },
            ("households", "publish-series"),
            PERIODS,
            (
                *(*GRID, "--code", "code", "--value", "n", "--households", "homes"),
                *("--protect", "person", "--person-in", "all"),
            ),
            "households-series.json",
            amounts=("n", "homes"),
            asserted=("--protect", "person", "--person-in", "all"),
            in_python=_publish_series_of_households,
            people=4236,
            periods=("2020", "2021"),
        ),
        Kind(
            "series of flows",
            {
                name: lines(
                    ("id", "code", "to"), *((f"p{n}", *trip) for n, trip in enumerate(trips))
                )
                for name, trips in (("a.csv", TRIPS), ("b.csv", TRIPS[:3000]))
            },
            ("flows", "publish-series"),
            PERIODS,
            (
                *(*GRID, "--from", "code", "--to", "to", "--person", "id", "--trips", "1"),
                *("--person-in", "all"),
            ),
            "flows-series.json",
            terms=("--epsilon", "2"),
            wrong=("--epsilon", "-1"),
            region=("--from", WEST[0], "--to", EAST[0]),
            other=("--from", EAST[0], "--to", WEST[0]),
            places=("code", "to"),
            amounts=(),
            persons=("id",),
            asserted=("--person-in", "all", "--trips", "1"),
            in_python=_publish_series_of_flows,
            people=6672,
            periods=("2020", "2021"),
        ),
        Kind(
            "selection",
            {"a.csv": counted()},
            ("select", "top"),
            ("a.csv",),
            (*GRID, "--code", "code", "--value", "n", "--k", "3"),
            "release.json",
            in_python=_select,
            people=1050,
            asserted=("--k", "3"),
            uses=("explain",),
            planned=("select", "plan", *GRID, *TERMS, "--k", "3"),
        ),
        Kind(
            "own kind",
            {
                "a.csv": lines(
                    ("code", "n", "adults"),
                    *((code, 60 + 5 * i, 90 + 7 * i) for i, code in enumerate(CODES)),
                )
            },
            ("employment",),
            ("a.csv",),
            (*GRID, "--code", "code", "--map", "employed=n", "--map", "adults=adults"),
            "employment.json",
            amounts=("n", "adults"),
            in_python=_publish_own,
            people=2592,
            uses=(),
        ),
        Kind(
            "local round",
            {"a.csv": "cell\n" + lines(*DEVICES)},
            ("local", "publish"),
            ("round.sums",),
            (),
            "release.json",
            terms=(),
            places=("cell",),
            amounts=(),
            before=ROUND,
            reads=(
                "local",
                "randomize",
                "round.json",
                "a.csv",
                "--code",
                "cell",
                "-o",
                "read.jsonl",
            ),
            people=3000,
            wrong=("--name", "a/b"),
            planned=("local", "plan", *GRID, "--epsilon", "5", "--devices", "3000"),
        ),
    )
}
