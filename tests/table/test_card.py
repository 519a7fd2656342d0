"""The card, its published JSON schema and real releases hold each other."""

import json
import random
from copy import deepcopy
from functools import cache
from pathlib import Path

import jsonschema
import pytest

import geodp
from geodp.errors import VerificationError
from geodp.io.verify.card import read_card
from geodp.mechanisms import mechanism
from geodp.table.card import Card, File, drop_written
from tests.golden.methods import KEY, grids, table_of
from tests.refusals import refuses
from tests.table.card_schema import FILES, text

GOLDEN = Path(__file__).parents[1] / "golden"
EARLIER = sorted(GOLDEN.glob("earlier/*/*/release.json"))
AMOUNTS = {
    "pyramid": {"epsilon": "1/2", "people": 1234},
    "topdown": {"rho": "1/8", "delta": "1/1000000"},
    "dawa": {"epsilon": 1},
}

HELD = {identity: (file, kind) for file, (kind, identity, _) in FILES.items()}
RELEASE = "geodp-release-2"
WRONG = {
    RELEASE: (("private",), "yes", "plain-type-wrong: private"),
    "geodp-amounts-1": (("private",), "no", "plain-type-wrong: private"),
    "geodp-amounts-series-1": (("step",), "week", "plain-type-wrong: step"),
    "geodp-census-1": (("contradictions",), "hidden", "plain-type-wrong: contradictions"),
    "geodp-flows-1": (("decay", "unit"), "miles", "plain-type-wrong: unit"),
    "geodp-households-1": (("max_size",), 1, "plain-type-wrong: max_size"),
    "geodp-selection-1": (("counts",), [9], r"plain-key-unknown: \bcounts\b"),
    "geodp-series-1": (("step",), "week", "plain-type-wrong: step"),
}
"""What no card of a schema says, and how it is refused."""


@cache
def validator(schema=RELEASE):
    file, _ = HELD[schema]
    found = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def written(folder, release, name="n"):
    release.write(folder, name=name)
    return json.loads((folder / "public" / "release.json").read_text(encoding="utf-8"))


def hold(plain):
    """The card's class and the schema take it, and it comes back as it was."""
    _, kind = HELD[plain["schema"]]
    validator(plain["schema"]).validate(plain)
    card = kind.from_json(plain)
    assert json.dumps(card.to_json()) == json.dumps(plain)
    return card


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_schema_is_that_of_the_classes(file):
    assert file.read_text(encoding="utf-8") == text(file), "python -m tests.table.card_schema"


@pytest.mark.parametrize("schema", HELD)
def test_the_pinned_cards_of_every_kind_are_held(schema):
    files = GOLDEN.glob("releases/*/public/**/*.json")
    cards = [json.loads(file.read_text("utf-8")) for file in files]
    cards = [card for card in cards if card.get("schema") == schema]
    for card in cards:
        hold(card)
    (*above, last), value, said = WRONG[schema]
    wrong = next(card for card in cards if at(card, above) is not None)
    at(wrong, above)[last] = value
    assert not validator(schema).is_valid(wrong)
    with refuses(VerificationError, said):
        HELD[schema][1].from_json(wrong)


