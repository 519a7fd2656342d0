"""Verification of a series of amounts: whatever is changed is found."""

import json
import shutil

import pytest

from geodp.errors import GeodpError
from geodp.io.folder.manifest import sha256
from geodp.io.verify.verify import verify
from geodp.kinds.amounts.kind import AmountsSeriesCard
from geodp.release.opening import open_written
from geodp.release.simulated_cells import errors_of
from geodp.release.verifying_series import verify_periods
from tests.command import geodp
from tests.kinds.amounts.made import EDGES
from tests.kinds.amounts.series.made import publish, tables
from tests.kinds.amounts.test_verify import list_sums

INDEX = "amounts-series.json"


def failed(public):
    return {
        c.name: c.detail for c in verify_periods(public, AmountsSeriesCard, errors_of) if not c.ok
    }


def change_index(public, change):
    card = json.loads((public / INDEX).read_text())
    change(card)
    (public / INDEX).write_text(json.dumps(card))
    list_sums(public)


def list_again(public):
    """Let the index list the periods as they are now, as somebody who changes them would."""

    def change(card):
        for one in card["periods"]:
            one["index_sha256"] = sha256(public / one["time"] / "amounts.json")

    change_index(public, change)


def change_period(public, time, change):
    path = public / time / "amounts.json"
    card = json.loads(path.read_text())
    change(card)
    path.write_text(json.dumps(card))
    list_sums(public / time)
    list_again(public)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"person": "one"},
        {"person": "one", "neighbours": "replace-one"},
        {"epsilon": None, "rho": "1/8", "delta": "1e-6"},
        {"epsilon": None, "rho": "1/8"},
        {"delta": "1e-6"},
    ],
    ids=["all", "one", "replaced", "rho and delta", "rho", "epsilon and delta"],
)
def test_a_series_holds(tmp_path, more):
    publish(tables(n=500, classes=EDGES), **more).write(tmp_path / "out")
    done = geodp("verify", tmp_path / "out")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("questions") == 2
    assert geodp("verify", tmp_path / "out" / "public" / "2020").returncode == 0


def test_the_command_asks_index_and_periods(public):
    done = geodp("verify", public.parent)
    assert done.returncode == 0, done.stdout
    assert "ok      budget: 2 x epsilon 1/2 = 1" in done.stdout
    names = [check.name for check in verify_periods(public, AmountsSeriesCard)]
    questions = ["checksums", "times", "periods", "budget", "guarantee", "restricted"]
    assert names == ["index", *questions, "2015", "2020"]


def test_a_smaller_epsilon_than_rho_implies_is_found(tmp_path):
    publish(tables(n=500), epsilon=None, rho="1/8", delta="1e-6").write(tmp_path / "out")
    public = tmp_path / "out" / "public"

    def change(card):
        promise = card["guarantee"]
        before, promise["epsilon"] = promise["epsilon"], "1/100"
        for name in ("spends", "in_words"):
            promise[name] = promise[name].replace(before, "1/100")

    change_index(public, change)
    assert "guarantee" in failed(public)


def test_a_changed_period_is_found(public):
    path = public / "2020" / "amounts.csv"
    path.write_text(path.read_text().replace("0_0,", "0_1,", 1))
    assert "checksums" in failed(public)
    list_sums(public / "2020")
    list_sums(public)
    assert "2020" in failed(public)


def test_a_period_of_another_clip_or_charge_is_found(public):
    change_period(public, "2020", lambda card: card["amount"].update(upper="2000"))
    assert "index.amount.upper" in failed(public)["guarantee"]


@pytest.mark.parametrize(("name", "value"), [("source", "trust"), ("epsilon", "1/4")])
def test_a_period_that_promises_otherwise_is_found(public, name, value):
    change_period(public, "2020", lambda card: card["guarantee"].update({name: value}))
    assert {*failed(public)} <= {"guarantee", "2020"}
    assert failed(public)


