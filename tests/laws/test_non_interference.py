"""Non-interference: with the drawn tables fixed, nothing that is public depends on the input."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import click
import pytest

from geodp.cli import geodp as command_line
from geodp.cli import publishing
from geodp.io.folder import publication
from geodp.release.transaction import Prepared
from tests.command import geodp, override
from tests.kinds.flows.forms import sample_few_pairs
from tests.laws.fixed_draws import begin_run, fix_draws
from tests.laws.public_commands import (
    BOTH,
    CASES,
    CELLS,
    CONFIDENTIAL,
    PARAMETERS,
    PLACE,
    READERS,
    TERMS,
    WRITTEN,
    Case,
    prepare,
)

PRIVACY = Path(__file__).parents[2] / "docs" / "proofs" / "privacy.md"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    prepare(folder)
    return folder


@pytest.fixture(autouse=True)
def fixed(monkeypatch):
    fix_draws(monkeypatch)


def public_bytes(folder, outputs):
    """Return every file of some outputs with its bytes."""
    found = {}
    for output in outputs:
        start = folder / output
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            if path.is_file():
                found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def seen(desk, case, variant):
    """Run a case on an input; return all that anybody sees of it."""
    shutil.rmtree(desk / "out", ignore_errors=True)
    for output in case.outputs:
        if (desk / output).is_file():
            os.unlink(desk / output)
    for path in desk.glob("ledger*"):
        if path.name != "ledger.new":
            path.unlink()
    shutil.copy(desk / "ledger.new", desk / "ledger")
    case.write(desk, variant)
    begin_run()
    with sample_few_pairs():
        done = geodp(*case.command.split(), *case.call, cwd=desk)
    return {
        "exit code": done.returncode,
        "stdout": done.stdout,
        "stderr": done.stderr,
        **public_bytes(desk, case.outputs),
    }


def find_commands(group=command_line, name=""):
    """Yield every command of the command line by its words."""
    for word, one in group.commands.items():
        if isinstance(one, click.Group):
            yield from find_commands(one, f"{name}{word} ")
        else:
            yield f"{name}{word}"


def test_every_command_is_of_a_class():
    """A new command is public, reads what is protected, takes parameters or is confidential."""
    classes = [{case.command for case in CASES.values()}, READERS.keys(), PARAMETERS, CONFIDENTIAL]
    named = [name for names in classes for name in names]
    assert {*find_commands()} == {*named}
    assert {name for name in named if named.count(name) > 1} | {"audit"} == BOTH


def test_confidential_commands_are_those_that_the_document_names():
    text = PRIVACY.read_text(encoding="utf-8")
    section = text.partition("Commands whose output is confidential")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `geodp ([^`]+)` \|", section, re.MULTILINE)
    assert {*listed} == {*CONFIDENTIAL.values(), "publish --profile"}


def differences(desk, case):
    """Return what differs between inputs, by variant."""
    first, *others = case.variants
    expected = seen(desk, case, first)
    assert expected["exit code"] == 0, expected["stderr"]
    found = {}
    for variant in others:
        other = seen(desk, case, variant)
        names = {n for n in {*expected, *other} if expected.get(n) != other.get(n)}
        if names:
            found[variant] = sorted(names), other["stderr"]
    return found


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if case.quick else pytest.mark.law)
        for name, case in CASES.items()
    ],
)
def test_nothing_public_depends_on_the_input_but_by_the_draw(desk, name):
    assert differences(desk, CASES[name]) == {}


@pytest.fixture(scope="module")
def offices(tmp_path_factory):
    """Write every kind of release twice: from two inputs, with the same drawn tables."""
    found, first = [], tmp_path_factory.mktemp("first")
    prepare(first)
    with pytest.MonkeyPatch.context() as patch:
        fix_draws(patch)
        for variant in ("even", "half"):
            desk = tmp_path_factory.mktemp("office")
            begin_run()
            shutil.copytree(first, desk, dirs_exist_ok=True)
            shutil.copy(desk / "ledger.new", desk / "ledger")
            for name, (command, write, call) in WRITTEN.items():
                write(desk, variant)
                done = geodp(*override(*command.split(), *call, "--output", name), cwd=desk)
                assert done.returncode == 0, done.stderr
            CASES["reports"].write(desk, variant)
            assert geodp("local", "randomize", *CASES["reports"].call, cwd=desk).returncode == 0
            for path in desk.glob("*.csv"):
                if path.name in ("in.csv", "devices.csv") or path.name.startswith("2024"):
                    path.unlink()
            found.append(desk)
    return found


def runs_of(name):
    """Return the calls of a command that reads, with what they need before."""
    before = READERS["local aggregate"] if name == "local publish" else ()
    return (*before, *READERS[name])


def everything_made(desk, before):
    """Return what stands in a folder that did not, with its bytes, but for the operator's."""
    found = {}
    for path in sorted(desk.rglob("*")):
        own = path.relative_to(desk).as_posix()
        if path.is_file() and own not in before and "restricted" not in path.parts:
            found[own] = path.read_bytes()
    return found


