"""Desks and releases of every kind: one of each for all checks, and one of its own on request."""

import json
import shutil
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

import geodp
from geodp import cli, progress
from geodp.cli.maps import publish_maps
from tests.contract.desk import CHARGED, DATASET, KEPT, Desk, count_draws, require
from tests.contract.kinds import KINDS, OWN, offer_own, widen
from tests.contract.reading import Reader
from tests.contract.records import RECORDS
from tests.contract.using import LANGUAGES, LIMIT, REASON, write_page
from tests.kinds.flows.forms import sample_few_pairs
from tests.ledgers import steady_ledgers


@pytest.fixture(scope="package", autouse=True)
def installed():
    """The kind of one's own as a package offers it, with its command among the others."""
    command = cli._prepare(publish_maps(OWN))
    cli.geodp.add_command(command)
    with offer_own(), sample_few_pairs():
        yield
    del cli.geodp.commands[command.name]


@pytest.fixture(scope="package")
def kind(request, installed):
    """The kind that is checked: all checks of one kind run one after the other."""
    return KINDS[request.param]


@pytest.fixture
def desk(kind, tmp_path):
    """A desk of the kind for one check, with its files, a kept key and a ledger."""
    return Desk(tmp_path, kind)


@pytest.fixture(scope="package")
def charged(kind):
    """Words of a ledger and of a kept key; none where the round was charged."""
    return () if kind.before else (*CHARGED, *KEPT)


@pytest.fixture(scope="package")
def released(kind, charged, tmp_path_factory):
    """A desk with a release of the kind in ``out``, which no check may change.

    Its noise is that of the kept key, and the ledger was charged for it. ``done`` is what is left
    of the command.
    """
    with steady_ledgers():
        desk = Desk(tmp_path_factory.mktemp("released"), kind)
        desk.done = require(desk.publish(*charged))
    return desk


@contextmanager
def watch_progress(desk):
    """Note in ``desk.steps`` all steps that are begun, and in ``desk.shown`` streams of lines."""
    desk.steps, desk.shown = [], []
    begin = progress.begin

    def note(what, *given, **more):
        desk.steps.append(what)
        begin(what, *given, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(progress, "begin", note)
        patched.setattr(progress, "print_lines", lambda *given: desk.shown.append(given[-1]))
        yield


@pytest.fixture(scope="package")
def replayed(charged, released, tmp_path_factory):
    """A desk with ``released`` replaced by the same release once more, as its ledger says.

    The command was quiet, and had all options that say how it is carried out; ``before`` is the
    number of the folder that was replaced.
    """
    desk = released.moved(tmp_path_factory.mktemp("replayed") / "desk")
    desk.before = (desk.folder / "out").stat().st_ino
    more = (*desk.known("--profile"), *desk.known("--memory", "1GiB"))
    with watch_progress(desk):
        desk.done = require(desk.run("--quiet", *desk.words(*charged, *more, "--overwrite")))
    return desk


@pytest.fixture(scope="package")
def another(kind, charged, released, tmp_path_factory):
    """A desk with a release of other inputs, under the same key and charged after ``released``.

    The inputs were checked before, in the folder of the release. ``drawn`` are the fingerprints of
    what was drawn.
    """
    desk = Desk(tmp_path_factory.mktemp("another"), kind.thin())
    shutil.copy(released.folder / "ledger", desk.folder / "ledger")
    if desk.known("--check"):
        require(desk.publish("--check"))
    with watch_progress(desk), count_draws() as desk.drawn:
        desk.done = require(desk.publish(*charged))
    return desk


OFFICE = {
    "title": "Residents & <others>",
    "publisher": "The office",
    "contact": "maps@example.org",
    "licence": "CC-BY-4.0",
}


@pytest.fixture(scope="package")
def stated(kind, released, tmp_path_factory):
    """A desk with a release that states all that the command takes, as one JSON document.

    Metadata of the office (``office``), what it supersedes, a limit of display, and a budget of
    zero-concentrated privacy; ``more`` are the words of all but the budget. It is padded to 999
    seconds, and ``slept`` has those that were waited.
    """
    desk = Desk(tmp_path_factory.mktemp("stated"), kind)
    desk.office, desk.slept = OFFICE, []
    lines = [f"{name} = {json.dumps(text)}\n" for name, text in OFFICE.items()]
    (desk.folder / "office.toml").write_text("".join(lines), encoding="utf-8")
    gaussian = desk.known("--rho", "1", "--delta", "1e-9")
    if gaussian:
        desk.kind = replace(kind, terms=(*gaussian, *kind.terms[2:]))
    desk.more = (
        *desk.known("--metadata", desk.folder / "office.toml"),
        *desk.known("--supersedes", released.folder / "out"),
        *desk.known("--display-below", 3),
    )
    padded = desk.known("--pad-time", 999)
    with watch_progress(desk), pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "sleep", desk.slept.append)
        desk.done = require(desk.publish(*desk.more, *padded, "--json"))
    return desk


@pytest.fixture(scope="package")
def framed(kind, tmp_path_factory):
    """A desk with a release that Python made from frames, under the kept key, charged and written.

    ``release`` is what the function returned.
    """
    assert kind.in_python is not None, "geodp has no function that publishes it"
    with steady_ledgers():
        desk = Desk(tmp_path_factory.mktemp("framed"), kind)
        key = geodp.NoiseKey.from_file(desk.folder / "kept.key")
        terms = {"ledger": desk.ledger(), "dataset": DATASET, "key": key}
        desk.release = kind.in_python(kind.frames(), **terms)
        desk.release.write(desk.folder / "out")
    return desk


@pytest.fixture(scope="package")
def reader(kind, tmp_path_factory):
    """A reader of changed worlds of the kind."""
    return Reader(Desk(tmp_path_factory.mktemp("read"), kind))


@pytest.fixture(scope="package")
def persons(kind, tmp_path_factory):
    """A reader of records of persons of the kind."""
    return Reader(Desk(tmp_path_factory.mktemp("persons"), RECORDS[kind.name]))


@pytest.fixture(scope="package")
def later(kind, tmp_path_factory):
    """A desk with another release of the same files in ``out``, with noise of its own."""
    desk = Desk(tmp_path_factory.mktemp("later"), kind)
    desk.published()
    return desk


@pytest.fixture(scope="package")
def elsewhere(kind, tmp_path_factory):
    """A desk with a release of the same files on a wider map in ``out``."""
    desk = Desk(tmp_path_factory.mktemp("elsewhere"), widen(kind))
    desk.published()
    return desk


@pytest.fixture(scope="package")
def limited(kind, tmp_path_factory):
    """A desk with the release of ``released`` in ``out``, whose counts are all below its limit."""
    desk = Desk(tmp_path_factory.mktemp("limited"), kind)
    desk.published(*desk.known(*KEPT), "--display-below", LIMIT)
    return desk


@pytest.fixture(scope="package")
def withdrawn(released, tmp_path_factory):
    """A desk with a copy of the release in ``out``, withdrawn for the reason REASON."""
    desk = Desk(tmp_path_factory.mktemp("withdrawn"), released.kind)
    desk.copy(released.folder / "out", "out")
    require(desk.run("withdraw", "out", "--reason", REASON))
    return desk


@pytest.fixture(scope="package")
def pages(withdrawn):
    """The page of the withdrawn release by its language."""
    return {language: write_page(withdrawn, language) for language in LANGUAGES}
