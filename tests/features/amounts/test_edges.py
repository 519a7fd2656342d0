"""Edges of classes by quantiles of the records, with a charge of their own."""

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.features.amounts.edges import divide_clip, prepare_edges
from geodp.features.amounts.scale import Scale
from geodp.features.amounts.streams import AmountTable
from geodp.features.select.files import stage_selection
from geodp.features.select.mechanisms import SELECTORS
from geodp.io.verify import verify_release
from geodp.io.verify.verify import verify
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.neighbours import NEIGHBOURS
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from tests.features.amounts.made import GRID, KEY, incomes, publish, rows
from tests.refusals import refuses

READING = {"grid": GRID, "x": "x", "y": "y", "amount": "income", "unit_of_amount": "EUR"}
GIVEN = {**READING, "clip": (0, 1000), "classes": 8, "contribution": 1, "epsilon": 1}
ADD, REPLACE = NEIGHBOURS


def choose(data=None, **more):
    return geodp.amounts.choose_edges(rows() if data is None else data, **(GIVEN | more))


def records_by_class(income, edges):
    at = np.searchsorted([float(edge) for edge in edges], np.floor(income + 0.5), "right")
    return np.bincount(at, minlength=len(edges) + 1)


@pytest.mark.parametrize("classes", [2, 3, 8, 12])
def test_each_class_has_about_as_many_records_as_any_other(classes):
    choice = choose(classes=classes)
    number = records_by_class(incomes()[2], choice.edges)
    assert number.size == classes
    # A step near the mode holds some 40 of the 20,000 records.
    assert abs(number - number.mean()).max() < 150


def test_edges_are_those_of_a_release():
    choice = choose(key=KEY)
    release = publish(classes=choice.edges)
    assert release.index.amount.edges == ("0", *choice.edges, "1000")
    # Such edges were not chosen without looking at the data, and the card must not say so.
    (_, scale) = release.index.guarantee.assumptions
    assert scale.statement.endswith("or by a selection with a charge of its own, which adds to "
                                    "that of this release.")  # fmt: skip
    assert "from a selection with a charge" in release.records.card().guarantee.precondition


@pytest.mark.parametrize("seed", range(3))
def test_edges_are_distinct_and_on_their_step_whatever_the_records_are(seed):
    same = pa.table({"x": [0.5] * 50, "y": [0.5] * 50, "income": ["999"] * 50})
    for data in (rows(), same):
        key = KEY.derive(bytes([seed] * 32))
        choice = choose(data, edge_step=25, classes=39, epsilon="1/1000", key=key)
        (left_out,) = {*range(25, 1000, 25)} - {int(edge) for edge in choice.edges}
        assert len({*choice.edges}) == 38
        assert left_out
        found = [int(edge) for edge in choose(data, edge_step=50, epsilon="1/9", key=key).edges]
        assert found == sorted({*found})
        assert all(0 < edge < 1000 and edge % 50 == 0 for edge in found)


def test_an_edge_on_a_coarser_step_divides_the_amounts_themselves():
    """Amounts are not first rounded to the step of edges."""
    data = pa.table({"x": [0.5] * 200, "y": [0.5] * 200, "income": [58] * 100 + [62] * 100})
    assert choose(data, classes=2, clip=(0, 100), edge_step=20, epsilon=9).edges == ("60",)


def test_a_number_of_classes_may_be_of_numpy(tmp_path):
    given = {"edge_step": 10, "key": KEY}
    choice = choose(classes=np.int64(4), **given)
    assert choice.edges == choose(classes=4, **given).edges
    choice.selected.write(tmp_path / "out")