def test_a_missing_period_is_found(tmp_path):
    times = ("2015", "2016", "2017")
    publish(tables(3, n=500), times).write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    shutil.rmtree(public / "2017")
    assert "checksums" in failed(public)
    change_index(public, lambda card: card["periods"].pop())
    found = failed(public)
    assert {"periods", "budget"} <= {*found}


def test_a_period_of_another_series_is_found(public, tmp_path):
    publish(tables(classes=EDGES), epsilon=2).write(tmp_path / "other")
    shutil.rmtree(public / "2020")
    shutil.copytree(tmp_path / "other" / "public" / "2020", public / "2020")
    list_again(public)
    assert {"periods", "budget", "guarantee"} <= {*failed(public)}


def test_a_file_more_a_link_or_no_index_is_found(public):
    (public / "more.txt").write_text("more")
    assert "checksums" in failed(public)
    list_sums(public)
    assert "checksums" in failed(public)
    (public / "more.txt").unlink()
    list_sums(public)
    assert failed(public) == {}
    (public / "2015" / "link").symlink_to(public / "2020" / "amounts.csv")
    assert list(failed(public)) == ["index"]
    (public / "2015" / "link").unlink()
    (public / INDEX).write_text("{}")
    assert list(failed(public)) == ["index"]


MISSING = "is missing; fetch all files of the release from where it was published."
DAMAGES = {
    "a period": (lambda public: shutil.rmtree(public / "2020"), f"2020/amounts.json {MISSING}"),
    "a file in place of a period": (
        lambda public: (shutil.rmtree(public / "2020"), (public / "2020").write_text("x")),
        f"2020/amounts.json {MISSING}",
    ),
    "the index of a period": (
        lambda public: (public / "2020" / "amounts.json").unlink(),
        f"2020/amounts.json {MISSING}",
    ),
    "an empty index of a period": (
        lambda public: (public / "2020" / "amounts.json").write_text(""),
        "2020/amounts.json is not readable as JSON",
    ),
    "the records of a period": (
        lambda public: shutil.rmtree(public / "2020" / "count"),
        "2020/count holds no release: there is no public/release.json.",
    ),
    "the card of the records": (
        lambda public: (public / "2020" / "count" / "release.json").unlink(),
        "2020/count holds no release: there is no public/release.json.",
    ),
    "the table of a period": (
        lambda public: (public / "2020" / "amounts.parquet").unlink(),
        "does not list exactly the existing files",
    ),
    "an empty table of a period": (
        lambda public: (public / "2020" / "amounts.parquet").write_bytes(b""),
        "2020/amounts.parquet was changed",
    ),
    "the checksums": (lambda public: (public / "SHA256SUMS").unlink(), f"SHA256SUMS {MISSING}"),
    "an empty index": (
        lambda public: (public / INDEX).write_text(""),
        f"{INDEX} is not readable as JSON",
    ),
    "no index but a list": (
        lambda public: (public / INDEX).write_text("[]"),
        "The card's schema is None",
    ),
    "an index without periods": (
        lambda public: change_index(public, lambda card: card.update(periods=[])),
        "The index lists no tables and no periods.",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damages_are_told_in_sentences(public, damage):
    """Of what is damaged, and not in the words of the system."""
    change, said = DAMAGES[damage]
    change(public)
    checks = [one for one in verify(public, errors_of) if not one.ok]
    details = " ".join(one.detail for one in checks)
    assert said in details
    assert "Errno" not in details
    if damage == "the checksums":
        # A series is opened without them.
        assert len(open_written(public)) == 2
        return
    with pytest.raises(GeodpError) as refused:
        open_written(public)
    assert "Errno" not in str(refused.value)


def test_the_index_of_another_series_is_told(public, tmp_path):
    publish(tables(n=500, classes=EDGES), ("2014", "2015")).write(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "public" / INDEX, public / INDEX)
    found = failed(public)
    assert found["checksums"] == f"{INDEX} was changed: its SHA-256 differs."
    assert found["periods"] == f"2014/amounts.json {MISSING}"
    list_sums(public)
    assert "Errno" not in " ".join(failed(public).values())
