"""Stated sensitivities by brute force: no neighbour costs more, and some cost all of it.

Neighbours of small tables are enumerated: a person more, and a person replaced by another, each
counted once or twice, in every cell or spread over two. Nothing is drawn by chance, so that a
statement which is a quarter too small is seen at once.
"""

import math
import zipfile
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.read.layout.presets import presets
from geodp.kinds.selection.mechanisms import SELECTORS
from geodp.kinds.selection.mechanisms.base import Selector, quantile_candidates
from geodp.kinds.selection.question import Quantile, Question, Top, find_places
from geodp.kinds.selection.selected import prepare as prepare_selection
from geodp.kinds.series.publish import SeriesOptions, prepare_series
from geodp.local.oracles import ORACLES
from geodp.mechanisms import mechanism
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.terms import ADD_REMOVE, NEIGHBOURS, REPLACE, Terms
from geodp.release import publish
from geodp.release.periods import Periods
from geodp.release.request import Request
from geodp.table.contribution import bound_contribution, require_no_sums
from geodp.table.public_totals import PublicTotals
from geodp.table.totals import InMemoryTable
from tests.command import geodp as run
from tests.golden.methods import grids
from tests.io.read.official import forms
from tests.laws.brute import Losses, neighbours, table_of
from tests.local.oracles.cases import TWINS
from tests.refusals import refuses

METHODS = sorted(geodp.METHODS)
GRIDS = grids()
SPECS = {"barak": "barak:nonnegative=no", "mwem": "mwem:passes=1"}
"""The same measurements, without post-processing that takes long."""

FEW = ("one cell", "square", "mask", "attribute below")
LOOSE = {"dawa", "mwem", "parts"}
"""Methods that spend less on some forms of grids: partitions of one cell, rounds that choose other
intervals, and levels of the parts whose shares are not used up where few people are."""

AMOUNTS = ({"epsilon": "1/2"}, {"rho": "1/8"})
SCALES = (1, 1000)
"""How many people there are: so few that noise hides them, and many."""


def people(grid, scale):
    """Counts of all cells by key, 2 at least, and which keys are cells."""
    key = np.arange(1 << grid.bits, dtype=np.uint64)
    inside = grid.contains_keys(key)
    return np.where(inside, key.astype(np.int64) * 7 % 5 * scale + 2, 0), inside


def budget(event):
    return event.epsilon if event.rho is None else event.rho


def largest(method, grid, event, *, scale=1, most=6):
    """The largest loss over all neighbours, as a part of the budget; None: there are none."""
    dense, inside = people(grid, scale)
    losses, told = Losses(method, table_of(grid, dense), event), None
    for other in neighbours(dense, inside, event.neighbours, event.contribution, most):
        found = losses.of(table_of(grid, other)) / budget(event)
        told = found if told is None else max(told, found)
    return told


def ratios(name, where, most, every):
    """The largest losses of a method on a form of grid, by noise, neighbours and contribution.

    ``every``: with few people and many; otherwise many where a person counts twice, or else few.
    """
    method, grid = mechanism(SPECS.get(name, name)), GRIDS[where]
    if method.unsupported(grid) is not None or (name == "matrix" and grid.bits > 6):
        return
    for amounts in AMOUNTS[: 1 + method.gaussian]:
        for kind in NEIGHBOURS:
            for counted in (1, 2):
                terms = Terms.of(**amounts, neighbours=kind, contribution=counted)
                event = method.event(grid, terms, "fixed")
                for scale in SCALES if every else SCALES[counted - 1 : counted]:
                    if method.explain_noise_limit(grid, event) is None:
                        found = largest(method, grid, event, scale=scale, most=most)
                        if found is not None:
                            yield (*amounts, kind, counted, scale), found


def hold(name, where, most, every=True):
    """Ask that no loss is above the budget, and that all of it is spent where that is claimed."""
    found = dict(ratios(name, where, most, every))
    assert all(ratio <= 1 for ratio in found.values()), {k: v for k, v in found.items() if v > 1}
    added = [ratio for case, ratio in found.items() if ADD_REMOVE in case]
    if added and name not in LOOSE:
        assert max(added) == 1
    return found


