"""Every value of a card or an index follows from others, or nothing can contradict it."""

import gc
import json
import re
import shutil
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.io.verify import verify_release
from geodp.io.verify.verify import verify
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from geodp.release.simulated_cells import errors_of
from tests.io.verify.forging import change, list_leaves, show, sign, write_json
from tests.kinds.amounts.made import EDGES
from tests.kinds.amounts.made import publish as publish_amounts
from tests.kinds.flows.test_publish import publish as publish_flows
from tests.kinds.households.test_publish import publish as publish_households
from tests.kinds.households.test_publish import sizes_on

GRID = geodp.Grid.mesh("jis:half", bounds=(139.7, 35.6, 139.8, 35.7))
OFFICE = {
    "title": "T",
    "description": "D",
    "publisher": "P",
    "contact": "C",
    "licence": "L",
    "source": "S",
    "reference_date": "2020-10-01",
    "language": "en",
    "display_below": 5,
}


def write_worlds(folder):
    """A small release of every kind, by name."""
    count = np.random.default_rng(1).integers(0, 60, GRID.shape)
    plain = geodp.CountTable.from_dense(count, GRID.with_official_order())
    labels = GRID.with_attribute("sex", ["f", "m"])
    parts = geodp.CountTable.from_dense(np.stack([count, count], 2), labels)
    ledger = Ledger.create(folder / "ledger")
    ledger.add_dataset("census", PureDP(Fraction(10)))
    # A release with a fixed key has no place in a ledger.
    charged = {"ledger": ledger, "dataset": "census", "key": None}
    terms = {"epsilon": 1, "contribution": 1, "key": NoiseKey(bytes(range(32)))}
    made = {
        "counts": geodp.publish(plain, people=5000, metadata=OFFICE, **terms | charged),
        "parts": geodp.publish(parts, people=5000, **terms),
        "laplace": geodp.publish(plain, method="laplace", **terms),
        "series": geodp.publish_series([plain] * 2, times=["2024", "2025"], person="all", **terms),
        "flows": publish_flows(),
        "persons": publish_households(by_size=sizes_on(), protect="person"),
        "households": publish_households(by_size=sizes_on(), protect="household"),
        "amounts": publish_amounts(classes=EDGES),
    }
    for name, release in made.items():
        release.write(folder / name)
    return folder


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    return write_worlds(tmp_path_factory.mktemp("worlds"))


OFFICE_SAYS = {f"metadata.{name}" for name in OFFICE if name != "reference_date"}
"""Only the office knows; a date has a form."""

LEDGER = {f"budget.{name}" for name in ("ledger", "dataset", "earlier_releases", "sequence")}
"""Only who has the ledger knows; amounts and unit are those of the guarantee."""

INPUT = {"guarantee.not_protected.*"}
"""Facts on how the input was read, which is in no file; what the guarantee says is compared."""

COLUMNS = {"reading.places.x", "reading.places.y", "domain.places.*.first.*"}
"""Names of columns of the input, and where codes begin, which a grid without codes does not use."""

GUESS = {"expected_error.floor.people"}
"""The operator's guess of the people, which is public and need not be right."""

VERSION = {"software.version"}
"""A card of another version has the words of that version, which are not known."""

ALWAYS = VERSION | INPUT

CARDS = {
    ("counts", "release.json"): OFFICE_SAYS | LEDGER | ALWAYS | GUESS,
    ("parts", "release.json"): ALWAYS,
    ("laplace", "release.json"): ALWAYS,
    ("series", "2025/release.json"): INPUT,
    ("flows", "origins/release.json"): INPUT,
    ("persons", "persons/release.json"): INPUT,
    ("households", "sizes/release.json"): INPUT,
    ("amounts", "count/release.json"): COLUMNS,
    ("series", "series.json"): set(),
    ("flows", "flows.json"): set(),
    ("persons", "households.json"): set(),
    ("households", "households.json"): set(),
    ("amounts", "amounts.json"): set(),
}
"""Values that nothing else contradicts, by card or index: no others may be changed unnoticed."""

OTHER_FILES = re.compile("other (joint )?files than")

WITH_IDS = ("written again", "measurements", "shared files", "joint files")
"""Checks of files that have the id of the release in them, which a forger would write anew."""


def survivors(public, file, failing, step=1):
    """List the values of a document, or one of ``step``, whose change makes no check fail."""
    whole = json.loads((public / file).read_text(encoding="utf-8"))
    keep = public.parent / "keep"
    shutil.copytree(public, keep)
    left, named = set(), {}
    for path in list_leaves(whole):
        named.setdefault(show(path), []).append(path)
    # Of a list, its first and its last value stand for all.
    ends = [
        (one, path) for one, some in named.items() for path in dict.fromkeys(some[:1] + some[-1:])
    ]
    for name, path in ends[::step]:
        # Digests and ids are written anew.
        if path[-1] in ("sha256", "card_sha256", "release_id"):
            continue
        write_json(public / file, change(whole, path))
        try:
            sign(public)
            if not failing(public):
                left.add(name)
        except (ValueError, LookupError, OSError):
            pass  # not even signed, as the files of such a release are missing
        gc.collect()  # closes files of checks that failed: Windows removes no open one
        shutil.rmtree(public)
        shutil.copytree(keep, public)
    return left