@pytest.mark.law
@pytest.mark.parametrize("name", READERS)
def test_what_reads_a_release_tells_nothing_of_what_it_was_made_from(offices, tmp_path, name):
    """Folders that differ only in ``restricted/`` give the same outputs."""
    results = []
    for number, office in enumerate(offices):
        desk = tmp_path / str(number) / "desk"
        shutil.copytree(office, desk)
        before = {path.relative_to(desk).as_posix() for path in desk.rglob("*") if path.is_file()}
        found = []
        for call in runs_of(name):
            done = geodp(*call, cwd=desk)
            assert done.returncode == 0, done
            found.append(done)
            for path in desk.glob("made*"):
                path.rename(desk / f"kept-{len(found)}-{path.name}")
            if name == "local publish" and len(found) == 1:
                (desk / "kept-1-made.sums").rename(desk / "made.sums")
        results.append((found, everything_made(desk, before)))
    hidden = [(office / "out" / "restricted" / "run.json").read_bytes() for office in offices]
    assert hidden[0] != hidden[1]
    assert results[0] == results[1]


def leak(patch, tell):
    """Let releases be what is told of them by what is known of their data, and of themselves."""
    real = Prepared.release
    patch.setattr(Prepared, "release", lambda self, *keep: tell(self, real(self, *keep)))


def constrain(made, told):
    """Say on the index of a release whether something is so."""
    index = made.index
    told = (*index.constraints, f"that it is {told}")
    return replace(made, index=replace(index, constraints=told))


def tell_rows(patch):
    """Let cards say one bit of the input: whether it has more than 10 cells."""

    def tell(prepared, made):
        told = f"that there are {'many' if prepared.cells > 10 else 'some'} cells"
        return replace(made, public_facts=(*made.public_facts, told))

    leak(patch, tell)


def tell_series(patch):
    """Let the preview of a series say whether its first table has many people."""
    real = Prepared.release

    def release(self, *keep):
        first, *others = self.design.parts
        people, *_ = self.counted["counted_people"].values()
        told = (*first.preview.public_facts, f"that it is {people > 1000}")
        changed = replace(first, preview=replace(first.preview, public_facts=told))
        design = replace(self.design, parts=(changed, *others))
        return real(replace(self, design=design), *keep)

    patch.setattr(Prepared, "release", release)


def tell_selection(patch):
    """Let the question of a selection say whether its last cell is empty."""

    def tell(prepared, made):
        (measured,) = prepared.draw.args
        told = f"that it is {measured.size - 1 in measured.rank.tolist()}"
        return replace(made, public_facts=(*made.public_facts, told))

    leak(patch, tell)


def tell_census(patch):
    """Let the release of a census say whether there are many persons."""
    leak(patch, lambda one, made: constrain(made, one.counted["counted"]["persons"] > 1000))


def tell_households(patch):
    """Let the release of households say whether there are many of them."""
    leak(patch, lambda one, made: constrain(made, one.counted["counted"]["households"] > 1000))


def tell_amounts(patch):
    """Let the release of amounts say whether there are many records."""
    leak(patch, lambda one, made: constrain(made, one.counted["counted_records"] > 1000))


