"""The card, its published JSON schema and real releases hold each other."""

import json
import random
from copy import deepcopy
from fractions import Fraction
from functools import cache
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import VerificationError
from geodp.grid.grid import Grid
from geodp.io.verify.card import read_card
from geodp.kinds.amounts.kind import AmountsCard, AmountsSeriesCard
from geodp.kinds.flows.kind import FlowsCard
from geodp.kinds.households.kind import HouseholdsCard
from geodp.kinds.selection.card import SelectionCard
from geodp.kinds.series.kind import SeriesCard
from geodp.mechanisms import mechanism
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP
from geodp.table.card import Card, File, drop_written
from tests.golden.methods import KEY, grids, table_of
from tests.refusals import refuses
from tests.table.card_schema import FILES, text

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "earlier").glob("*/*/release.json"))
AMOUNTS = {
    "pyramid": {"epsilon": "1/2", "people": 1234},
    "topdown": {"rho": "1/8", "delta": "1/1000000"},
    "dawa": {"epsilon": 1},
}


RELEASES, OF_AMOUNTS, OF_YEARS, FLOWS, HOUSEHOLDS, SELECTIONS, SERIES = FILES


@cache
def validator(file=RELEASES):
    found = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def written(folder, release, name="n"):
    release.write(folder, name=name)
    return json.loads((folder / "public" / "release.json").read_text(encoding="utf-8"))


def hold(plain):
    """The card's class and the schema take it, and it comes back as it was."""
    validator().validate(plain)
    card = Card.from_json(plain)
    assert json.dumps(card.to_json()) == json.dumps(plain)
    return card


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_schema_is_that_of_the_classes(file):
    assert file.read_text(encoding="utf-8") == text(file), "python -m tests.table.card_schema"


def test_the_index_of_a_series_is_held_by_its_schema(tmp_path):
    table = geodp.CountTable.from_dense(np.eye(8, dtype=int) * 9, Grid.regular((8, 8)))
    terms = {"epsilon": "1/3", "delta": "1e-7", "noise": "gaussian", "person": "all"}
    found = geodp.publish_series([table] * 2, times=["2019", "2020"], contribution=1, **terms)
    found.write(tmp_path / "out")
    plain = json.loads((tmp_path / "out" / "public" / "series.json").read_text())
    validator(SERIES).validate(plain)
    assert SeriesCard.from_json(plain).to_json() == plain
    with pytest.raises(jsonschema.ValidationError):
        validator(SERIES).validate({**plain, "step": "week"})
    with refuses(VerificationError, "plain-type-wrong: step"):
        SeriesCard.from_json({**plain, "step": "week"})


