"""Persons and households as one release: possible everywhere, charged once, free replays."""

import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import OutputError, UndeclaredDrawError, UsageError
from geodp.io.folder.staged_release import StagedTables
from geodp.io.verify.verify import verify
from geodp.kinds.households.inputs import streams_of
from geodp.kinds.households.publish import prepare_households
from geodp.kinds.households.streams import release_streams
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from geodp.release.opening import errors_of
from geodp.release.request import Request
from geodp.table.reading import Reading, StatedLayout, StatedReading
from geodp.table.source import Source
from tests.grids import FORMS
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 16))
LABELS = ("1", "2", "3", "4", "5", "6", "7+")
PERSON = {"protect": "person", "epsilon": 1, "contribution": 1}
MEANS = np.array([9.0, 7.0, 5.0, 4.0, 1.5, 0.5, 0.3])


def sizes_on(grid=GRID, seed=5, scale=1.0, labels=LABELS):
    """Households by size in about a third of the cells."""
    draw = np.random.default_rng(seed)
    sized = grid.with_attribute("size", labels)
    counts = draw.poisson(scale * MEANS[: len(labels)], (*grid.shape, len(labels)))
    counts[draw.random(grid.shape) < 2 / 3] = 0
    key = np.arange(1 << sized.bits, dtype=np.uint64)
    key = key[sized.contains_keys(key)]
    at = tuple(sized.decode(key))
    return geodp.CountTable.from_keys(sized, key, counts[at])


def two_tables(sizes=None):
    """Persons and households of the same."""
    sizes = sizes_on() if sizes is None else sizes
    dense, grid = sizes.to_dense(), geodp.Grid(sizes.grid.places, (), sizes.grid.extents)
    weights = np.arange(1, dense.shape[-1] + 1)
    tables = ((dense * weights).sum(-1), dense.sum(-1))
    return [geodp.CountTable.from_dense(one, grid) for one in tables]


def publish(*tables, **more):
    tables = tables or (() if "by_size" in more else two_tables())
    given = dict(zip(("persons", "households"), tables, strict=False))
    return geodp.households.publish(**{**given, **PERSON, **more})


def dense(release):
    return release.persons.table.to_dense(), release.households.table.to_dense()


def require_possible(release):
    """Every cell is possible, and so every area, which is a sum of cells."""
    persons, homes = release.persons.table, release.households.table
    assert np.array_equal(persons.key, homes.key)
    assert (homes.count <= persons.count).all()
    assert (persons.count <= release.max_size * homes.count).all()


def require_near(found, expected):
    """Counts with much budget: persons by size may be rounded otherwise in very few cells."""
    persons, homes = (np.asarray(a) - b for a, b in zip(found, expected, strict=True))
    assert not homes.any()
    # One household may be counted as of another size, in a cell of few.
    assert (persons != 0).sum() <= 40
    assert np.abs(persons).max() <= 12


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "office.ledger")
    made.add_dataset("census", PureDP(Fraction(5)))
    return made


def test_with_much_budget_the_counts_are_the_true_ones():
    for given in ({}, {"by_size": sizes_on()}, {"by_size": sizes_on(), "protect": "household"}):
        release = publish(**given, epsilon=10**6)
        expected = [one.to_dense() for one in two_tables()]
        require_near(dense(release), expected)


@pytest.mark.parametrize("epsilon", ["1/10", "10"])
@pytest.mark.parametrize("scale", [0.05, 100.0])
@pytest.mark.parametrize("method", ["pyramid", "pyramid:chain=2-2-4,shares=1-1-1-3"])
def test_every_cell_is_possible(epsilon, scale, method):
    sizes = sizes_on(scale=scale)
    for given in ({"method": method}, {"protect": "household"}):
        require_possible(publish(by_size=sizes, **{**given, "epsilon": epsilon}))