@pytest.mark.parametrize("where", FEW)
@pytest.mark.parametrize("name", METHODS)
def test_no_neighbour_costs_more_than_a_method_states(name, where):
    hold(name, where, 6, every=False)


@pytest.mark.law
@pytest.mark.parametrize("name", METHODS)
def test_no_neighbour_on_any_form_costs_more_than_a_method_states(name):
    found = [hold(name, where, 20) for where in GRIDS if GRIDS[where].bits <= 9]
    every = [ratio for one in found for ratio in one.values()]
    assert max(every) == 1, "and somewhere all of it is spent"
    assert len(every) >= 12


@pytest.mark.parametrize("kind", NEIGHBOURS)
@pytest.mark.parametrize("name", METHODS)
def test_three_quarters_of_a_sensitivity_are_caught(name, kind):
    """The control: an event that states less than it is, for less noise."""
    method = mechanism(SPECS.get(name, name) + ",rounds=1" * (name == "mwem"))

    def losses():
        for where in ("square", "attribute below", "line"):
            grid = GRIDS[where]
            if method.unsupported(grid) is not None or (name == "matrix" and grid.bits > 6):
                continue
            for counted in (1, 2):
                terms = Terms.of(epsilon="1/2", neighbours=kind, contribution=counted)
                event = method.event(grid, terms, "fixed")
                wrong = replace(event, sensitivity=event.sensitivity * Fraction(3, 4))
                yield largest(method, grid, wrong, scale=1000)

    caught = any(one > 1 for one in losses() if one is not None)
    assert caught == (kind == ADD_REMOVE or name in TIGHT_TWICE)


TIGHT_TWICE = {
    "agrid", "dawa", "filter", "geometric", "hay", "hb", "laplace", "laplace-nonnegative", "matrix",
    "privelet", "privelet-2d", "privelet-nominal", "parts", "pyramid", "quadtree", "topdown",
    "ugrid",
}  # fmt: skip
"""Methods in which one who is replaced costs more than three quarters of what is stated, which is
twice a person more or less. A total does not change, nor do half of Barak's coefficients, and no
score of an interval changes twice."""


# Selections.

SQUARE = geodp.Grid.regular((3, 3))
AGED = geodp.Grid.regular((2, 2)).with_attribute("age", ["young", "middle", "old"])
QUESTIONS = {
    "top": (SQUARE, Top(2)),
    "top of three": (SQUARE, Top(3)),
    "top of squares": (geodp.Grid.regular((4, 4)), Top(2, "2")),
    "top with an attribute": (AGED, Top(1)),
    "median": (SQUARE, Quantile(Fraction(1, 2), "row")),
    "quantile": (geodp.Grid.regular((4, 2)), Quantile(Fraction(1, 4), "row")),
    "quantile of an attribute": (AGED, Quantile(Fraction(9, 10), "age")),
}


def utilities(question, table, event):
    """Utilities of all candidates, in the order of the draws."""
    measured = question.measure(table, event)
    if isinstance(question, Top):
        dense = np.zeros(measured.size, np.int64)
        dense[measured.rank] = measured.count
        return [[Fraction(int(n)) for n in dense]]
    candidates = quantile_candidates(measured, question.q, Fraction(1))
    return [[-int(d) * candidates.rate for d in candidates.deficit]]


def shapes(grid):
    """Counts by key: two thirds of rising ones; one populous cell; three of four; and both."""
    rising, inside = people(grid, 3)
    number = np.cumsum(inside) - 1
    alone, even = 9 * (number == 0), 2 * (number % 4 != 3)
    for dense in (rising * (number % 3 < 2), alone, even, np.where(number < 4, alone, even)):
        yield np.where(inside, dense, 0)


def selection_neighbours(grid, kind, contribution, most=300):
    inside = people(grid, 1)[1]
    for dense in shapes(grid):
        for other in neighbours(dense, inside, kind, contribution, most):
            yield table_of(grid, dense), table_of(grid, other)