@pytest.mark.parametrize("path", EARLIER, ids=lambda path: f"{path.parts[-3]}-{path.parts[-2]}")
def test_cards_of_earlier_versions_are_read(path):
    hold(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("where", grids())
def test_cards_of_every_form_of_grid_are_held(where):
    """Without files: these are the same for all grids, and written below."""
    grid = grids()[where]
    for method, amounts in AMOUNTS.items():
        if mechanism(method).unsupported(grid) is None:
            key = geodp.NoiseKey(KEY)
            release = geodp.publish(
                table_of(grid), method=method, contribution=1, key=key, **amounts
            )
            hold({**release.card().to_json(), **OWN})


OWN = {"name": "n", "release_id": "0" * 16, "files": [], "left_out": []}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A card of a release with attributes, an isolated cell, a settlement, areas and files."""
    grid = grids()["official, attribute above"]
    key = geodp.NoiseKey(KEY)
    release = geodp.publish(table_of(grid), epsilon=1, people=500.0, contribution=1, key=key)
    return written(tmp_path_factory.mktemp("release") / "out", release)


def test_a_written_card_is_that_of_the_release(plain):
    card = hold(plain)
    assert card.listed["n.csv"] == plain["files"][0]["sha256"]
    assert "release_id" not in drop_written(plain)
    assert Card.from_json(plain) == card


def steps(value, path=()):
    """Paths to all values of a plain one."""
    yield path
    names = (
        value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    )
    for name in names:
        yield from steps(value[name], (*path, name))


def at(value, path):
    for step in path:
        value = value[step]
    return value


def refused(card):
    """Whether the class refuses it, and whether the schema does."""
    try:
        Card.from_json(card)
    except VerificationError:
        return True, not validator().is_valid(card)
    return False, not validator().is_valid(card)


CELLS = ("expected_error", "cells")


def test_unknown_and_missing_names_are_refused_everywhere(plain):
    open_to_all = {("domain", "axes"), ("mechanism", "settings")}
    for path in steps(plain):
        inner = at(plain, path)
        if not isinstance(inner, dict) or path in open_to_all:
            continue
        more = deepcopy(plain)
        at(more, path)["nobody's"] = 1
        assert refused(more) == (True, True), path
        for name in inner:
            less = deepcopy(plain)
            del at(less, path)[name]
            optional = path[:1] == ("files",) and name not in ("name", "what", "sha256")
            # Earlier versions had none.
            optional |= (*path, name) in (("expected_error", "cells"), ("guarantee", "assumptions"))
            optional |= (*path, name) in ((*CELLS, "tree"), (*CELLS, "high"))
            optional |= path[:2] == ("guarantee", "assumptions") and name == "source"
            assert refused(less) == ((False, False) if optional else (True, True)), (path, name)


@pytest.mark.law
def test_class_and_schema_agree_on_values_of_any_type(plain):
    values = [None, True, -1, 0, 1.5, "", "x", "1/2", "1e9", [], ["x"], {}, {"x": 1}]
    randomly, found = random.Random(5), set()
    for path in [path for path in steps(plain) if path]:
        for value in randomly.sample(values, 2):
            changed = deepcopy(plain)
            at(changed, path[:-1])[path[-1]] = value
            one, two = refused(changed)
            assert one == two, (path, value)
            found.add(one)
    assert found == {True, False}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("guarantee", "epsilon"), "1e999", "plain-type-wrong: card.guarantee.epsilon.*form"),
        (("guarantee", "contribution"), 0, r"plain-type-wrong: card.guarantee.contribution.*\b1\b"),
        (("guarantee", "enforced"), 1, "plain-type-wrong: card.guarantee.enforced"),
        (("domain", "cells"), "9", "plain-type-wrong: card.domain.cells.*whole number"),
        (("domain", "places", 0, "bounds"), [0, 1], r"plain-type-wrong: bounds.*\b4\b"),
        (("domain", "order"), "Hilbert", "plain-type-wrong: card.domain.order.*known"),
        (("mechanism", "whole"), None, "plain-type-wrong: card.mechanism.whole"),
        (("mechanism", "settings", "passes"), [1], "plain-type-unknown: passes"),
        (("expected_error", "blocks", 0, "largest"), -1.0, r"plain-type-wrong: largest.*\b0\b"),
        (("files", 0, "sha256"), "0" * 63, r"plain-type-wrong: card.files\[0\].sha256.*form"),
        (("files", 0, "rows"), "many", r"plain-type-wrong: card.files\[0\].rows.*whole number"),
        (("files", 0, "\x1b[2J"), 1, r"plain-key-unknown: card.files\[0\].\\x1b\[2J"),
        (("name",), "a/b", "plain-type-wrong: card.name.*form"),
        (("schema",), "geodp-release-3", "plain-type-wrong: card.schema.*known"),
        (("budget",), {"variant": "pure"}, "plain-key-missing: card.budget.ledger"),
        (("private",), "yes", "plain-type-wrong: card.private"),
    ],
)
def test_a_wrong_card_is_refused_where_it_is_wrong(plain, tmp_path, path, value, said):
    wrong = deepcopy(plain)
    at(wrong, path[:-1])[path[-1]] = value
    with refuses(VerificationError, said):
        Card.from_json(wrong)
    assert not validator().is_valid(wrong)
    (tmp_path / "release.json").write_text(json.dumps(wrong), encoding="utf-8")
    with refuses(VerificationError, "card-schema-unknown" if path == ("schema",) else said):
        read_card(tmp_path)


@pytest.mark.parametrize("plain", [None, [], "card", 3, {}])
def test_what_is_no_card_is_refused(plain):
    with refuses(
        VerificationError,
        r"plain-key-missing|plain-type-wrong: card( is not an object|\.schema is missing)",
    ):
        Card.from_json(plain)


def test_values_are_frozen():
    file = File(name="a", what="b", sha256="0" * 64)
    with pytest.raises(AttributeError):
        file.name = "c"
