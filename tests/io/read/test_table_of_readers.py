"""A reader is one file: a frozen value whose fields are options, found without being named."""

import dataclasses
from pathlib import Path

import pytest

import geodp
from geodp.cli.commands.publish import publish
from geodp.cli.readers import reader_options
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io import read
from geodp.io.read import choose, find_readers
from geodp.io.read.reader import Call, MatchScore, Reader
from geodp.tools.evaluate.commands.evaluate import evaluate
from geodp.tools.plan.commands.plan import plan
from tests.command import context_of
from tests.refusals import refuses

READERS = find_readers()
NEEDED = {"points": {"x": "x", "y": "y"}, "table": {"value": "n"}}
GRID = Grid.mesh("jis:primary", bounds=(138, 35 + 1 / 3, 139, 36))


def call(*paths, grid="jis:half", **given):
    return Call(tuple(map(Path, paths)), grid, given)


def test_every_file_of_the_package_but_the_doors_is_a_reader():
    files = {path.stem for path in Path(read.__file__).parent.glob("*.py")}
    assert files - {"__init__", "options", "reader"} == set(READERS)
    assert all(hasattr(geodp, f"read_{name}") for name in READERS)
    assert list(READERS) == sorted(READERS)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (call("a.txt"), "table"),
        (call("a.zip", "b.zip", value=("v",)), "table"),
        (call("a.csv", grid="inspire:1km"), "table"),
        (call("a.csv", grid="regular:2x2"), "table"),
        (call("a.csv", code="c"), "table"),
        (call("a.csv", y="y"), "table"),
        (call("a.csv", column=("x=x",)), "table"),
        (call("a.tif"), "raster"),
        (call("a.csv", "b.TIFF", code="c"), "raster"),
        (call("a.csv", points=True, x="x"), "points"),
        (call("a.tif", points=True), "points"),
        (call("a.csv", points=False, code=None, x=None, column=()), "table"),
    ],
)
def test_a_call_says_which_reader_it_is_meant_for(given, name):
    assert choose(given) is READERS[name]


def test_a_call_for_none_or_for_several_is_refused(monkeypatch):
    raster = READERS["raster"]
    for others, path, names in (
        (
            {**READERS, "other": type("Other", (raster,), {"name": "other"})},
            "a.tif",
            "raster, other",
        ),
        ({"raster": raster, "points": READERS["points"]}, "a.csv", "raster, points"),
    ):
        monkeypatch.setattr(read, "find_readers", lambda found=others: found)
        with refuses(UsageError, f"reader-ambiguous: : {names}\\."):
            choose(call(path))


@pytest.mark.parametrize("name", READERS)
def test_a_reader_is_a_frozen_value(name):
    one = READERS[name](grid=GRID, **NEEDED.get(name, {}))
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.grid = None
    for asked in one.option_fields():
        if asked.choices:
            with refuses(UsageError, f"choice-unknown: {asked.field} .*{asked.choices[0]}"):
                dataclasses.replace(one, **{asked.field: "magic"})


def test_the_options_of_commands_are_the_fields():
    made = {option.name: option for option in reader_options()}
    fields = {asked.name for reader in READERS.values() for asked in reader.option_fields()}
    assert set(made) == fields | {"points"}
    for reader in READERS.values():
        for asked in reader.option_fields():
            option = made[asked.name]
            assert option.opts == [asked.flag]
            assert (option.help or "") == asked.help
            assert option.multiple == asked.many
            assert option.stated.default in (None, asked.default) or option.multiple
            assert not option.required  # another reader may do without
    for command in (publish, evaluate):
        names = [one.name for one in command.get_params(context_of(command))]
        assert set(made) <= set(names)
        assert len(names) == len(set(names))
    names = {one.name for one in plan.get_params(context_of(plan))}
    assert names & {*made, "inputs"} == {"labels"}  # of the grid


def test_readers_that_share_an_option_spell_it_alike():
    """The first one's help and form are shown, so another one must be the same."""
    spelt = {}
    for reader in READERS.values():
        for asked in reader.option_fields():
            shared = dataclasses.replace(asked, default=None, required=False)
            assert spelt.setdefault(asked.name, shared) == shared


def test_a_reader_says_nothing_of_calls_by_default():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Silent(Reader):
        name = "silent"

        def read(self, paths):
            raise NotImplementedError

    assert Silent.match_score(call("a.csv", silent=True)) is MatchScore.NONE
    Silent.flag = "Read in silence."
    assert Silent.match_score(call("a.csv", silent=True)) is MatchScore.FLAG
    assert Silent.match_score(call("a.csv", silent=False)) is MatchScore.NONE
