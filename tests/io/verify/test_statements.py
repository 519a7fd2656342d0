"""Every value of a card or an index follows from others, or nothing can contradict it."""

import json
import shutil
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.io.verify.verify import verify
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.release.simulated_cells import errors_of
from tests.features.amounts.made import EDGES
from tests.features.amounts.made import publish as publish_amounts
from tests.features.flows.test_publish import publish as publish_flows
from tests.features.households.test_publish import publish as publish_households
from tests.features.households.test_publish import sizes_on
from tests.io.verify.forging import change, list_leaves, show, sign, write_json

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
        "gaussian": geodp.publish(plain, method="laplace", **terms),
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


OFFICE_SAYS = {f"metadata.{name}" for name in OFFICE}
"""Only the office knows."""

INPUT = {"guarantee.not_protected.*", "reading.form"}
"""Facts on how the input was read, which is in no file; what the guarantee says is compared."""

GUESS = {"expected_error.floor.people"}
"""The operator's guess of the people, which is public and need not be right."""

VERSION = {"software.version"}
"""A card of another version has the words of that version, which are not known."""

ORDER = {"domain.order.*.*"}
"""Any order of keys is possible, and which one it is decides on nothing but the order of rows."""

ALWAYS = VERSION | INPUT

CARDS = {
    ("counts", "release.json"): OFFICE_SAYS | ALWAYS | GUESS | ORDER,
    ("parts", "release.json"): ALWAYS | GUESS,
    ("gaussian", "release.json"): ALWAYS | ORDER,
    ("series", "2025/release.json"): set(),
    ("flows", "origins/release.json"): INPUT,
    ("persons", "persons/release.json"): INPUT,
    ("households", "sizes/release.json"): INPUT,
    ("amounts", "count/release.json"): set(),
    ("series", "series.json"): VERSION,
    ("flows", "flows.json"): set(),
    ("persons", "households.json"): set(),
    ("households", "households.json"): set(),
    ("amounts", "amounts.json"): set(),
}
"""Values that nothing contradicts, by card or index."""

WITH_IDS = ("written again", "measurements", "shared files", "both counts", "table")
"""Checks of files that have the id of the release in them, which a forger would write anew."""


def survivors(public, file, failing):
    """List the values of a document whose change makes no check fail."""
    whole = json.loads((public / file).read_text(encoding="utf-8"))
    keep = public.parent / "keep"
    shutil.copytree(public, keep)
    seen, left = {}, set()
    for path in list_leaves(whole):
        name = show(path)
        # Digests and ids are written anew; of a list, two values stand for all.
        seen[name] = seen.get(name, 0) + 1
        if path[-1] in ("sha256", "card_sha256", "release_id") or seen[name] > 2:
            continue
        write_json(public / file, change(whole, path))
        try:
            sign(public)
            if not failing(public):
                left.add(name)
        except (ValueError, LookupError, OSError):
            pass  # not even signed, as the files of such a release are missing
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
    return [name for name, text in told if name not in WITH_IDS and not is_of_ids(text)]


def is_of_ids(text):
    """Whether a table failed only as its files have the id of another card."""
    parts = text.split("; ")
    return bool(parts) and all(part.partition(": ")[0] in WITH_IDS for part in parts)


@pytest.mark.parametrize(("kind", "file"), CARDS, ids="-".join)
def test_every_value_of_a_card_follows_from_others(kind, file, copied):
    public = copied(kind)
    assert fails(public) == []
    assert survivors(public, file, fails) == CARDS[kind, file]