@pytest.mark.parametrize("more", [{"epsilon": "1/3"}, {"rho": "1/8", "classes": (3,)}], ids=str)
def test_the_index_of_amounts_is_held_by_its_schema(tmp_path, more):
    rows = pa.table({"x": [0.5, 1.5], "y": [0.5, 0.5], "rent": [3, 8]})
    grid = Grid.regular((8, 8), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
    given = {"x": "x", "y": "y", "amount": "rent", "clip": (0, 10), "unit_of_amount": "EUR"}
    found = geodp.amounts.publish(rows, grid=grid, contribution=1, **given, **more)
    found.write(tmp_path / "out")
    plain = json.loads((tmp_path / "out" / "public" / "amounts.json").read_text())
    validator(OF_AMOUNTS).validate(plain)
    assert AmountsCard.from_json(plain).to_json() == plain
    with pytest.raises(jsonschema.ValidationError):
        validator(OF_AMOUNTS).validate({**plain, "private": "no"})
    with refuses(VerificationError, "plain-type-wrong: private"):
        AmountsCard.from_json({**plain, "private": "no"})


@pytest.mark.parametrize("amounts", [{"epsilon": "1/3"}, {"rho": "1/8", "delta": "1e-7"}], ids=str)
def test_the_index_of_a_series_of_amounts_is_held_by_its_schema(tmp_path, amounts):
    records = geodp.CountTable.from_dense(np.eye(8, dtype=int) * 9, Grid.regular((8, 8)))
    scale = geodp.amounts.Scale.of((0, 10), 1, "EUR", "rent")
    table = geodp.amounts.AmountTable(records, 4 * records.count, scale)
    terms = {"person": "one", "contribution": 1, **amounts}
    found = geodp.amounts.publish_series([table] * 2, times=["2015", "2020"], **terms)
    found.write(tmp_path / "out")
    plain = json.loads((tmp_path / "out" / "public" / "amounts-series.json").read_text())
    validator(OF_YEARS).validate(plain)
    assert AmountsSeriesCard.from_json(plain).to_json() == plain
    with pytest.raises(jsonschema.ValidationError):
        validator(OF_YEARS).validate({**plain, "step": "week"})
    with refuses(VerificationError, "plain-literal-wrong|plain-type-wrong: step"):
        AmountsSeriesCard.from_json({**plain, "step": "week"})


@pytest.mark.parametrize("amounts", [{"epsilon": "1/3"}, {"rho": "1/8", "delta": "1e-7"}], ids=str)
def test_the_index_of_persons_and_households_is_held_by_its_schema(tmp_path, amounts):
    table = geodp.CountTable.from_dense(np.eye(8, dtype=int) * 9, Grid.regular((8, 8)))
    found = geodp.households.publish(table, table, protect="person", contribution=1, **amounts)
    found.write(tmp_path / "out")
    plain = json.loads((tmp_path / "out" / "public" / "households.json").read_text())
    validator(HOUSEHOLDS).validate(plain)
    assert HouseholdsCard.from_json(plain).to_json() == plain
    with pytest.raises(jsonschema.ValidationError):
        validator(HOUSEHOLDS).validate({**plain, "max_size": 1})
    with refuses(VerificationError, "plain-type-wrong: max_size"):
        HouseholdsCard.from_json({**plain, "max_size": 1})


@pytest.mark.parametrize("amounts", [{"epsilon": "1/3"}, {"rho": "1/8", "delta": "1e-7"}], ids=str)
def test_the_index_of_flows_is_held_by_its_schema(tmp_path, amounts):
    pairs = Grid.regular((8, 8)).pairs()
    table = geodp.CountTable.from_keys(pairs, np.arange(0, 4096, 5).astype(np.uint64), [9] * 820)
    geodp.flows.publish(table, contribution=1, **amounts).write(tmp_path / "out")
    plain = json.loads((tmp_path / "out" / "public" / "flows.json").read_text())
    validator(FLOWS).validate(plain)
    assert FlowsCard.from_json(plain).to_json() == plain
    wrong = {**plain, "decay": {**plain["decay"], "unit": "miles"}}
    with pytest.raises(jsonschema.ValidationError):
        validator(FLOWS).validate(wrong)
    with refuses(VerificationError, "plain-type-wrong: unit"):
        FlowsCard.from_json(wrong)


@pytest.mark.parametrize("number", range(2))
def test_cards_of_selections_are_held_by_their_schema(number):
    table = geodp.CountTable.from_dense(np.eye(8, dtype=int) * 9, Grid.regular((8, 8)))
    terms = {"epsilon": "1/3", "contribution": 1, "key": geodp.NoiseKey(KEY)}
    found = [
        lambda: geodp.select.top_cells(table, 2, level=2, **terms),
        lambda: geodp.select.top_cells(table, 1, neighbours="replace-one", **terms),
    ][number]()
    plain = json.loads(json.dumps(found.card().to_json()))
    validator(SELECTIONS).validate(plain)
    assert SelectionCard.from_json(plain).to_json() == plain
    with pytest.raises(jsonschema.ValidationError):
        validator(SELECTIONS).validate({**plain, "counts": [9]})
    with refuses(VerificationError, r"plain-key-unknown: \bcounts\b"):
        SelectionCard.from_json({**plain, "counts": [9]})


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parts[-3]}-{path.parts[-2]}")
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


@pytest.mark.parametrize(
    "cap", [PureDP(5), ApproximateDP(5, Fraction(1, 1_000_000))], ids=["pure", "delta"]
)
def test_cards_with_a_charge_are_held(tmp_path, cap):
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", cap)
    given_ = (
        {"rho": "1/8", "delta": "1/10000000"} if isinstance(cap, ApproximateDP) else {"epsilon": 1}
    )
    table = geodp.CountTable.from_dense(np.full((8, 8), 20), Grid.regular((8, 8)))
    release = geodp.publish(
        table, method="topdown", ledger=ledger, dataset="census", **given_, contribution=1
    )
    card = hold(written(tmp_path / "out", release))
    assert card.budget.head == ledger.charges("census")[-1].hash
    assert card.budget.cap.variant == cap.variant


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
            optional |= (*path, name) == ("expected_error", "cells", "tree")
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