def event_of(question, table, kind, contribution):
    terms = Terms.of(epsilon=1, neighbours=kind, contribution=contribution)
    return prepare_selection(table, question, Request(terms=terms)).design.event


def changes(question, grid, kind, contribution):
    """The largest change of a utility, as a part of what is stated; and whether all go one way."""
    worst, one_way = Fraction(0), True
    event = event_of(question, table_of(grid, people(grid, 1)[0]), kind, contribution)
    for one, two in selection_neighbours(grid, kind, contribution):
        pairs = zip(utilities(question, one, event), utilities(question, two, event), strict=True)
        by = [b - a for first, second in pairs for a, b in zip(first, second, strict=True)]
        worst = max(worst, max(map(abs, by)) / event.sensitivity)
        one_way &= min(by) >= 0 or max(by) <= 0
    return worst, one_way


@pytest.mark.parametrize("contribution", [1, 2])
@pytest.mark.parametrize("kind", NEIGHBOURS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_neighbour_changes_a_utility_by_more_than_a_question_states(name, kind, contribution):
    grid, question = QUESTIONS[name]
    worst, one_way = changes(question, grid, kind, contribution)
    assert worst == 1
    event = event_of(question, table_of(grid, people(grid, 1)[0]), kind, contribution)
    assert one_way or not event.monotone


def test_every_question_is_asked():
    assert {type(question) for _, question in QUESTIONS.values()} == {*Question.__subclasses__()}


class More(Exception):
    """A draw is asked for that a script does not hold: its probabilities."""


class Scripted(Selector):
    """Chooses as it is told, and knows how likely that is."""

    def __init__(self, real, script):
        self.real, self.script, self.chance = real, [*script], 1.0

    def weigh(self, chance):
        return self.real.weigh(chance)

    def declare(self, rate, stream):
        return ()

    def draw(self, candidates, key, stream):
        deficits = [*candidates.deficit.tolist(), *[candidates.beyond] * candidates.others]
        law = self.real.weigh(np.exp(-np.array([float(candidates.rate * d) for d in deficits])))
        if not self.script:
            raise More(law.size)
        chosen = self.script.pop(0)
        self.chance *= float(law[chosen])
        return chosen


def law_of(question, table, event, selector):
    """Return the probability of every answer, by all that can be drawn."""
    found, todo = {}, [()]
    measured = question.measure(table, event)
    while todo:
        script = todo.pop()
        told = Scripted(selector, script)
        try:
            answer = question.draw(told, table.grid, measured, event.rate, None)
        except More as more:
            todo += [(*script, i) for i in range(more.args[0])]
            continue
        key = repr([sorted(one.items()) for one in answer])
        found[key] = found.get(key, 0.0) + told.chance
    assert math.isclose(sum(found.values()), 1)
    return found


def worst_log_ratio(name, kind, selector, most=3, **changed):
    grid, question = QUESTIONS[name]
    worst, event = 0.0, event_of(question, table_of(grid, people(grid, 1)[0]), kind, 1)
    event = replace(event, **changed)
    for one, two in selection_neighbours(grid, kind, 1, most):
        laws = [law_of(question, table, event, selector) for table in (one, two)]
        assert laws[0].keys() == laws[1].keys()
        worst = max(worst, *(abs(math.log(laws[0][key] / laws[1][key])) for key in laws[0]))
    return worst


SMALL = [name for name in QUESTIONS if name not in ("top of three", "level of regions")]


@pytest.mark.parametrize("kind", NEIGHBOURS)
@pytest.mark.parametrize("name", SMALL)
def test_answers_are_as_likely_as_epsilon_allows(name, kind):
    for selector in SELECTORS.values():
        assert worst_log_ratio(name, kind, selector) <= 1 + 1e-9


@pytest.mark.parametrize("kind", NEIGHBOURS)
def test_a_choice_by_twice_the_rate_is_caught(kind):
    for selector in SELECTORS.values():
        assert worst_log_ratio("top", kind, selector, epsilon=Fraction(2)) > 1


# Devices.


def test_every_oracle_is_enumerated_by_its_twin():
    """``test_twins.py`` of the oracles tries all that the coins of these can say, holds the largest
    ratio of probabilities against epsilon, and catches half the chances."""
    assert {*ORACLES} <= {twin.name for twin in TWINS} | {"subset"}


# Series.

PLACES = geodp.Grid.regular((3, 3))
TIMES = ("2024-01", "2024-02", "2024-03")


def series_losses(method, person, kind, noise, bounds, given=None):
    """Largest losses of a person in all snapshots or in one, as a part of the whole budget."""
    dense, inside = people(PLACES, 3)
    key = np.flatnonzero(dense).astype(np.uint64)
    tables = [
        geodp.CountTable.from_keys(
            PLACES, key, dense[key.astype(np.int64)] + t, bound=ContributionBound(bound, "geodp")
        )
        for t, bound in enumerate(bounds)
    ]
    amounts = {"epsilon": 1} if noise == "laplace" else {"epsilon": 1, "delta": "1e-6"}
    terms = Terms.of(**amounts, neighbours=kind, contribution=given)
    request, options = (
        Request(terms=terms, method=method),
        SeriesOptions(person=person, noise=noise),
    )
    design = prepare_series(tables, Periods.of(TIMES), request, options).design
    each, factor = design.parts[0].event, 1
    if kind == REPLACE and person == "one":
        kind, factor = ADD_REMOVE, 2  # one leaves a snapshot, and the other comes into another
    found = []
    for table, bound in zip(tables, bounds, strict=True):
        counts = np.zeros(dense.size, np.int64)
        counts[table.key.astype(np.int64)] = table.count
        losses = Losses(design.sharing.method, table, each)
        others = neighbours(counts, inside, kind, given or bound, 12)
        found.append(max(losses.of(table_of(PLACES, other)) for other in others))
    if person == "all":
        return sum(found) / budget(design.total)
    return sum(sorted(found)[-factor:]) / budget(design.total)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", NEIGHBOURS)
@pytest.mark.parametrize("person", ["all", "one"])
@pytest.mark.parametrize("method", ["pyramid", "topdown"])
def test_no_person_of_a_series_costs_more_than_all_snapshots_spend(method, person, kind, noise):
    for bounds, given in (((1, 1, 1), None), ((1, 1, 1), 2), ((2, 2, 2), None), ((1, 2, 1), None)):
        ratio = series_losses(method, person, kind, noise, bounds, given)
        assert ratio <= 1
        if kind == ADD_REMOVE and {*bounds} != {1, 2}:
            assert ratio == 1
        if noise == "laplace" and kind == ADD_REMOVE and person == "one":
            assert ratio == 1, "the largest bound of all snapshots is that of the series"


def test_a_series_of_the_smallest_bound_is_caught(monkeypatch):
    """The control: the least of all tables' bounds, where it is the largest that holds."""
    assert series_losses("pyramid", "one", ADD_REMOVE, "laplace", (1, 2, 1)) == 1
    monkeypatch.setattr(
        "geodp.kinds.series.publish.combine_bounds",
        lambda bounds: min(bounds, key=lambda bound: bound.value),
    )
    assert series_losses("pyramid", "one", ADD_REMOVE, "laplace", (1, 2, 1)) == 2


# Totals.


def with_totals(number):
    """A grid with a total beside its parts in some attributes, and a person in all of them."""
    grid = geodp.Grid.regular((2, 2))
    labels = {"sex": ["total", "women", "men"], "age": ["total", "young", "old"]}
    for name in [*labels][:number]:
        grid = grid.with_attribute(name, labels[name])
    index = np.array([*np.ndindex(*[2] * number)]).T  # the total and the first part of each
    place = np.zeros((2, index.shape[1]), np.int64)
    return grid, grid.encode(np.concatenate([place, index]))


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("name", ["geometric", "pyramid"])
def test_totals_beside_parts_count_a_person_as_often_as_is_asked_for(name, number):
    grid, of_person = with_totals(number)
    dense, _ = people(grid, 2)
    table, more = table_of(grid, dense), dense.copy()
    more[of_person.astype(np.int64)] += 1
    least = 2**number
    for claimed in range(1, least):
        with refuses(UsageError, f"contribution-below-sums: \\b{least}\\b"):
            bound_contribution(table, claimed)
    most = bound_contribution(table, least).value
    method = mechanism(name)
    event = method.event(grid, Terms.of(epsilon=1, contribution=most))
    assert Losses(method, table, event).of(table_of(grid, more)) == 1
    wrong = method.event(grid, Terms.of(epsilon=1, contribution=least - 1))
    assert Losses(method, table, wrong).of(table_of(grid, more)) > 1


def test_sums_that_no_name_tells_count_a_person_twice_and_are_refused_for_less():
    grid = geodp.Grid.regular((2, 2)).with_attribute("what", ["a", "b", "c"])
    dense = np.zeros(1 << grid.bits, np.int64)
    for row, col in np.ndindex(2, 2):
        parts = [300 + row, 200 + col]
        for label, count in enumerate([sum(parts), *parts]):
            dense[int(grid.encode(np.array([[row], [col], [label]]))[0])] = count
    table, method = table_of(grid, dense), mechanism("geometric")
    once = method.event(grid, Terms.of(epsilon=1, contribution=1))
    with refuses(UsageError, "contribution-below-sums-found"):
        require_no_sums(grid, once.bound, InMemoryTable(table))
    twice = method.event(grid, Terms.of(epsilon=1, contribution=2))
    require_no_sums(grid, twice.bound, InMemoryTable(table))
    more = dense.copy()
    for label in (0, 1):
        more[int(grid.encode(np.array([[0], [1], [label]]))[0])] += 1
    assert Losses(method, table, twice).of(table_of(grid, more)) == 1
    assert Losses(method, table, once).of(table_of(grid, more)) == 2


@pytest.mark.parametrize(("kind", "stated"), [(ADD_REMOVE, 2), (REPLACE, 1)])
def test_what_public_totals_leave_is_what_is_stated(kind, stated):
    """Neighbours with the same totals: a person is in another cell of the same area."""
    grid, method = GRIDS["regions"], mechanism("geometric")
    event = method.event(grid, Terms.of(epsilon=1, neighbours=kind, contribution=1))
    dense, inside = people(grid, 2)
    area = find_places(grid, "county").region_of(grid, np.flatnonzero(inside).astype(np.uint64))
    losses, worst = Losses(method, table_of(grid, dense), event), Fraction(0)
    cells = np.flatnonzero(inside)
    for one, two in combinations(range(cells.size), 2):
        if area[one] == area[two]:
            moved = dense.copy()
            moved[cells[one]] -= 1
            moved[cells[two]] += 1
            worst = max(worst, losses.of(table_of(grid, moved)))
    assert worst == stated
    counties = dict.fromkeys(grid.hierarchy.codes[0], 1)
    totals = PublicTotals.of(grid, counties, "a book")
    assert f"epsilon = {stated}" in totals.describe_guarantee(event)


# Layouts.


class Agreed(Exception):
    """Stops a command where its contribution is known."""


EUROPE = ["--bounds", 4_000_000, 2_600_000, 4_700_000, 3_600_000]
NETHERLANDS = ["--bounds", 80_000, 430_000, 90_000, 440_000]
SWISS = ["--bounds", 2_590_000, 1_190_000, 2_610_000, 1_210_000]
ZENSUS = "Zensus2022_Bevoelkerungszahl_1km-Gitter.csv"
LAYOUTS = [
    ("zensus2022", forms.zensus_1km, ZENSUS, [], ["Einwohner"]),
    ("zensus2022", forms.zensus_ages, "Zensus2022_Alter_in_5_Altersklassen_1km-Gitter.csv",
     ["--by", "age"], ["Insgesamt_Bevoelkerung", "a18bis29"]),
    ("zensus2011", forms.zensus_2011, "Zensus_Bevoelkerung_100m-Gitter.csv", [], ["Einwohner"]),
    ("geostat2011", forms.geostat_2011, "GEOSTAT_grid_POP_1K_2011_V2_0_1.csv", EUROPE, ["TOT_P"]),
    ("geostat2018", forms.geostat_2018, "JRC_POPULATION_2018.csv", EUROPE, ["TOT_P_2018"]),
    ("census2021", forms.census_csv, "ESTAT_Census_2021_V2.csv", EUROPE, ["T", "M", "Y_LT15"]),
    ("census2021", forms.census_csv, "ESTAT_Census_2021_V2.csv", [*EUROPE, "--by", "sex"],
     ["T", "M", "Y_LT15"]),
    ("cbs", forms.cbs_csv, "cbs_vk100_2023_v1.csv", NETHERLANDS,
     ["aantal_inwoners", "aantal_mannen"]),
    ("cbs", forms.cbs_csv, "cbs_vk100_2023_v1.csv", [*NETHERLANDS, "--by", "sex"],
     ["aantal_inwoners", "aantal_mannen"]),
    ("statpop", forms.statpop, "STATPOP2023.csv", SWISS, ["BBTOT", "BBMTOT", "BBM01"]),
    ("statpop", forms.statpop, "STATPOP2023.csv", [*SWISS, "--by", "sex,age"],
     ["BBTOT", "BBMTOT", "BBM01"]),
    ("estat", forms.estat_1km, "tblT001100S5339.zip", ["--primary", 5339],
     ["T001100001", "T001100002"]),
]  # fmt: skip
"""Preset, form, file, options, and the columns in which a person of the first row is counted."""


def remove_person(path, columns):
    """Count one person less in the first row of a file."""
    if zipped := path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            (name,) = archive.namelist()
            data, encoding = archive.read(name), "cp932"
    else:
        data, encoding = path.read_bytes(), "utf-8"
    lines = data.decode(encoding).splitlines(keepends=True)
    sign = ";" if ";" in lines[0] else ","
    names = [name.strip().strip('"') for name in lines[0].split(sign)]
    first = 2 if zipped else 1
    fields = lines[first].rstrip("\r\n").split(sign)
    for column in columns:
        at = names.index(column)
        fields[at] = str(int(fields[at]) - 1)
    lines[first] = sign.join(fields) + "\r\n"
    changed = "".join(lines).encode(encoding)
    if zipped:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, changed)
    else:
        path.write_bytes(changed)