def tell_amounts_series(patch):
    """Let the index of a series of amounts say whether its first period has many records."""

    def tell(prepared, made):
        first, *_ = prepared.counted["counted_records"].values()
        promise = made.index.guarantee
        told = replace(
            promise, not_protected=(*promise.not_protected, f"that it is {first > 1000}")
        )
        return replace(made, index=replace(made.index, guarantee=told))

    leak(patch, tell)


def tell_flows(patch):
    """Let the release of flows say whether there are many trips."""
    leak(patch, lambda one, made: constrain(made, one.counted["counted_trips"] > 1000))


def remember(patch, what):
    """Note what is known of the data of each release; return the list of it."""
    known = []

    def tell(prepared, made):
        known.append(what(prepared))
        return made

    leak(patch, tell)
    return known


def print_people(patch):
    """Let the last words of a run have one blank more where many people are counted."""
    real, known = (
        publishing.format_result,
        remember(patch, lambda one: one.counted["counted_people"]),
    )
    patch.setattr(
        publishing, "format_result", lambda *given: real(*given) + " " * (known[-1] > 1500)
    )


def end_with_a_code(patch):
    """Let a run fail after all is written, where many people are counted."""
    real, known = (
        publishing.format_result,
        remember(patch, lambda one: one.counted["counted_people"]),
    )

    def say(*given):
        if known[-1] > 1 << 30:
            raise SystemExit(3)
        return real(*given)

    patch.setattr(publishing, "format_result", say)


def write_a_longer_card(patch):
    """Let a public file be one byte longer where the input has an odd number of cells."""
    real, known = publication.write_card, remember(patch, lambda one: one.cells)

    def write(card, folder):
        real(card, folder)
        with (folder / "release.json").open("a") as file:
            file.write(" " * (known[-1] % 2))

    patch.setattr(publication, "write_card", write)


LEAKS = {
    tell_rows: ("cells", "out/public/release.json"),
    tell_series: ("series", "out/public/2024-01/release.json"),
    tell_selection: ("top", "out/public/release.json"),
    tell_flows: ("flows", "out/public/flows.json"),
    tell_census: ("census", "out/public/census.json"),
    tell_households: ("households", "out/public/households.json"),
    tell_amounts: ("amounts", "out/public/amounts.json"),
    tell_amounts_series: ("amounts by year", "out/public/amounts-series.json"),
    print_people: ("cells", "stdout"),
    end_with_a_code: ("cells", "exit code"),
    write_a_longer_card: ("cells", "out/public/release.json"),
}
"""Ways to tell one bit of the input, a case in which it is told, and where."""


@pytest.mark.parametrize("leak", LEAKS)
def test_one_bit_that_leaks_is_seen(desk, monkeypatch, leak):
    name, where = LEAKS[leak]
    leak(monkeypatch)
    found = differences(desk, replace(CASES[name], variants=("even", "few rows", "extreme")))
    assert any(where in names for names, _ in found.values())


def empty(folder, variant):
    """Write a table of which no row meets the domain, in two forms."""
    rows = ["9,9,5"] if variant == "even" else [f"{x},9,{x}" for x in range(50)]
    (folder / "in.csv").write_text("x,y,n\n" + "".join(f"{row}\n" for row in rows))


def summed(folder, variant):
    """Write a table in which one label is the sum of the others, in two forms."""
    size = 3 if variant == "even" else 8
    rows = (
        f"{x},{y},{label},{count}\n"
        for x in range(size)
        for y in range(size)
        for label, count in (("p", x + 1), ("q", y + 2), ("r", x + y + 3))
    )
    (folder / "in.csv").write_text("x,y,kind,n\n" + "".join(rows))


@pytest.mark.parametrize("name", ["no row", "a label that is a sum"])
def test_a_refusal_that_the_document_lists_says_nothing_more(desk, name):
    calls = {
        "no row": Case("publish", empty, (*CELLS, "--outside", "drop")),
        "a label that is a sum": Case(
            "publish",
            summed,
            ("in.csv", *PLACE, "--labels", "kind=p,q,r", "--column", "kind=kind", *TERMS),
        ),
    }
    one, other = (seen(desk, calls[name], variant) for variant in ("even", "half"))
    assert one == other
    assert one["exit code"] in (2, 5)
    assert not (desk / "out").exists()
