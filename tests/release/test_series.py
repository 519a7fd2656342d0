"""A series of any kind: one charge, exact parts, written, opened, verified and resumed."""

import json
import shutil
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.folder.kinds import find_kind
from geodp.io.folder.manifest import sha256
from geodp.io.folder.pending import PendingDraw
from geodp.io.verify import verify_release
from geodp.io.verify.verify import verify
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import ADD_REMOVE, REPLACE
from geodp.release.transaction import pack_draw, restore
from geodp.table.index import find_period
from tests.command import geodp as command
from tests.contract.kinds import offer_own
from tests.keys import keep
from tests.kinds.changing import list_sums
from tests.kinds.flows.forms import sample_few_pairs
from tests.refusals import refuses
from tests.release.report.html.structure import find_faults
from tests.release.series import KINDS, TIMES, make

CHANGE = ("--time", "2015", "--time", "2020")
SIDES = ("Earlier", "Later")
WEST, EVERYWHERE = (0, 0, 8, 16), (0, 0, 16, 16)


@pytest.fixture(scope="module", autouse=True)
def _installed():
    """The kind of one's own and its series, as if their package was installed."""
    with offer_own(), sample_few_pairs():
        yield


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def series(kind):
    return make(kind).prepared.release()


@pytest.fixture(scope="module")
def folder(series, tmp_path_factory):
    out = tmp_path_factory.mktemp("series") / "out"
    series.write(out)
    return out


def region(kind, place):
    """A region of a kind: a pair of places, for flows."""
    return (place, place) if kind.startswith("flows") else (place,)


def same(one, other):
    """Whether two releases have the same tables."""
    pairs = zip(one.tables.values(), other.tables.values(), strict=True)
    return all(
        np.array_equal(getattr(a.table, name), getattr(b.table, name))
        for a, b in pairs
        for name in ("key", "count")
    )


def failed(public):
    return {one.name: one.detail for one in verify(public, None) if not one.ok}


@pytest.mark.parametrize(
    ("person", "neighbours", "part", "budget"),
    [
        ("all", ADD_REMOVE, 2, {"epsilon": "1/3"}),
        ("one", ADD_REMOVE, 1, {"epsilon": None, "rho": "1/7"}),
        ("one", REPLACE, 2, {"epsilon": "1/3"}),
    ],
)
def test_parts_of_the_budget_are_exact(kind, person, neighbours, part, budget):
    made = make(kind, person, neighbours=neighbours, **budget).prepared.release()
    name, whole = next((name, one) for name, one in budget.items() if one)
    promise = made.index.guarantee
    assert (getattr(promise, name), promise.changed) == (whole, part)
    for one in made:
        assert Fraction(getattr(one.index.guarantee, name)) * part == Fraction(whole)
        assert one.index.guarantee.spends == promise.each_spends
    assert (promise.assumptions[-1].kind == "series") is (person == "one")
    assert "each period" in promise.assumptions[0].statement
    assert f"at most {part} of the 2 periods differ" in promise.source