@pytest.mark.parametrize("max_size", [2, 3, 100])
def test_sizes_beyond_the_largest_are_counted_as_it(max_size):
    for protect in ("person", "household"):
        release = publish(by_size=sizes_on(), max_size=max_size, protect=protect, epsilon=10**6)
        require_possible(release)
        assert release.max_size == min(max_size, 7)
        sizes = np.minimum(np.arange(1, 8), max_size)
        counts = sizes_on().to_dense()
        require_near(dense(release), [(counts * sizes).sum(-1), counts.sum(-1)])
        said = f"more than {release.max_size} persons is counted as one of {release.max_size}"
        assert any(said in fact for fact in release.persons.public_facts)


PLACED = [name for name, grid in FORMS.items() if not grid.attributes]


@pytest.mark.parametrize("form", PLACED)
@pytest.mark.parametrize(
    "amounts", [{"epsilon": 1}, {"rho": "1/2"}, {"epsilon": 1, "delta": "1e-9"}]
)
def test_every_form_of_grid_and_of_budget(form, amounts):
    grid = FORMS[form]
    key = np.arange(1 << grid.bits, dtype=np.uint64)
    key = key[grid.contains_keys(key)]
    homes = 1 + np.arange(key.size) * 7 % 40
    persons = homes + np.arange(key.size) * 11 % 90 % (6 * homes)
    tables = [geodp.CountTable.from_keys(grid, key, one) for one in (persons, homes)]
    release = publish(*tables, **{"epsilon": None, **amounts})
    require_possible(release)
    assert release.persons.card().mechanism.name == "persons-of-streams"
    assert release.view().all_rows.columns["persons_high"].null_count == 0


def test_the_key_draws_nothing_but_what_is_declared(key):
    persons, homes = two_tables()
    streams = streams_of(persons, homes, 7)
    request = Request(terms=Terms.of(epsilon=1, contribution=1, unit="person"), key=key)
    prepared = prepare_households({"persons": persons, "households": homes}, 7, request)
    method, declared = prepared.design.method, prepared.design.draws
    other = method.event(GRID, Terms.of(epsilon=2, contribution=1))
    key = key.derive(prepared.identify(), declared)
    with pytest.raises(UndeclaredDrawError):
        release_streams(streams.households, streams.members, method, other, key, 7)


def others_on(grid=GRID):
    """Persons outside households, in few cells."""
    dense = np.zeros(grid.shape, int)
    dense[3, 4], dense[10, 2] = 500, 80
    return geodp.CountTable.from_dense(dense, grid)


def test_persons_outside_households_are_a_table_of_their_own():
    for given in ({}, {"by_size": sizes_on()}):
        release = publish(**given, others=others_on(), epsilon=10**6)
        assert [*release.tables] == ["persons", "households", "others"]
        assert np.array_equal(release.others.table.to_dense(), others_on().to_dense())
        assert np.array_equal(dense(release)[0], two_tables()[0].to_dense())
        assert release.index.guarantee.epsilon == str(10**6)
        assert "persons outside households" in release.index.guarantee.mechanism


def test_persons_outside_households_are_charged_with_them_and_drawn_apart(ledger, key):
    charged = {"ledger": ledger, "dataset": "census", "key": key}
    first = publish(**charged, others=others_on())
    assert len(ledger.charges("census")) == 1
    assert publish(**charged, others=others_on()).others.charge.replay
    # Without them it is another release, whose noise is another.
    second = publish(**charged)
    assert len(ledger.charges("census")) == 2
    assert not np.array_equal(dense(first)[1], dense(second)[1])
    same = two_tables()[1]
    equal = publish(same, same, others=same)
    homes, others = (one.table.to_dense() for one in (equal.households, equal.others))
    assert not np.array_equal(homes, others)


def of_layout(table, name):
    """The same table, as if it were read from a file of a layout."""
    layout = StatedLayout(name, "a layout", "nowhere")
    public = StatedReading(form="table", layout=layout)
    source = Source("made-up.csv", rows=9, selected=9, inside=9)
    return replace(table, reading=Reading((source,), public=public))