def read_as_published(path, options, patch):
    """Return the table that ``publish`` reads, and the contribution that is settled for it."""
    found = []

    def stop(table, contribution):
        found.append((table, bound(table, contribution).value))
        raise Agreed

    bound = publish.bound_contribution
    for more in ([], ["--contribution", 1]):  # of the layout, or asked of the operator
        with patch.context() as inner:
            inner.setattr(publish, "bound_contribution", stop)
            done = run(
                "publish", path, *options, *more, "--epsilon", 1, "--output", path.parent / "o"
            )
        if found:
            return found[0]
    raise AssertionError(done.stderr)


@pytest.mark.parametrize(
    ("preset", "form", "name", "options", "columns"),
    LAYOUTS,
    ids=[f"{row[0]}-{i}" for i, row in enumerate(LAYOUTS)],
)
def test_a_person_of_a_layout_is_counted_as_often_as_is_stated(
    preset, form, name, options, columns, tmp_path, monkeypatch
):
    form(tmp_path)
    before, stated = read_as_published(tmp_path / name, options, monkeypatch)
    remove_person(tmp_path / name, columns)
    after, again = read_as_published(tmp_path / name, options, monkeypatch)
    assert (stated, again) == (1, 1)
    by = before.to_dense() - after.to_dense()
    assert abs(by).sum() == stated
    assert before.grid == after.grid


def test_all_layouts_that_state_a_contribution_are_asked():
    stating = {preset.name for preset in presets() if preset.contribution is not None}
    assert stating <= {row[0] for row in LAYOUTS}
