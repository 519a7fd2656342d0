"""What is asked of tables on grids of every form, and what must be refused before any charge."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import geodp
from geodp import select
from geodp.errors import UsageError
from geodp.grid.coarsen import Coarsening
from geodp.io.folder.stopping import begin, hold_stops, request_stop
from geodp.io.verify import verify_release
from geodp.io.verify.verify import verify
from geodp.kinds.selection.card import SelectionCard
from geodp.kinds.selection.mechanisms.permute_and_flip import PermuteAndFlip
from geodp.kinds.selection.question import Quantile, Top, count_along
from geodp.kinds.selection.selected import StagedSelection, prepare, selection_digest
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from geodp.release.transaction import Prepared
from geodp.tools.audit.threshold import charge_threshold, sampled_threshold
from tests.grids import FORMS, cells_of
from tests.refusals import refuses

SURE = {"epsilon": 10**6, "contribution": 1}
"""So much that the best candidate is always drawn."""

GRID = geodp.Grid.regular((8, 8))
TABLE = geodp.CountTable.from_dense(np.arange(64).reshape(8, 8), GRID)


def table_on(grid, seed=6):
    """A few cells with counts that all differ."""
    keys = np.array(sorted(cells_of(grid)), np.uint64)
    draw = np.random.default_rng(seed)
    some = np.sort(draw.permutation(keys)[: max(1, keys.size // 3)])
    counts = draw.permutation(some.size) * 10 + 11
    return geodp.CountTable.from_keys(grid, some, counts)


def ask(question, table=TABLE, mechanism="permute-and-flip", **given):
    """Release the answer to a question, as commands of other features do."""
    terms = {name: given.pop(name) for name in ("epsilon", "contribution")}
    return prepare(table, question, Request(terms=Terms.of(**terms), **given), mechanism).release()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
def test_the_largest_cells_of_every_form_of_grid(form, mechanism):
    table = table_on(FORMS[form])
    k = min(3, table.key.size)
    found = select.top_cells(table, k, mechanism=mechanism, **SURE).chosen
    best = np.argsort(-table.count)[:k]
    index = table.grid.decode(table.key[best])
    for at, answer in enumerate(found):
        expected = []
        for number, place in enumerate(table.grid.places):
            row, col = index[2 * number, [at]], index[2 * number + 1, [at]]
            expected += place.format(row, col).tolist()
        spatial = 2 * len(table.grid.places)
        expected += index[spatial : spatial + len(table.grid.extents), at].tolist()
        labels = index[spatial + len(table.grid.extents) :, at]
        pairs = zip(table.grid.attributes, labels, strict=True)
        expected += [attribute.labels[label] for attribute, label in pairs]
        assert list(answer.values()) == expected


@pytest.mark.parametrize("form", FORMS)
def test_whole_domains_are_named_once_each_cell(form, tmp_path):
    grid = FORMS[form]
    table = table_on(grid)
    found = select.top_cells(table, grid.size, epsilon=1, contribution=1)
    assert len({tuple(one.items()) for one in found.chosen}) == grid.size
    found.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out"))
    alone = list(verify_release.verify(str(tmp_path / "out")))
    assert [name for name, _, _ in alone] == [*verify_release.SELECTION_CHECKS]
    assert all(ok for _, ok, _ in alone)


@pytest.mark.parametrize("form", ["official", "official, attribute above", "mask", "pairs"])
def test_the_largest_areas(form):
    table = table_on(FORMS[form])
    level = "jis:primary" if "official" in form else "2"
    onto = Coarsening.of(table.grid, level)
    coarse = onto.grid.encode(onto.index(table.grid.decode(table.key)))
    sums = {key: int(table.count[coarse == key].sum()) for key in coarse.tolist()}
    best = max(sums, key=sums.get)
    areas = geodp.CountTable.from_keys(onto.grid, [best], [1])
    (found,) = select.top_cells(table, 1, level=level, **SURE).chosen
    assert found == select.top_cells(areas, 1, **SURE).chosen[0]


def test_the_largest_regions():
    table = table_on(FORMS["regions, attributes under"])
    hierarchy = table.grid.hierarchy
    index = table.grid.decode(table.key)[:2]
    at = [hierarchy.cell.T.tolist().index(cell) for cell in index.T.tolist()]
    for number, level in enumerate(hierarchy.levels):
        region = hierarchy.region[number, at]
        best = int(np.argmax(np.bincount(region, weights=table.count)))
        (found,) = select.top_cells(table, 1, level=level, **SURE).chosen
        assert list(found) == list(hierarchy.levels[: number + 1])
        assert found[level] == hierarchy.codes[number][best]
    every = len(hierarchy.codes[1])
    assert len(select.top_cells(table, every, level="city", **SURE).chosen) == every
    with refuses(UsageError, "region-level-unknown"):
        select.top_cells(table, 1, level="country", **SURE)


@pytest.mark.parametrize(("q", "row"), [("1/10", 2), ("1/2", 5), (0.9, 7)])
def test_quantiles_of_rows(q, row):
    people = count_along(TABLE, 0)
    assert people.tolist() == TABLE.to_dense().sum(axis=1).tolist()
    assert int(np.searchsorted(np.cumsum(people), float(F(str(q))) * people.sum())) == row
    (found,) = ask(Quantile(F(str(q)), "row"), **SURE).chosen
    assert found == {"axis": "row", "index": row}


def test_a_quantile_of_an_attribute_has_its_label():
    table = table_on(FORMS["official, attribute below"])
    (found,) = ask(Quantile(F(1, 2), "age"), table, **SURE).chosen
    assert found["label"] == ("young", "middle", "old")[found["index"]]


def test_large_counts_decide_by_one_person():
    dense = np.zeros((8, 8), np.int64)
    dense[2, 3], dense[4, 4] = 2**58, 2**58 + 1
    table = geodp.CountTable.from_dense(dense, GRID)
    assert select.top_cells(table, 1, **SURE).chosen == ({"code": "4_4"},)


def test_a_selection_of_the_same_sample_is_refused_before_the_charge(tmp_path, key, monkeypatch):
    ledger = Ledger.create(tmp_path / "samples.ledger")
    ledger.add_dataset("census", ApproximateDP(F(4), F(1, 1000)))
    into = {"epsilon": "1/2", "contribution": 1, "ledger": ledger, "dataset": "census", "key": key}
    assert select.top_cells(TABLE, 2, **into).charge.earlier == 0
    charge_threshold(sampled_threshold(10, "0.2", delta="1e-6"), ledger, "census", "autumn")
    before, drawn = ledger.check(), []
    monkeypatch.setattr(PermuteAndFlip, "draw", lambda *_: drawn.append(1))
    for records, said in (
        (None, "records-undeclared: --records all"),
        ("same-sample", "sample-tells-who"),
        ("x", "records-unknown"),
    ):
        for question in (
            lambda **more: select.top_cells(TABLE, 3, **more),
            lambda **more: ask(Quantile(F(1, 2), "row"), **more),
        ):
            with refuses(UsageError, said):
                question(records=records, **into)
    assert (ledger.check(), drawn) == (before, [])
    monkeypatch.undo()
    found = select.top_cells(TABLE, 3, records="all", **into)
    assert [one.loss for one in ledger.charges("census")][2:] == [PureDP(F(1, 2))]
    assert found.charge.spent.epsilon > F(1, 2) + F(13, 10)
    with refuses(UsageError, "records-need-ledger"):
        select.top_cells(TABLE, 1, records="all", **SURE)


def test_everything_that_is_asked_is_part_of_the_identity():
    def of(question, table=TABLE, mechanism="permute-and-flip", **terms):
        request = Request(terms=Terms.of(**{"epsilon": 1, "contribution": 1, **terms}))
        return selection_digest(table, prepare(table, question, request, mechanism).design.shown)

    other = geodp.CountTable.from_dense(np.arange(64).reshape(8, 8) + 1, GRID)
    found = [
        of(Top(3)),
        of(Top(4)),
        of(Top(3, "2")),
        of(Top(3), mechanism="exponential"),
        of(Top(3), epsilon=2),
        of(Top(3), neighbours="replace-one"),
        of(Top(3), contribution=2),
        of(Top(3), unit="trip"),
        of(Top(3), table=other),
        of(Quantile(F(1, 2), "row")),
        of(Quantile(F(1, 3), "row")),
        of(Quantile(F(1, 2), "col")),
    ]
    assert len(set(found)) == len(found)
    assert of(Top(3)) == found[0]


def test_the_card_says_what_is_promised_and_no_count(tmp_path):
    found = select.top_cells(TABLE, 2, epsilon=1, contribution=1)
    card = found.card()
    assert card.false_hot_spots.count == pytest.approx(2 * np.log(64))
    assert "at least one row" in " ".join(card.guarantee.not_protected)
    assert card.guarantee.contribution_bound == "vouched for by the operator"
    found.write(tmp_path / "out", restricted={"people": 2016})
    public = (tmp_path / "out" / "public" / "release.json").read_text()
    assert "2016" not in public
    assert SelectionCard.from_json(json.loads(public)) == card
    assert json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())["people"] == 2016


def test_budgets_of_any_size_are_drawn_at_once():
    wide = geodp.Grid.regular((1 << 31, 1 << 31))
    table = geodp.CountTable.from_index(wide, [[5, 6], [7, 3]], [2**50, 1])
    for mechanism in ("permute-and-flip", "exponential"):
        terms = {"contribution": 1, "mechanism": mechanism}
        nearly_none = select.top_cells(table, 4, epsilon="1e-60", **terms).chosen
        assert {"code": "5_7"} not in nearly_none
        assert select.top_cells(table, 1, epsilon="1e60", **terms).chosen == ({"code": "5_7"},)


def test_a_stop_waits_until_what_was_charged_is_there(tmp_path, ledger, monkeypatch):
    def stopped(self):
        request_stop(KeyboardInterrupt())
        return released(self)

    released = Prepared.release
    monkeypatch.setattr(Prepared, "release", stopped)
    begin()
    terms = Terms.of(epsilon="1/2", contribution=1)
    prepared = prepare(TABLE, Top(2), Request(terms=terms, ledger=ledger, dataset="census"))
    with (
        pytest.raises(KeyboardInterrupt),
        hold_stops(),
        StagedSelection.stage(tmp_path / "out", overwrite=False) as place,
    ):
        place.write(prepared.release().card(), {})
    begin()
    assert all(check.ok for check in verify(tmp_path / "out"))
    assert len(ledger.charges("census")) == 1


ANSWERS = {
    "permute-and-flip": "077c379897fbe8cb5a57d9c1a6d504cee98bde376a5032098a996abb2d650dd2",
    "exponential": "3d0cf7f80af9b07785b9f0298352613c6851e80428fa0b3290d8efb69a422887",
}
"""Answers of version 1, of `top` 2, under one key of `NOISE_FORMAT` 3 and one label of
identities: SHA-256, by mechanism."""


@pytest.mark.parametrize("mechanism", ANSWERS)
def test_answers_under_a_key_stay_as_they_are(mechanism):
    said = []
    for name in ("padded", "mask, attributes", "regions, attributes under", "official"):
        table = table_on(FORMS[name])
        terms = {"contribution": 2, "mechanism": mechanism, "key": geodp.NoiseKey(bytes(32))}
        said += select.top_cells(table, 9, epsilon="1/50", **terms).chosen
        terms["epsilon"] = "1/50"
        said += [one["index"] for one in ask(Quantile(F(1, 3), "row"), table, **terms).chosen]
    text = json.dumps([dict(one) if isinstance(one, dict) else one for one in said])
    assert hashlib.sha256(text.encode()).hexdigest() == ANSWERS[mechanism]


def change(folder, **changed):
    """Change a written card as a stranger would."""
    path = folder / "public" / "release.json"
    plain = json.loads(path.read_text())
    for name, value in changed.items():
        *way, last = name.split("__")
        inner = plain
        for step in way:
            inner = inner[step]
        inner[last] = value
    path.write_text(json.dumps(plain))


OTHERS = {
    "quantile": lambda: ask(Quantile(F(1, 3), "age"), table_on(FORMS["attribute"]), **SURE),
    "areas": lambda: select.top_cells(TABLE, 2, level=2, **SURE),
    "cells": lambda: select.top_cells(table_on(FORMS["mask"]), 2, **SURE),
}


def test_a_selection_needs_epsilon():
    with refuses(UsageError, "selection-without-epsilon"):
        select.top_cells(TABLE, 1, epsilon=None, contribution=1)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("more", [{"rounds": 3}, {"sensitivity": "1/9"}, {"contribution": 7}])
def test_a_guarantee_of_another_question_is_caught(tmp_path, name, more):
    OTHERS[name]().write(tmp_path / "out")
    promise = json.loads((tmp_path / "out" / "public" / "release.json").read_text())["guarantee"]
    promise |= more
    each = F(promise["epsilon"]) / promise["rounds"] / F(promise["sensitivity"])
    promise["rate"] = str(each / (2 - promise["monotone"]))
    change(tmp_path / "out", guarantee=promise)
    bad = {check.name for check in verify(tmp_path / "out") if not check.ok}
    assert bad == {"guarantee", "checksums", "release id"}


def test_a_question_without_its_setting_is_caught(tmp_path):
    OTHERS["quantile"]().write(tmp_path / "out")
    change(tmp_path / "out", question__q=None)
    assert "guarantee" in {check.name for check in verify(tmp_path / "out") if not check.ok}


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("quantile", {"chosen": [{"axis": "row", "index": 0}]}),
        ("quantile", {"chosen": [{"axis": "age", "index": 7, "label": "old"}]}),
        ("quantile", {"chosen": [{"axis": "age", "index": 0, "label": "x"}]}),
        ("quantile", {"question__candidates": 64}),
        ("areas", {"chosen": [{"code": "1_1"}, {"code": "4_1"}]}),
        ("areas", {"question__candidates": 64}),
        ("areas", {"chosen": [{"code": "1_1"}]}),
        ("areas", {"chosen": [{"code": "1_1"}, {"code": "1_1"}]}),
        ("areas", {"chosen": [{"code": "1_1"}, {"place": "2_1"}]}),
        ("cells", {"question__candidates": 64}),
    ],
)
def test_an_answer_that_is_no_candidate_is_caught(tmp_path, name, changed):
    OTHERS[name]().write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out"))
    change(tmp_path / "out", **changed)
    bad = {check.name for check in verify(tmp_path / "out") if not check.ok}
    assert {"answers"} < bad <= {"answers", "checksums", "release id", "guarantee"}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda t: select.top_cells(t, 0, **SURE), r"k-out-of-range: \b64\b"),
        (lambda t: select.top_cells(t, 65, **SURE), r"k-out-of-range: \b64\b"),
        (lambda t: select.top_cells(t, 1.5, **SURE), "k-out-of-range"),
        (lambda t: select.top_cells(t, True, **SURE), "k-out-of-range"),
        (lambda t: select.top_cells(t, 1, epsilon=1), "contribution-unstated"),
        (lambda t: select.top_cells(t, 1, mechanism="loud", **SURE), "selector-unknown"),
        (lambda t: select.top_cells(t, 1, level="basic", **SURE), "coarser-cells-form"),
        (lambda t: select.top_cells(t, 1, key=b"k", **SURE), "key-expected"),
        (lambda t: select.top_cells(t.to_dense(), 1, **SURE), "table-expected"),
        (lambda t: ask(Quantile(F(1), "row"), t, **SURE), "quantile-out-of-range"),
    ],
)
def test_what_makes_no_sense_is_refused(call, said):
    with refuses(UsageError, said):
        call(TABLE)


def test_a_bound_of_the_reader_is_taken_as_it_is():
    table = geodp.CountTable.from_keys(GRID, [1, 2], [5, 9], bound=ContributionBound(4, "geodp"))
    found = select.top_cells(table, 1, epsilon=1)
    assert (found.event.contribution, found.event.enforced) == (4, True)
    with refuses(UsageError, "contribution-below-table"):
        select.top_cells(replace(table), 1, epsilon=1, contribution=3)