def test_tables_of_different_dates_are_refused_by_their_layouts():
    persons, homes = two_tables()
    of_2011, of_2022 = of_layout(persons, "zensus2011"), of_layout(homes, "zensus2022-dwellings")
    with refuses(UsageError, "households-dates-differ: 2011-05-09 and 2022-05-15"):
        publish(of_2011, of_2022)
    require_possible(publish(of_2011, of_layout(homes, "zensus2011-atlas")))
    # A layout of many censuses has no date.
    require_possible(publish(of_2011, of_layout(homes, "estat")))


def counts(array, grid=GRID):
    return geodp.CountTable.from_dense(np.asarray(array), grid)


ONES = np.ones((16, 16), int)


def test_tables_that_do_not_go_together_are_refused():
    persons, homes = two_tables()
    other = counts(np.ones((8, 8), int), geodp.Grid.regular((8, 8)))
    sexes = counts(np.ones((16, 16, 2), int), GRID.with_attribute("sex", ["f", "m"]))
    twice = sizes_on().grid.with_attribute("household_size", ["1", "2", "3"])
    rooms = GRID.with_attribute("rooms", ["1", "2", "3"])
    rooms = geodp.CountTable.from_keys(rooms, [0], [9])
    doubled = geodp.CountTable.from_keys(twice, [0], [9])
    two, none = {"persons": persons, "households": homes}, {"persons": None, "households": None}
    homes_of = {**none, "by_size": sizes_on(), "protect": "household"}

    def both(persons, homes):
        return {"persons": counts(persons), "households": counts(homes)}

    for given, rule in (
        # Cells that no households can make.
        (both(ONES, 2 * ONES), "households-above-persons"),
        (both(ONES * 0, ONES), "households-above-persons"),
        (both(ONES, np.triu(ONES)), "persons-without-households"),
        (both(8 * ONES, ONES), "persons-above-max-size: more than 7 persons"),
        ({"households": None}, "households-tables-expected"),
        ({"by_size": sizes_on(), "households": None}, "households-tables-expected"),
        ({"by_size": sizes_on()}, "households-tables-expected"),
        ({"persons": persons.to_dense()}, "households-tables-expected"),
        ({"households": other}, "households-grid-differs"),
        ({"persons": sexes, "households": sexes}, "households-with-attributes"),
        ({"by_size": sexes, **none}, "households-size-labels"),
        ({"by_size": homes, **none}, "households-size-labels"),
        ({"by_size": doubled, **none}, "households-sizes-twice: size and household_size"),
        ({"by_size": rooms, **none}, "households-size-labels"),
        ({"by_size": rooms, **none, "size_attribute": "size"}, "households-size-labels"),
        ({"by_size": sexes, **none, "size_attribute": "sex"}, "households-size-labels"),
        ({"size_attribute": "size"}, "households-size-labels"),
        ({"protect": "household"}, "households-by-size-needed"),
        ({"protect": "trip"}, "option-out-of-range"),
        ({"max_size": 1}, "option-out-of-range"),
        ({"max_size": 101}, "option-out-of-range"),
        ({"max_size": 7.0}, "option-out-of-range"),
        ({"max_size": True}, "option-out-of-range"),
        ({"method": "topdown"}, "pyramid-needed"),
        ({"method": "pyramid:prune=2"}, "pyramid-needed"),
        ({"contribution": None}, "households-contribution-unstated"),
        ({"others": other}, "households-others-grid"),
        ({"others": [1]}, "households-tables-expected"),
        ({**homes_of, "others": persons}, "households-others-apart"),
    ):
        with refuses(UsageError, rule):
            geodp.households.publish(**{**PERSON, **two, **given})
    with refuses(UsageError, "households-sizes-have-method"):
        publish(by_size=sizes_on(), protect="household", method="pyramid")


