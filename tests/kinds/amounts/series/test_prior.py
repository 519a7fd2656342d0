"""A series with a prior: one for every period, which changes nothing of what is measured."""

import json

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.folder.staged_release import StagedPeriods
from geodp.kinds.amounts.kind import AmountsSeriesCard
from geodp.kinds.amounts.publish import prepare_amounts
from geodp.kinds.amounts.running.publish import publish_series
from geodp.kinds.amounts.series import AmountsSeriesOptions, prepare_series
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from geodp.release import simulation
from geodp.release.periods import Periods, name_part
from geodp.release.request import Request
from geodp.release.verifying_series import verify_periods
from tests.command import Runner, override
from tests.command import geodp as command
from tests.keys import keep
from tests.kinds.amounts.made import KEY
from tests.kinds.amounts.running.test_publish_series import call, inputs  # noqa: F401
from tests.kinds.amounts.series.test_verify import (
    change_index,
    change_period,
    failed,
)
from tests.kinds.amounts.test_prior import SOURCE, as_published, not_private, read, told, town
from tests.refusals import refuses

TIMES = ("2015", "2020")
AREA = (8, 8, 24, 24)
EDGES = (100, 300)


@pytest.fixture(scope="module")
def tables():
    return [read(town(), 1, EDGES), read(town(), 2, EDGES)]


@pytest.fixture(scope="module")
def census():
    return as_published(read(town(), 3))


@pytest.fixture(scope="module")
def earlier():
    return geodp.amounts.publish(read(town(), 3, EDGES), epsilon=2, contribution=1)


def publish(tables, **more):
    terms = {"person": "all", "contribution": 1, "epsilon": "2/5"} | more
    return geodp.amounts.publish_series(tables, times=TIMES, **terms)


def prepare(tables, **more):
    request = Request(terms=Terms.of(epsilon="2/5", contribution=1), key=KEY)
    options = AmountsSeriesOptions(person="all")
    return prepare_series(tables, Periods.of(TIMES), request, options, **more)


@pytest.fixture(scope="module")
def informed(tables, census):
    return publish(tables, **told(census))


def errors(series, tables):
    """Mean absolute errors of the counts of cells, by period."""
    return [
        np.abs(one.count.table.to_dense() - table.records.to_dense()).mean()
        for one, table in zip(series, tables, strict=True)
    ]


def test_every_period_is_more_accurate(informed, tables):
    plain = publish(tables)
    for a, b in zip(errors(informed, tables), errors(plain, tables), strict=True):
        assert a < 0.6 * b
    assert all(one.index.prior.is_used for one in informed)


@pytest.mark.parametrize("kind", ["census", "release"])
def test_a_period_with_a_prior_is_the_release_that_it_would_be_by_itself(
    tables, census, earlier, kind
):
    """With the part of its budget and its key, and with what it learned of the prior."""
    prior = told(census if kind == "census" else earlier)
    prepared = prepare(tables, **prior)
    made = prepared.release()
    series_key = KEY.derive(prepared.identify(), prepared.design.draws)
    for number, table in enumerate(tables):
        alone = prepare_amounts(table, prepared.design.parts[number].request, **prior)
        drawn = alone.draw(series_key.derive(name_part(b"geodp amounts period 1", number)))
        one = alone.design.complete(drawn, None)
        assert one.index.prior == made[number].index.prior
        np.testing.assert_array_equal(one.count.table.count, made[number].count.table.count)
        np.testing.assert_array_equal(one.sum.table.count, made[number].sum.table.count)


def test_a_prior_changes_nothing_of_what_is_measured(tables, census, earlier, tmp_path):
    plain = prepare(tables)
    for prior in (census, earlier):
        prepared = prepare(tables, **told(prior))
        # The same key of the series, and so the same noise; the same streams.
        assert prepared.identify() == plain.identify()
        assert prepared.design.draws == plain.design.draws
        for one, other in zip(prepared.design.parts, plain.design.parts, strict=True):
            assert one.plan == other.plan
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("incomes", PureDP(10))
    key = geodp.NoiseKey.from_file(keep(tmp_path / "key"))
    kept = {"ledger": ledger, "dataset": "incomes", "key": key}
    for more in (told(census), {}, told(earlier)):
        publish(tables, **kept, **more)
    assert len(ledger.charges("incomes")) == 1


def test_index_and_cards_state_the_prior(informed, shared):
    index = informed.index
    assert index.prior.source == SOURCE
    # What was learned is that of a period.
    assert not any(one.levels for one in index.prior.streams)
    assert all(one.index.prior.unlearned == index.prior for one in informed)
    assert informed[0].index.prior != informed[1].index.prior
    assert index.guarantee.assumptions[-1].source == SOURCE
    assert any(SOURCE in fact for fact in index.guarantee.not_protected)
    out = shared.write(informed)
    public = out / "public"
    assert [check for check in verify_periods(public, AmountsSeriesCard) if not check.ok] == []
    opened = geodp.open(public)
    assert opened.index.prior == index.prior
    assert [one.index.prior for one in opened] == [one.index.prior for one in informed]
    for folder in (out, public / "2020"):
        for language in ("en", "ja"):
            done = command("explain", folder, "--language", language)
            assert "five years before" in " ".join(done.stdout.split()), done.stderr