def test_they_are_charged_by_themselves_and_can_be_verified_and_explained(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("incomes", PureDP(Fraction(2)))
    choice = choose(epsilon="1/50", ledger=ledger, dataset="incomes")
    (charge,) = ledger.charges("incomes")
    assert charge.loss == PureDP(Fraction(1, 50))
    choice.selected.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out"))
    assert all(ok for _, ok, _ in verify_release.verify(str(tmp_path / "out")))
    opened = geodp.open(tmp_path / "out")
    assert {one["label"] for one in opened.chosen} == {*choice.edges}
    page = geodp.explain.explain(opened).to_text()
    # As on the card: an edge belongs to the class above it.
    assert "records change from one group to another, if 8 groups" in page
    assert choice.selected.card().question.in_words.endswith("begin?")
    assert "records more than the best" in page


@pytest.mark.parametrize(
    ("amounts", "options"),
    [
        (range(-500, 500), {"clip": (-500, 500), "edge_step": 10}),
        (["0.3"] * 9, {"clip": (0, 1), "step": "0.01"}),
        (["-0.25", "-0.5"] * 9, {"clip": (-1, 0), "step": "1/300", "edge_step": "1/3"}),
    ],
)
def test_any_clip_of_a_release_may_be_divided(tmp_path, amounts, options):
    """Amounts as labels are neither formulas of spreadsheets nor totals of one another."""
    n = len(amounts)
    data = pa.table({"x": [0.5] * n, "y": [0.5] * n, "income": amounts})
    choice = choose(data, **options, classes=2, epsilon=9)
    assert choice.selected.event.sensitivity == 1
    choice.selected.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out"))
    assert all(ok for _, ok, _ in verify_release.verify(str(tmp_path / "out")))
    clip, step = options["clip"], options.get("step", 1)
    release = publish(data, clip=clip, step=step, classes=choice.edges)
    assert release.index.amount.edges[1:-1] == choice.edges


def test_totals_are_looked_for_among_the_labels_that_were_read():
    grid = GRID.with_attribute("sex", ["T", "M", "F"])
    data = rows(100).append_column("sex", pa.array(["T", "M"] * 50))
    given = {"grid": grid, "columns": {"sex": "sex"}}
    with refuses(UsageError, "contribution-below-sums"):
        choose(data, **given)
    assert choose(data, **given, contribution=2).selected.event.contribution == 2


@pytest.mark.parametrize("answer", [{"label": "7"}, {"index": 0, "label": "0"}, {"index": 10**4}])
def test_a_changed_edge_is_found(tmp_path, answer):
    selected = choose(edge_step=10).selected
    first, *others = selected.chosen
    replace(selected, chosen=({**first, **answer}, *others)).write(tmp_path / "out")
    assert [check.name for check in verify(tmp_path / "out") if not check.ok] == ["answers"]


def write_changed(selected, folder, chosen=None, **changed):
    """Write a selection whose card somebody changed, with all that follows from it."""
    card = selected.card()
    promise = replace(card.guarantee, **changed)
    rate = Fraction(promise.epsilon) / promise.rounds / Fraction(promise.sensitivity) / 2
    card = replace(card, guarantee=replace(promise, rate=str(rate)))
    card = replace(card, chosen=chosen or card.chosen).with_id()
    with stage_selection(card, folder, overwrite=False) as place:
        place.write(card, {})
    return [(check.name, check.detail) for check in verify(folder) if not check.ok]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        ({"rounds": 1}, "rounds"),
        ({"rounds": 7}, "rounds"),
        ({"sensitivity": "1/100"}, "sensitivity"),
        ({"neighbours": REPLACE}, "sensitivity"),
        ({"contribution": 9}, "sensitivity"),
    ],
)
def test_a_changed_guarantee_is_found(tmp_path, changed, said):
    found = write_changed(choose(edge_step=10).selected, tmp_path / "out", **changed)
    assert [name for name, _ in found] == ([] if said is None else ["guarantee"])
    assert all(said in detail for _, detail in found)


@pytest.mark.parametrize("at", [[1, 2, 3, 4, 5, 6, 7], [93, 94, 95, 96, 97, 98, 99]])
def test_edges_that_no_draw_gives_are_found(tmp_path, at):
    """The first edge leaves four classes on each side, so that it is neither of these."""
    selected = choose(edge_step=10).selected
    chosen = [{"axis": "amount", "index": i, "label": str(10 * i)} for i in at]
    ((name, detail),) = write_changed(selected, tmp_path / "out", tuple(chosen))
    assert name == "answers"
    assert "without a position" in detail
    in_order = [chosen[i] for i in (3, 1, 5, 0, 2, 4, 6)]
    assert write_changed(selected, tmp_path / "other", tuple(in_order)) == []