@pytest.fixture
def copied(worlds, tmp_path):
    def copy(kind):
        shutil.copytree(worlds / kind / "public", tmp_path / "public")
        return tmp_path / "public"

    return copy


def fails(public):
    checks = [check for check in verify(public, errors_of) if not check.ok]
    # A table of an index is one check, which tells those that failed there.
    told = [(check.name, check.detail) for check in checks]
    return [name for name, text in told if OTHER_FILES.search(text) or not is_of_ids(name, text)]


def is_of_ids(name, text):
    """Whether a check, or those of a table, failed only as files have the id of another card."""
    parts = [name] if name in WITH_IDS else [part.partition(": ")[0] for part in text.split("; ")]
    return {*parts} <= {*WITH_IDS}


QUICK = [("counts", "release.json", 6), ("series", "series.json", 3)]
"""Cards that every run looks at, and how many of their values it changes: one of so many."""


@pytest.mark.parametrize(
    ("kind", "file", "step"),
    [*QUICK, *(pytest.param(*one, 1, marks=pytest.mark.law) for one in CARDS)],
)
def test_every_value_of_a_card_follows_from_others(kind, file, step, copied):
    public = copied(kind)
    part = file.rpartition("/")[0]

    def fails_there(public):
        # Tables are verified only if their index is right, whose joint files have other ids now.
        return fails(public) or fails(public / part)

    assert fails_there(public) == []
    assert survivors(public, file, fails_there, step) <= CARDS[kind, file]


FOUND_ALONE = {
    "in_words": ("guarantee", "in_words"),
    "private": ("private",),
    "spends": ("guarantee", "spends"),
    "neighbours": ("guarantee", "neighbours"),
    "not_protected": ("guarantee", "not_protected", 1),
    "assumptions": ("guarantee", "assumptions", 0, "statement"),
    "domain": ("guarantee", "assumptions", 1, "statement"),
    "contribution_bound": ("guarantee", "contribution_bound"),
    "noise_scale": ("guarantee", "noise_scale"),
    "noise_key": ("guarantee", "noise_key"),
    "contribution": ("guarantee", "contribution"),
    "unit": ("guarantee", "unit"),
    "spec": ("mechanism", "spec"),
    "values": ("mechanism", "values"),
    "margin": ("expected_error", "blocks", 0, "margin_95"),
    "errors": ("expected_error", "meaning"),
    "holds": ("expected_error", "holds"),
    "isolated": ("expected_error", "isolated_cell", "meaning"),
}
"""Values of a card that the script of the standard library alone compares, too."""

PLACES = {"counts": "", "series": "2025/", "flows": "origins/", "persons": "persons/"}


def alone(public):
    return [name for name, ok, _ in verify_release.verify(str(public)) if not ok]


@pytest.mark.parametrize("kind", PLACES)
def test_the_script_finds_what_follows_by_arithmetic_and_fixed_sentences(kind, copied):
    public, file = copied(kind), f"{PLACES[kind]}release.json"
    whole = json.loads((public / file).read_text(encoding="utf-8"))
    assert alone(public) == []
    errors = whole["expected_error"]
    # Without closed forms errors are worded otherwise; without a clamp no cell is isolated.
    blank = set() if errors["blocks"] else {"expected_error"}
    blank |= set() if errors["isolated_cell"] else {"isolated_cell"}
    for path in FOUND_ALONE.values():
        if blank & {*path}:
            continue
        write_json(public / file, change(whole, path))
        sign(public)
        assert alone(public), path


def test_the_script_says_what_it_leaves_of_an_index(copied, capsys):
    assert verify_release.main([str(copied("flows"))]) == 0
    said = capsys.readouterr().out
    assert "not checked: Only geodp verify checks" in said
    assert "origins: counts: " in said
    assert "FAILED" not in said


@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
@pytest.mark.parametrize("contribution", [1, 7])
@pytest.mark.parametrize(
    "budget",
    [
        {"epsilon": "1/3"},
        {"epsilon": 200},
        {"rho": "1/8"},
        {"rho": "1/8", "delta": "1/1000000"},
    ],
)
@pytest.mark.parametrize("origin", ["entropy", "fixed"])
def test_the_script_words_guarantees_as_geodp_does(neighbours, contribution, budget, origin):
    terms = Terms.of(**budget, neighbours=neighbours, contribution=contribution, unit="trip")
    event = Measurement.of("pyramid", terms, 3, origin)
    described = event.describe()
    assert verify_release.promise(described) == event.statement
    assert verify_release.spends(described) == event.spends