@pytest.mark.parametrize("change", ["index", "gone", "source", "learned"])
def test_a_changed_prior_is_found(informed, shared, tmp_path, change):
    shared.copy(informed, tmp_path / "out")
    public = tmp_path / "out" / "public"
    if change == "index":
        change_index(public, lambda card: card["prior"].update(source="another"))
    elif change == "gone":
        change_index(public, lambda card: card.pop("prior"))
    elif change == "source":
        change_period(public, "2020", lambda card: card["prior"].update(source="another"))
    else:

        def trust(card):
            card["prior"]["streams"][0]["levels"][0]["reliability"] = 0.5

        change_period(public, "2020", trust)
        # A period alone tells what it learned.
        assert "2020" in failed(public)
        return
    assert "index.prior" in failed(public)["guarantee"]


def test_intervals_of_periods_are_narrowed(informed, census, monkeypatch):
    monkeypatch.setattr(simulation, "RELEASES", 8)
    plain, narrow = informed.estimate(AREA), informed.estimate(AREA, prior=census)
    for time in TIMES:
        one, two = plain[time].count, narrow[time].count
        assert one.count == two.count
        assert two.high - two.low < 0.8 * (one.high - one.low)
        assert informed[time].estimate(AREA, prior=census) == narrow[time]


def test_what_is_no_prior_is_refused(tables, census, earlier):
    own = [(part, "prior-is-table") for one in tables for part in (one.records, *one.classes)]
    for prior, code in (*own, (tables[0], "amounts-prior-kind"),
                        (not_private(tables[0]), "prior-not-private")):  # fmt: skip
        with refuses(UsageError, code):
            publish(tables, **told(prior))
    with refuses(UsageError, "prior-source-missing"):
        publish(tables, prior=census)
    with refuses(UsageError, "source-without-prior"):
        publish(tables, prior_source=SOURCE)
    series = publish(tables, **told(earlier))
    with refuses(UsageError, "amounts-compare-prior"):
        earlier.compare(AREA, release=series["2020"])
    change = series.compare(AREA)["count"]
    assert change.low < change.high


RUNNER = Runner(publish_series)


@pytest.fixture
def with_prior(call, tmp_path):  # noqa: F811
    """The call of a series with a map of people, as a file that is read like the inputs."""
    lines = ["x,y,people"]
    for i, people in enumerate(np.random.default_rng(8).lognormal(2, 1, 256).astype(int)):
        lines.append(
            f"{4e6 + 1000 * (i % 16) + 500:.1f},{3e6 + 1000 * (i // 16) + 500:.1f},{people}"
        )
    (tmp_path / "census.csv").write_text("\n".join(lines) + "\n")
    named = ("--prior-value", "people", "--prior-is-public", "--prior-source", "census 2010")
    return [*call, "--prior", tmp_path / "census.csv", *named]


def test_the_command_takes_the_priors_of_a_release(with_prior, call, tmp_path):  # noqa: F811
    out = tmp_path / "out"
    done = RUNNER.run(*with_prior, "--person", "id")
    assert done.exit_code == 0, done.output
    assert command("verify", out).returncode == 0
    index = json.loads((out / "public" / "amounts-series.json").read_text())
    assert index["prior"]["source"] == "census 2010"
    run = json.loads((out / "restricted" / "run.json").read_text())
    assert run["prior"]["file"].endswith("census.csv")
    # A period of an earlier series is a release, too.
    words = [
        *call,
        "--prior",
        out / "public" / "2015",
        "--prior-is-public",
        "--prior-source",
        "series of before",
    ]
    words = override("amounts", "publish-series", *words, "--output", tmp_path / "later")[2:]
    assert RUNNER.run(*words).exit_code == 0
    later = json.loads((tmp_path / "later" / "public" / "amounts-series.json").read_text())
    assert later["prior"]["identity"]


def test_what_does_not_go_with_a_prior_is_refused(with_prior, call, tmp_path):  # noqa: F811
    assert "goes with --prior only" in RUNNER.error_of(*call, "--prior-value", "people")
    assert "State where the prior" in RUNNER.error_of(*with_prior[:-2])
    year = next(str(one) for one in call if str(one).startswith("2015=")).partition("=")[2]
    words = [*call, "--prior", year, "--prior-is-public", "--prior-source", "the year itself"]
    assert "one of the inputs" in RUNNER.error_of(*words)
    assert not (tmp_path / "out").exists()


def test_an_interrupted_run_keeps_what_was_learned(with_prior, tmp_path, monkeypatch):
    command("key", tmp_path / "key")
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("incomes", PureDP(2))
    kept = [*with_prior, "--key-file", tmp_path / "key", "--classes", "300"]
    kept += ["--ledger", tmp_path / "ledger", "--dataset", "incomes"]

    def fail(*_, **__):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(StagedPeriods, "write_periods", fail)
        assert RUNNER.run(*kept).exit_code != 0
    done = RUNNER.run(*kept, "--resume")
    assert done.exit_code == 0, done.output
    again = [*override("amounts", "publish-series", *kept, "--output", tmp_path / "again")[2:]]
    assert RUNNER.run(*again).exit_code == 0
    assert command("verify", tmp_path / "out").returncode == 0
    assert len(ledger.charges("incomes")) == 1
    indexes = [
        json.loads((tmp_path / at / "public" / "2020" / "amounts.json").read_text())
        for at in ("out", "again")
    ]
    assert indexes[0]["prior"] == indexes[1]["prior"]
    assert any(one["levels"] for one in indexes[0]["prior"]["streams"])