def test_one_line_of_the_ledger_and_free_replays(kind, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    unit = {"unit": "household"} if kind == "households by size" else {}
    ledger.add_dataset("census", PureDP(1), **unit)
    kept = geodp.NoiseKey.from_file(keep(tmp_path / "key"))
    first, again = (make(kind, key=kept, ledger=ledger).prepared.release() for _ in range(2))
    (line,) = ledger.charges("census")
    assert line.loss == PureDP(Fraction(1))
    assert ", 2 periods 2015 to 2020, " in line.mechanism
    assert {one.index.budget for one in first} == {first.index.budget}
    assert all(map(same, first, again))
    assert not same(*first)


def test_a_written_series_is_opened_and_verified(kind, series, folder):
    public = folder / "public"
    assert failed(public) == {}
    again = geodp.open(public)
    assert type(again) is type(series)
    assert again.periods == series.periods == TIMES
    assert all(map(same, series, again))
    assert again.index.guarantee == series.index.guarantee
    assert failed(public / "2020") == {}
    assert verify_release.main([str(public)]) == 0
    for time, one in again.named.items():
        told = (table.card().guarantee.not_protected for table in one.tables.values())
        assert {find_period(facts).time for facts in told} == {time}
    assert again.estimate(*region(kind, WEST))["2020"] == series["2020"].estimate(
        *region(kind, WEST)
    )
    assert find_kind(public).title in str(_refusal(public))


def _refusal(public):
    with pytest.raises(UsageError) as refused:
        find_kind(public).refuse_table()
    return refused.value


def test_a_written_series_is_shown_and_exported(kind, folder, tmp_path):
    for words in (
        ("report", folder, "--output", tmp_path / "a.html"),
        ("map", folder, "--output", tmp_path / "a.svg"),
        ("map", folder, *CHANGE, "--output", tmp_path / "b.svg"),
        ("export", folder, "--to", "csv:excel", "--output", tmp_path / "made"),
    ):
        done = command(*words)
        assert done.returncode == 0, done.stderr
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert find_faults(page) == []
    assert all(f'<th scope="row">{time}</th>' in page for time in TIMES.names)
    assert TIMES.names[-1] in (tmp_path / "a.svg").read_text(encoding="utf-8")
    change = (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert all(f">{name}: {time}" in change for name, time in zip(SIDES, TIMES.names, strict=True))
    assert sorted(one.name for one in (tmp_path / "made").iterdir()) == [*TIMES.names]
    assert {*geodp.open(folder).to_pandas()["time"]} == {*TIMES.names}


def test_a_series_is_an_array_and_is_drawn(kind, series):
    """All maps of all periods, on one scale, and the curve of a place."""
    array = series.to_xarray()
    assert array.sizes["time"] == 2
    assert array["time"].dt.year.values.tolist() == [2015, 2020]
    name = next(n for n, one in series[0].tables.items() if not one.grid.maps.missing)
    for time, one in zip(array[name], series, strict=True):
        assert np.array_equal(time, one.tables[name].to_xarray())
    maps = series.plot()
    assert [one.get_title() for one in maps] == [*TIMES.names]
    assert len({one.images[0].norm.vmax for one in maps}) == 1
    curve = series.plot(EVERYWHERE)
    assert [label.get_text() for label in curve.get_xticklabels()] == [*TIMES.names]
    with refuses(UsageError, "quantity-unknown"):
        series.plot(EVERYWHERE, quantity="elephants")


def find_change(kind, found):
    """The change of one number of a kind."""
    names = {"own kind": "rate", "amounts": "count"}
    return found[names.get(kind, "persons")]


@pytest.mark.parametrize(
    "kind", [one for one in KINDS if one != "flows with a prior"], indirect=True, scope="module"
)
def test_two_periods_are_compared(kind, series):
    given = region(kind, EVERYWHERE)
    if kind.startswith("flows"):
        given = (given,)
    change = series.compare(*given)
    if not kind.startswith("flows"):
        back = series.compare(*given, times=("2020", "2015"))
        change, back = (find_change(kind, one) for one in (change, back))
        assert change.value == pytest.approx(-back.value)
    told = {since: series.changes(*given, since=since) for since in ("previous", "first")}
    assert told["previous"] == told["first"]
    assert [*told["first"]] == [TIMES.names]
    with refuses(UsageError, "option-out-of-range"):
        series.changes(*given, since="2015")
    for times in (("2015",), "2015", ("2015", "2015"), ("2015", "2020", "2015")):
        with refuses(UsageError, "series-two-times"):
            series.compare(*given, times=times)
    with refuses(UsageError, "period-unknown"):
        series["2016"]


def test_swapped_periods_are_found(folder, tmp_path):
    public = shutil.copytree(folder / "public", tmp_path / "public")
    (path,) = public.glob("*-series.json")
    (public / "2015").rename(public / "other")
    (public / "2020").rename(public / "2015")
    (public / "other").rename(public / "2020")
    plain = json.loads(path.read_text())
    for one in plain["periods"]:
        (index,) = (public / one["time"]).glob("*.json")
        one["index_sha256"] = sha256(index)
    path.write_text(json.dumps(plain))
    list_sums(public)
    assert "another time" in failed(public)["periods"]


def test_a_run_that_was_cut_short_is_completed(kind, tmp_path):
    made = make(kind, key=geodp.NoiseKey(bytes(32)))
    prepared = made.prepared
    key = geodp.NoiseKey(bytes(32)).derive(prepared.identify(), prepared.design.draws)
    drawn = prepared.draw(key)
    whole = prepared.design.complete(drawn, None)
    card, arrays = pack_draw(prepared.design, drawn)
    stored = PendingDraw("", "", "census", "", {}, {}, json.loads(json.dumps(card)), arrays)
    found = restore(stored, made.design, made.inputs, tmp_path, None)
    assert all(map(same, whole, found))
    assert found.index == whole.index
    assert [one.index for one in found] == [one.index for one in whole]
