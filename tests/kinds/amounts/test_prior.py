"""Priors of amounts: what is taken as one, what it changes, and what it cannot change."""

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.folder.pending import PendingDraw
from geodp.kinds.amounts.declaring import declare_prior
from geodp.kinds.amounts.kind import IDENTITY
from geodp.kinds.amounts.publish import AmountsInputs, design_amounts, prepare_amounts
from geodp.kinds.amounts.streams import AmountTable, release_streams
from geodp.mechanisms import learned
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import ADD_REMOVE, Terms
from geodp.release.request import Request
from geodp.release.transaction import pack_draw, restore
from geodp.table.counts import ReleasedTable
from geodp.table.prior import Prior
from tests.command import geodp as command
from tests.house.wiretap import listening
from tests.kinds.amounts.made import EDGES, GIVEN, KEY, rows, truth
from tests.kinds.amounts.made import publish as publish_small
from tests.kinds.amounts.worlds import GRID as TINY
from tests.kinds.amounts.worlds import METHOD, SCALE, design_of, table_of
from tests.kinds.changing import change_index, failed
from tests.laws.audit import audited, caught
from tests.refusals import refuses

SIDE = 64
GRID = geodp.Grid.regular((SIDE, SIDE), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
SOURCE = "made up: a census of five years before"


def town(seed=0):
    """People of a map: towns, villages and empty land."""
    draw = np.random.default_rng(seed)
    people = np.exp(draw.normal(2.5, 1.6, (SIDE, SIDE)))
    return np.where(draw.random((SIDE, SIDE)) < 0.4, people, 0.0)


def read(people, seed, classes=()):
    """Records of incomes of people, whose means differ from block to block; and their truth."""
    draw = np.random.default_rng(seed)
    number = draw.poisson(people)
    y, x = (np.repeat(one.ravel(), number.ravel()) for one in np.mgrid[:SIDE, :SIDE])
    means = np.random.default_rng(9).normal(0, 0.3, (8, 8))[y // 8, x // 8]
    income = np.minimum(np.floor(draw.lognormal(5.3 + means, 0.6) + 0.5), 1000)
    rows = pa.table({"x": x + 0.5, "y": y + 0.5, "income": income})
    return geodp.amounts.read_records(
        rows, grid=GRID, x="x", y="y", amount="income", clip=(0, 1000), unit_of_amount="EUR",
        classes=classes,
    )  # fmt: skip


def as_published(table):
    """Counts as they were published, of which nothing says any more how they were made."""
    records = table.records
    return geodp.CountTable.from_keys(records.grid, records.key, records.count)


@pytest.fixture(scope="module")
def before():
    return read(town(), 1, EDGES)


@pytest.fixture(scope="module")
def now():
    return read(town() * np.random.default_rng(4).lognormal(0, 0.1, (SIDE, SIDE)), 2, EDGES)


def release(table, trial=0, **more):
    key = NoiseKey((100 + trial).to_bytes(32, "big"))
    told = {"epsilon": "1/5", "contribution": 1, "key": key} | more
    return geodp.amounts.publish(table, **told)


@pytest.fixture(scope="module")
def earlier(before):
    """A release of the earlier amounts, with noise that nobody knows."""
    return geodp.amounts.publish(before, epsilon=1, contribution=1)


def errors(made, table):
    """Mean absolute errors of counts, sums and classes of cells."""
    number, total = table.records.to_dense(), np.zeros((SIDE, SIDE))
    total[tuple(GRID.decode(table.records.key))] = table.above
    parts = [made.count.table.to_dense() - number, made.sum.table.to_dense() - total]
    parts += [a.to_dense() - b.to_dense() for a, b in zip(made.classes, table.classes, strict=True)]
    return np.array([np.abs(one).mean() for one in parts])


def told(source):
    return {"prior": source, "prior_source": SOURCE}


def test_an_earlier_census_makes_every_number_more_accurate(now, before):
    made = [
        np.mean([errors(release(now, t, **more), now) for t in range(2)], axis=0)
        for more in ({}, told(as_published(before)))
    ]
    ratio = made[1] / made[0]
    assert (ratio[:2] < 0.5).all()
    # Of the highest of the classes it knows little: nobody but it has other means from place to
    # place.
    assert made[1][2:].sum() < 0.7 * made[0][2:].sum()
    assert (ratio[2:] < 1.05).all()


def same(one, other):
    """Whether two draws are equal."""
    arrays = [(getattr(one, n), getattr(other, n)) for n in ("key", "number", "above", "classes")]
    return all(np.array_equal(a, b) for a, b in arrays)


def draw(table, priors, **terms):
    """Draw the streams of a table under one key, with priors of their own."""
    design = plan_of(table, **terms)
    key = KEY.restrict(design.declare(GRID))
    known = [] if priors is None else priors(design)
    return release_streams(design.streams(table), design, key, known)


def test_a_prior_changes_nothing_of_what_is_measured(now, before, earlier):
    request = Request(terms=Terms.of(contribution=1, epsilon="1/5"))
    plain = prepare_amounts(now, request)
    for prior in (as_published(before), earlier):
        prepared = prepare_amounts(now, request, **told(prior))
        assert prepared.design.plan == plain.design.plan
        assert prepared.identify() == plain.identify()


def test_a_prior_draws_nothing_more():
    """Every node's noise is of the same keys and laws as in the release without one."""
    table = geodp.amounts.read_records(
        rows(), **{n: GIVEN[n] for n in ("grid", "x", "y", "amount", "clip", "unit_of_amount")}
    )
    request = Request(terms=Terms.of(contribution=1, epsilon=1), method=GIVEN["method"])
    found = []
    for more in ({}, told(geodp.CountTable.from_dense(truth(seed=8)[0], table.records.grid))):
        prepared = prepare_amounts(table, request, **more)
        with listening() as wire:
            prepared.draw(KEY.restrict(prepared.design.draws))
        found.append({(one.secret, draw) for one in wire.heard for draw in one.draws})
    assert found[0]
    assert found[1] <= found[0]


def test_a_prior_that_knows_nothing_changes_nothing(now, before):
    dense = before.records.to_dense()[::-1, ::-1].copy()
    useless = Prior.of(GRID, geodp.CountTable.from_dense(dense, GRID), SOURCE)
    plain = draw(now, None, epsilon="1/5")
    assert same(plain, draw(now, lambda design: [useless] * design.number, epsilon="1/5"))


def test_the_index_states_the_prior_and_what_was_learned(now, before, tmp_path):
    made = release(now, key=None, **told(as_published(before)))
    stated = made.index.prior
    assert (stated.source, stated.is_used, stated.identity) == (SOURCE, True, None)
    assert [one.shape for one in stated.streams] == ["records"] * (2 + len(EDGES) + 1)
    assert made.index.guarantee.assumptions[-1].source == SOURCE
    made.write(tmp_path / "out")
    public, area = tmp_path / "out" / "public", (8, 8, 24, 24)
    assert failed(public) == {}
    opened = geodp.open(public)
    assert opened.index.prior == stated
    assert any(SOURCE in fact for fact in opened.count.card().guarantee.not_protected)
    assert opened.estimate(area).mean == made.estimate(area).mean
    for language in ("en", "ja"):
        done = command("explain", tmp_path / "out", "--language", language)
        assert "five years before" in " ".join(done.stdout.split()), done.stderr
    for change in (
        lambda card: card["prior"].update(source="another"),
        lambda card: card["prior"]["streams"][0]["levels"][0].update(reliability=0.5),
        lambda card: card.pop("prior"),
    ):
        before = (public / "amounts.json").read_text()
        change_index(public, change)
        assert failed(public)
        (public / "amounts.json").write_text(before)


def test_a_draw_that_was_stored_has_what_was_learned(now, before, tmp_path):
    request = Request(terms=Terms.of(contribution=1, epsilon="1/5"), key=KEY)
    prepared = prepare_amounts(now, request, **told(as_published(before)))
    drawn = prepared.draw(KEY.derive(prepared.identify(), prepared.design.draws))
    card, arrays = pack_draw(prepared.design, drawn)
    stored = PendingDraw("", "", "census", "", {}, {}, json.loads(json.dumps(card)), arrays)
    design = partial(design_amounts, now.axes, request, means=True, share="1/2")
    found, made = (
        restore(stored, design, AmountsInputs, tmp_path, None),
        prepared.design.complete(drawn, None),
    )
    assert found.index == made.index
    assert found.index.prior.is_used
    assert all(map(same_table, found.classes, made.classes))


def same_table(one, other):
    return np.array_equal(one.to_dense(), other.to_dense())


def plan_of(table, **terms):
    request = Request(terms=Terms.of(contribution=1, **(terms or {"epsilon": 1})))
    return prepare_amounts(table, request).design.plan


def test_streams_of_an_earlier_release_are_their_priors(now, earlier):
    known = declare_prior(now.records, plan_of(now), earlier, SOURCE)
    assert set(known.shapes) == {"amounts"}
    assert known.identity == earlier.identity.removeprefix(IDENTITY)
    above, below = (one.cumulative[-1] for one in known.streams[:2])
    notches = plan_of(now).notches
    assert above + below == pytest.approx(notches * earlier.count.table.count.sum(), rel=1e-3)
    assert above == pytest.approx(earlier.sum.table.count.sum() * notches / 1000, rel=1e-3)
    each = [int(one.count.sum()) for one in earlier.classes]
    assert [int(one.cumulative[-1]) for one in known.streams[2:]] == each


def test_another_clip_is_converted_and_other_classes_are_records(before, earlier):
    wide = replace(before, scale=replace(before.scale, lower=-500, upper=1500),
                   above=before.above + 500 * before.records.count,
                   edges=(), classes=())  # fmt: skip
    made = plan_of(wide)
    known = declare_prior(wide.records, made, earlier, SOURCE)
    people, total = (int(one.table.count.sum()) for one in (earlier.count, earlier.sum))
    above, below = (one.cumulative[-1] / made.notches for one in known.streams)
    assert above == pytest.approx((total + 500 * people) / 2000, rel=1e-3)
    assert below == pytest.approx((1500 * people - total) / 2000, rel=1e-3)
    other = read(town(), 1, (300,))
    assert declare_prior(other.records, plan_of(other), earlier, SOURCE).shapes == (
        "amounts", "amounts", "records", "records",
    )  # fmt: skip


def test_a_release_of_classes_alone_has_records_for_sums(now, before):
    alone = geodp.amounts.publish(before, means=False, epsilon=1, contribution=1)
    shapes = declare_prior(now.records, plan_of(now), alone, SOURCE).shapes
    assert shapes == ("records",) * 2 + ("amounts",) * (len(EDGES) + 1)


def test_a_map_of_larger_squares_is_a_prior(now):
    coarse = geodp.Grid.regular((SIDE // 4,) * 2, crs="EPSG:3035", transform=(4, 0, 0, 0, 4, 0))
    people = town().reshape(SIDE // 4, 4, SIDE // 4, 4).sum(axis=(1, 3)).astype(np.int64)
    made = release(now, **told(geodp.CountTable.from_dense(people, coarse)))
    assert {one.finest for one in made.index.prior.streams} == {16}


def not_private(table):
    return geodp.amounts.publish(table, epsilon=1, contribution=1, key=KEY)


@pytest.mark.parametrize(
    ("prior", "source", "code"),
    [
        (lambda table, _: table, SOURCE, "amounts-prior-kind"),
        (lambda _, one: one.sum, SOURCE, "amounts-prior-kind"),
        (lambda *_: "census.csv", SOURCE, "amounts-prior-kind"),
        (lambda *_: None, SOURCE, "source-without-prior"),
        (lambda table, _: table.records, SOURCE, "prior-is-table"),
        (lambda table, _: table.classes[0], SOURCE, "prior-is-table"),
        (lambda *_: read(town(), 1).records, SOURCE, "prior-of-records"),
        (lambda _, one: one, None, "prior-source-missing"),
        (lambda _, one: one.count, None, "prior-source-missing"),
        (lambda table, _: not_private(table), SOURCE, "prior-not-private"),
        (lambda *_: publish_small(key=None), SOURCE, "amounts-prior-unit"),
        (lambda *_: publish_small(key=None).count, SOURCE, "prior-of-other-grid"),
    ],
)
def test_what_is_no_prior_is_refused(now, earlier, prior, source, code):
    with refuses(UsageError, code):
        release(now, prior=prior(now, earlier), prior_source=source)


def test_a_charged_release_needs_no_source(now, before, ledger):
    paid = geodp.amounts.publish(before, epsilon=1, contribution=1, ledger=ledger, dataset="census")
    made = release(now, prior=paid)
    assert "charged itself" in made.index.prior.source


def test_a_release_is_not_compared_with_its_prior(now, earlier):
    made = release(now, prior=earlier, prior_source=SOURCE)
    for pair in ((earlier, made), (made, earlier)):
        with refuses(UsageError, "amounts-compare-prior"):
            pair[0].compare((0, 0, 8, 8), release=pair[1])
    plain = release(now)
    assert plain.compare((0, 0, 8, 8), release=earlier)["count"].low < 0


def boxes_of(side):
    """Squares of a side, as west, south, east and north."""
    steps = range(0, SIDE - side + 1, max(side, 8))
    return [(x, y, x + side, y + side) for y in steps for x in steps]


def held(estimates, boxes, table):
    """How often intervals of count, sum and mean hold."""
    number, total = table.records.to_dense(), np.zeros((SIDE, SIDE), np.int64)
    total[tuple(table.records.grid.decode(table.records.key))] = table.above
    rows = []
    for (x, y, right, top), one in zip(boxes, estimates, strict=True):
        n, s = (int(part[y:top, x:right].sum()) for part in (number, total))
        mean = one.mean is None or not n or one.mean.low <= s / n <= one.mean.high
        rows.append((one.count.low <= n <= one.count.high, one.sum.low <= s <= one.sum.high, mean))
    return np.mean(rows, axis=0)


def test_intervals_hold_with_a_prior(now, earlier):
    more = told(earlier)
    made = [release(now, trial, **more) for trial in range(3)]
    for side in (1, 4, 16):
        boxes = boxes_of(side)
        each = [held(one.estimate_all(boxes), boxes, now) for one in made]
        assert (np.mean(each, axis=0) >= 0.94).all()


SIDES = TINY.with_attribute("stream", ["above", "below"])
"""Records and sums as one table, so that the audits of other methods take them."""


def as_one(world):
    streams = table_of(world).streams(SCALE.span)
    dense = np.stack([one.to_dense() for one in streams], axis=-1)
    return geodp.CountTable.from_dense(dense, SIDES)


@pytest.fixture
def _learn_of_few(monkeypatch):
    """Four cells are too few to learn from; here they are enough, so that priors are used."""
    monkeypatch.setattr(learned, "FEWEST", 2)


def released_with(prior_of):
    """A release of both streams of a tiny world with priors of its own."""

    def release_both(table, event, key):
        dense = table.to_dense()
        vector = [geodp.CountTable.from_dense(dense[..., i], TINY).to_vector() for i in (0, 1)]
        number = (vector[0] + vector[1]) // SCALE.span
        cells = np.arange(number.size, dtype=np.uint64)
        made = AmountTable(
            geodp.CountTable.from_keys(TINY, cells, number), vector[0][number > 0], SCALE
        )
        spent = {"epsilon": event.epsilon, "neighbours": event.neighbours}
        planned = design_of(made, contribution=event.contribution, **spent)
        restricted = key.restrict(planned.declare(TINY))
        priors = [Prior.of(TINY, one, SOURCE) for one in prior_of(made)]
        drawn = release_streams(planned.streams(made), planned, restricted, priors)
        used.append(any(one.levels and one.levels[-1].in_use > 0 for one in drawn.learned))
        out = np.zeros((2, number.size), np.int64)
        at = drawn.key.astype(np.int64)
        out[:, at] = drawn.above, drawn.number * SCALE.span - drawn.above
        parts = [geodp.CountTable.from_keys(TINY, cells, one).to_dense() for one in out]
        listed = geodp.CountTable.from_dense(np.stack(parts, axis=-1), SIDES)
        return ReleasedTable(SIDES, listed.key, listed.count, event)

    used: list[bool] = []
    release_both.used = used
    return release_both


TOWN = ((0, 1),) * 40
LONELY = TOWN, (*TOWN, (3, SCALE.upper))
"""A town, and one more record that lives alone."""


@pytest.mark.law
@pytest.mark.usefixtures("_learn_of_few")
@pytest.mark.parametrize("public", [0, 1])
def test_a_fixed_prior_keeps_the_claim(public):
    """The prior is of one of the two worlds, whichever of them is released."""
    known = table_of(LONELY[public]).streams(SCALE.span)
    made = released_with(lambda _: known)
    assert audited(made, METHOD, [*map(as_one, LONELY)], ADD_REMOVE, trials=300) <= Fraction(1)
    assert np.mean(made.used) > 0.5


@pytest.mark.law
@pytest.mark.usefixtures("_learn_of_few")
def test_a_prior_made_from_the_records_is_caught():
    made = released_with(lambda table: table.streams(SCALE.span))
    tables = [*map(as_one, LONELY)]
    assert caught(made, METHOD, tables, ADD_REMOVE, Fraction(1), trials=600)
    assert np.mean(made.used) > 0.5