def test_an_attribute_of_another_name_has_sizes_where_it_is_said():
    """Rooms are numbered as well, and are no sizes: the labels decide nothing."""
    sizes = sizes_on()
    named = GRID.with_attribute("members", LABELS)
    members = geodp.CountTable.from_keys(named, sizes.key, sizes.count)
    for protect in ("person", "household"):
        given = {"protect": protect, "epsilon": 10**6, "size_attribute": "members"}
        release = publish(by_size=members, **given)
        require_near(dense(release), [one.to_dense() for one in two_tables()])
    assert [one.name for one in release.sizes.grid.attributes] == ["size"]
    rooms = sizes.grid.with_attribute("rooms", ["1", "2", "3+"])
    index = np.stack([*sizes.grid.decode(sizes.key), np.zeros(sizes.key.size, np.int64)])
    with_rooms = geodp.CountTable.from_keys(rooms, rooms.encode(index), sizes.count)
    release = publish(by_size=with_rooms, protect="household", epsilon=10**6)
    require_near(dense(release), [one.to_dense() for one in two_tables()])


def bounded(table, value, stated_by="geodp"):
    layout = "a layout" if stated_by == "layout" else ""
    return replace(table, bound=ContributionBound(value, stated_by, layout))


@pytest.mark.parametrize("stated_by", ["geodp", "layout"])
@pytest.mark.parametrize("protect", ["person", "household"])
def test_no_bound_of_one_table_is_that_of_all(stated_by, protect):
    """One person may be kept in cell A of persons and in cell B of households: three changes."""
    persons, homes = two_tables()
    tables = {"persons": bounded(persons, 1, stated_by), "households": bounded(homes, 1, stated_by)}
    sized = {"by_size": bounded(sizes_on(), 1, stated_by)}
    for given in [tables, sized] if protect == "person" else [sized]:
        options = {**PERSON, "protect": protect, **given}
        with refuses(UsageError, "households-contribution-unstated"):
            geodp.households.publish(**{**options, "contribution": None})
        release = geodp.households.publish(**options)
        assert release.index.guarantee.assumptions[0].stated_by == "operator"
        of_households, of_persons = (
            one.card().guarantee for one in (release.households, release.persons)
        )
        assert of_households.contribution == of_persons.contribution == 1
        # One household changes the sum of persons by its size, which nothing may deny.
        (counted,) = [one for one in of_persons.assumptions if one.kind == "contribution"]
        assert ("this table is computed from" in counted.statement) is (protect == "household")
        assert of_persons.spends == "epsilon = 1"


def test_a_contribution_below_that_of_any_table_is_refused():
    persons, homes = two_tables()
    for given in (
        {"persons": bounded(persons, 2), "households": homes},
        {"persons": persons, "households": bounded(homes, 2)},
        {"persons": persons, "households": homes, "others": bounded(others_on(), 2)},
        {"by_size": bounded(sizes_on(), 2)},
        {"by_size": bounded(sizes_on(), 2), "protect": "household"},
    ):
        with refuses(UsageError, "contribution-below-table"):
            geodp.households.publish(**{**PERSON, **given})
        release = geodp.households.publish(**{**PERSON, **given, "contribution": 2})
        assert release.index.guarantee.contribution == 2
        assert release.index.guarantee.assumptions[0].stated_by == "operator"


def tenures(seed=3):
    """Households by tenure, by size, and by whether there are children."""
    grid = GRID.with_attribute("tenure", ["owner", "tenant"]).with_attribute("size", LABELS)
    grid = grid.with_attribute("children", ["none", "some"])
    draw = np.random.default_rng(seed)
    means = MEANS[:, None] * np.array([1.0, 0.5])
    return geodp.CountTable.from_dense(draw.poisson(means, (16, 16, 2, 7, 2)), grid)