def test_of_persons_the_first_records_count():
    data = pa.table({"id": ["a"] * 999 + ["b"] * 2, "x": [0.5] * 1001, "y": [0.5] * 1001,
                     "income": [900] * 999 + [100] * 2})  # fmt: skip
    given = {"classes": 2, "epsilon": 100, "person": "id"}
    assert 100 < int(choose(data, **given).edges[0]) <= 900
    data = data.append_column("none", pa.array([0] * 1001))
    # With one record of each person, no edge from 101 to 900 is better than another.
    found = {choose(data, **given, key=KEY.derive(bytes([i] * 32))).edges for i in range(20)}
    assert len(found) > 10


def test_raked_weights_are_named_on_the_card():
    """A selection by weights holds for these as given, as a release does."""
    data = rows(100).append_column("w", pa.array([2] * 100))
    given = {"weight": "w", "max_weight": 3, "raked_to": "residents by age"}
    ends = {"classes": None, "clip": None, "lowest": 100, "highest": 1000}
    of_clip = {name: value for name, value in (GIVEN | given | ends).items() if value is not None}
    for choice in (choose(data, **given), geodp.amounts.choose_clip(data, **of_clip)):
        facts = choice.selected.card().guarantee.not_protected
        assert any(f.startswith("that weights were raked") and "by age" in f for f in facts)
    with refuses(UsageError, "weights-raked-without"):
        choose(raked_to="residents by age")


SCALE = Scale.of((0, 6), 1, "EUR", "income")
STEPS = range(SCALE.span)


def prepare(world, classes, weight=1, **terms):
    """What is measured of a world of amounts, ready to be drawn at epsilon 1."""
    grid = divide_clip(classes, SCALE, SCALE)
    number = weight * np.bincount(world, minlength=SCALE.span)
    records = geodp.CountTable.from_keys(grid, np.arange(SCALE.span, dtype=np.uint64), number)
    above = records.key.astype(np.int64) * records.count
    table = AmountTable(records, above, SCALE, max_weight=weight)
    return prepare_edges(table, classes, Request(terms=Terms.of(**terms), allow_empty=True))


FLIP, EXPONENTIAL = "permute-and-flip", "exponential"


class Scripted:
    """A selector that chooses as a script says, and keeps the chances of what it chose."""

    def __init__(self, script, selector):
        self.left, self.weigh, self.chance, self.next = iter(script), selector.weigh, 1.0, 0

    def draw(self, candidates, _key, _stream):
        far = np.array([float(candidates.rate * int(d)) for d in candidates.deficit])
        chances = self.weigh(np.exp(-far))
        chosen = next(self.left, None)
        if chosen is None:
            # As many choices as the first draw after the script has.
            self.next = self.next or chances.size
            return 0
        self.chance *= chances[chosen]
        return chosen


def law(prepared, times=1, selector=FLIP):
    """The probability of every answer; ``times``: of the budget spent."""
    at, found = prepared.preview, {}

    def follow(script):
        one = Scripted(script, SELECTORS[selector])
        rate = at.event.rate * times
        answer = at.question.draw(one, at.grid, prepared.measured, rate, None)
        if not one.next:
            name = tuple(part["label"] for part in answer)
            assert name not in found
            found[name] = one.chance
        for choice in range(one.next):
            follow((*script, choice))

    follow(())
    assert sum(found.values()) == pytest.approx(1)
    return found


@cache
def law_of(world, classes, neighbours, contribution, times, selector):
    terms = {"epsilon": 1, "contribution": contribution, "neighbours": neighbours}
    found = law(prepare(world, classes, **terms), times, selector)
    return np.log([found[answer] for answer in sorted(found)])


