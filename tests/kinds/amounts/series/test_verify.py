"""Verification of a series of amounts: whatever is changed is found."""

import shutil

import pytest

from geodp.errors import GeodpError
from geodp.io.folder.manifest import sha256
from geodp.release.opening import open_written
from tests.kinds.amounts.made import EDGES
from tests.kinds.amounts.series.made import publish, tables
from tests.kinds.changing import change_index, failed

INDEX = "amounts-series.json"


def change_period(public, time, change=lambda card: None):
    """Change the index of a period, which the index of all lists as it is then."""
    change_index(public / time, change)

    def list_again(card):
        for one in card["periods"]:
            one["index_sha256"] = sha256(public / one["time"] / "amounts.json")

    change_index(public, list_again)


def test_a_smaller_epsilon_than_rho_implies_is_found(tmp_path):
    publish(tables(n=500), epsilon=None, rho="1/8", delta="1e-6").write(tmp_path / "out")

    def change(card):
        promise = card["guarantee"]
        before, promise["epsilon"] = promise["epsilon"], "1/100"
        for name in ("spends", "in_words"):
            promise[name] = promise[name].replace(before, "1/100")

    change_index(tmp_path / "out" / "public", change)
    assert "guarantee" in failed(tmp_path / "out" / "public")


def test_a_period_of_another_series_is_found(public, tmp_path):
    publish(tables(classes=EDGES), epsilon=2).write(tmp_path / "other")
    shutil.rmtree(public / "2020")
    shutil.copytree(tmp_path / "other" / "public" / "2020", public / "2020")
    change_period(public, "2020")
    assert {"periods", "budget", "guarantee"} <= {*failed(public)}


MISSING = "is missing; fetch all files of the release from where it was published."
NO_PERIOD, NO_RECORDS = f"2020/amounts.json {MISSING}", "2020/count holds no release: there is no"


def write(name, text):
    return lambda public: (public / name).write_text(text)


def remove(name):
    """Remove a file or a folder."""

    def change(public):
        path = public / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

    return change


def put_a_file_in_its_place(public):
    remove("2020")(public)
    write("2020", "x")(public)


def list_no_periods(public):
    change_index(public, lambda card: card.update(periods=[]))


DAMAGES = [
    (remove("2020"), NO_PERIOD),
    (put_a_file_in_its_place, NO_PERIOD),
    (remove("2020/amounts.json"), NO_PERIOD),
    (write("2020/amounts.json", ""), "2020/amounts.json is not readable as JSON"),
    (remove("2020/count"), NO_RECORDS),
    (remove("2020/count/release.json"), NO_RECORDS),
    (remove("2020/amounts.parquet"), "does not list exactly the existing files"),
    (write("2020/amounts.parquet", ""), "2020/amounts.parquet was changed"),
    (remove("SHA256SUMS"), f"SHA256SUMS {MISSING}"),
    (write(INDEX, ""), f"{INDEX} is not readable as JSON"),
    (write(INDEX, "[]"), "The card's schema is None"),
    (list_no_periods, "The index lists no tables and no periods."),
]


@pytest.mark.parametrize(("change", "said"), DAMAGES)
def test_damages_are_told_in_sentences(public, change, said):
    """Of what is damaged, and not in the words of the system."""
    change(public)
    details = " ".join(failed(public).values())
    assert said in details
    assert "Errno" not in details
    if said.startswith("SHA256SUMS"):
        # A series is opened without them.
        assert len(open_written(public)) == 2
        return
    with pytest.raises(GeodpError) as refused:
        open_written(public)
    assert "Errno" not in str(refused.value)