def test_households_may_have_more_attributes_than_sizes(tmp_path):
    table = tenures()
    counts = table.to_dense().sum(axis=(2, 4))
    expected = [(counts * np.arange(1, 8)).sum(-1), counts.sum(-1)]
    for protect in ("person", "household"):
        release = publish(by_size=table, protect=protect, epsilon=10**6)
        require_near(dense(release), expected)
        folded = publish(by_size=table, protect=protect, max_size=4)
        require_possible(folded)
        assert folded.max_size == 4
    made = folded.sizes.table
    assert [len(one.labels) for one in made.grid.attributes] == [2, 4, 2]
    # Every margin adds up: of tenures, of sizes and of children.
    homes = dense(folded)[1]
    assert np.array_equal(made.to_dense().sum(axis=(2, 3, 4)), homes)
    sizes = made.to_dense().sum(axis=(2, 4))
    assert np.array_equal((sizes * np.arange(1, 5)).sum(-1), dense(folded)[0])
    folded.write(tmp_path / "out")
    assert [check.name for check in verify(tmp_path / "out", errors_of) if not check.ok] == []
    assert geodp.open(tmp_path / "out").estimate((0, 0, 8, 8)).mean_size is not None


def test_labels_of_offices_are_sizes_and_others_are_not():
    for labels in (["１人", "２人", "３人以上"], ["1 person", "2 persons", "3+"]):
        assert publish(by_size=sizes_on(labels=labels)).max_size == 3
    for labels in (["1", "3", "2"], ["0", "1", "2"], ["1 to 2", "3"], ["one", "two"], ["1"],
                   ["2", "3"], ["1", "1 "]):  # fmt: skip
        with refuses(UsageError, "households-size-labels"):
            publish(by_size=sizes_on(labels=labels))


def test_numbers_that_no_population_has_are_refused():
    persons = geodp.CountTable.from_keys(GRID, [0], [1 << 53])
    with refuses(UsageError, "households-too-many-persons"):
        publish(persons, persons)
    sizes = geodp.CountTable.from_keys(GRID.with_attribute("size", LABELS), [0], [1 << 50])
    with refuses(UsageError, "households-too-many"):
        publish(by_size=sizes)


def test_orders_and_regions_keep_their_areas_with_fewer_sizes():
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.5"))
    sized = grid.with_attribute("size", LABELS).with_official_order()
    draw = np.random.default_rng(2)
    ordered = geodp.CountTable.from_dense(draw.poisson(MEANS, sized.shape), sized)
    for table in (ordered, sizes_on(FORMS["regions"])):
        for protect in ("person", "household"):
            release = publish(by_size=table, max_size=4, protect=protect)
            require_possible(release)
            assert release.persons.grid.areas.nested
            assert release.persons.grid.hierarchy == table.grid.hierarchy


def test_what_can_fail_is_tried_before_the_charge(ledger, tmp_path, monkeypatch):
    """Formats, the table of both counts and the space for all of it, with empty tables."""
    request = Request(terms=Terms.of(epsilon=1, contribution=1), ledger=ledger, dataset="census")
    tables = dict(zip(("persons", "households"), two_tables(), strict=True))
    prepared = prepare_households(tables, 7, request)
    with StagedTables.stage(tmp_path / "out", overwrite=False) as place:
        place.try_out(prepared.design.preview, [prepared.cells])
        assert not [one for one in os.listdir(place.folder) if one.startswith("tmp")]
        release = prepared.release()
        release.write_into(place, {})
    assert verify(tmp_path / "out" / "public", errors_of)[0].ok

    def full(*_args, **_more):
        raise OutputError("full", code="disk-full")

    write_joint = "geodp.kinds.households.households.write_rows"
    tried = "geodp.io.folder.staged_release"
    for name in (f"{tried}.try_formats", f"{tried}.require_space", write_joint):
        with monkeypatch.context() as patched:
            patched.setattr(name, full)
            with (
                pytest.raises(OutputError),
                StagedTables.stage(tmp_path / "other", overwrite=False) as place,
            ):
                place.try_out(prepared.design.preview, [prepared.cells])
    assert len(ledger.charges("census")) == 1
    assert not (tmp_path / "other").exists()