def largest(classes, neighbours, contribution=1, times=1, selector=FLIP):
    """The largest loss between neighbours, over worlds of up to three amounts and one person."""
    worst = 0.0
    for n in (0, 3):
        for world in itertools.combinations_with_replacement(STEPS, n):
            worlds = [world] if neighbours == ADD else []
            for more in itertools.combinations_with_replacement(STEPS, contribution):
                worlds.append(tuple(sorted((*world, *more))))
            given = classes, neighbours, contribution, times, selector
            laws = [law_of(one, *given) for one in worlds]
            # Two worlds with one person more differ in one who is replaced.
            for one in laws if neighbours == REPLACE else laws[:1]:
                worst = max(worst, abs(np.array(laws) - one).max())
    return worst


LOSSES = {
    FLIP: {(2, ADD): 1, (2, REPLACE): 0.99, (3, ADD): 0.75, (3, REPLACE): 0.63, (4, ADD): 1,
           (4, REPLACE): 0.73, (5, ADD): 0.66, (5, REPLACE): 0.44},
    EXPONENTIAL: {(2, ADD): 0.86, (2, REPLACE): 0.79, (3, ADD): 0.58, (3, REPLACE): 0.47,
                  (4, ADD): 0.71, (4, REPLACE): 0.5, (5, ADD): 0.36, (5, REPLACE): 0.23},
}  # fmt: skip
"""By mechanism and classes, the part of the budget that these worlds show at least."""

WORLDS = [
    # The marked ones take seconds each.
    pytest.param(selector, contribution, classes, neighbours,
                 marks=[pytest.mark.law] if classes > 4 or (selector, contribution) == (FLIP, 2)
                 else [])
    for selector, losses in LOSSES.items()
    for contribution in (1, 2)
    for classes, neighbours in losses
]  # fmt: skip


@pytest.mark.parametrize(("selector", "contribution", "classes", "neighbours"), WORLDS)
def test_one_person_costs_the_budget_at_most(selector, contribution, classes, neighbours):
    """All answers of all small worlds: rounds add up, and the parts of a round do not, even where
    a person has records in two of them."""
    found = largest(classes, neighbours, contribution, selector=selector)
    assert LOSSES[selector][classes, neighbours] - 1e-9 < found <= 1 + 1e-9


@pytest.mark.parametrize(("classes", "neighbours"), [(2, ADD), (2, REPLACE), (4, ADD)])
def test_a_quarter_more_than_stated_is_found(classes, neighbours):
    """Control: draws for 5/4 of the budget cost more than the budget."""
    assert largest(classes, neighbours, times=Fraction(5, 4)) > 1.2


def test_a_weight_costs_as_many_records():
    at = prepare((1, 2), 3, weight=3, epsilon=1, contribution=2)
    assert at.preview.event.contribution == 6
    assert at.preview.event.sensitivity == 6
    old = law(prepare((1, 2, 2, 4), 3, weight=3, epsilon=1, contribution=1))
    new = law(prepare((1, 2, 2, 4, 4), 3, weight=3, epsilon=1, contribution=1))
    assert max(abs(np.log(old[a] / new[a])) for a in old) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"classes": 1}, "amounts-number-of-classes"),
        ({"classes": 101}, "amounts-number-of-classes"),
        ({"classes": 2.0}, "amounts-number-of-classes"),
        ({"classes": True}, "amounts-number-of-classes"),
        ({"classes": 8, "edge_step": 200}, "amounts-number-of-classes"),
        ({"classes": 5, "edge_step": 200}, "amounts-edges-known"),
        ({"edge_step": "0.5"}, "amounts-edge-step"),
        ({"step": 2, "edge_step": 5}, "amounts-edge-step"),
        ({"edge_step": 300}, "amounts-clip-step"),
        ({"step": "0.01"}, "amounts-edges-too-fine"),
        ({"contribution": None}, "contribution-unstated"),
        ({"epsilon": None}, "selection-without-epsilon"),
    ],
)
def test_what_makes_no_sense_is_refused(more, code):
    with refuses(UsageError, code):
        choose(**more)
