"""``geodp statistics``: a written release, with and without a public map beside it."""

import pytest

import geodp
from geodp.features.statistics.commands.statistics import _lines, statistics
from geodp.features.statistics.estimate import Statistic
from tests.command import Runner
from tests.features.statistics.test_unmixing import villages

pytestmark = pytest.mark.law

RUNNER = Runner(statistics)
run, error_of, document_of = RUNNER.run, RUNNER.error_of, RUNNER.document_of


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("statistics")
    for name, epsilon in (("now", 2), ("before", 50)):
        key = geodp.NoiseKey(name.encode().ljust(32))
        release = geodp.publish(villages(1), epsilon=epsilon, key=key, contribution=1)
        release.write(folder / name)
    return folder


def test_a_document_has_what_python_says(folders):
    arguments = (folders / "now", "--prior", folders / "before", "--statistic", "inhabited")
    document = document_of(*arguments, "--years", "3", "--json")
    table = geodp.io.verify.readback.read_release_table(folders / "before")[0]
    now = geodp.Release(geodp.io.verify.readback.read_release_table(folders / "now")[0])
    twin = geodp.statistics.estimate_statistics(now, ["inhabited"], prior=table, years=3)
    assert document == {"statistics": [one.to_dict() for one in twin]}
    assert twin[0].basis == "prior map"


def test_measurements_of_all_cells_are_used(tmp_path):
    key = geodp.NoiseKey(bytes([1] * 32))
    given = {"epsilon": 2, "key": key, "contribution": 1, "measurements": "cell"}
    release = geodp.publish(villages(1), **{"contribution": 1, **given})
    release.write(tmp_path / "now")
    document = document_of(tmp_path / "now", "--statistic", "inhabited", "--json")
    twin = geodp.statistics.estimate_statistics(release, ["inhabited"])
    assert document == {"statistics": [one.to_dict() for one in twin]}
    assert twin[0].basis == "measurements"


def test_a_line_for_each_statistic(folders):
    said = run(folders / "now", "--classes", "1,10").stdout.splitlines()
    names = [line.split()[0] for line in said]
    assert names == ["statistic", "inhabited", "cells:1-9", "cells:10+", *names[4:]]
    assert "median" in names


def test_a_median_below_the_offices_limit_is_not_printed(tmp_path):
    key = geodp.NoiseKey(bytes(32))
    given = {"epsilon": 50, "key": key, "contribution": 1, "metadata": {"display_below": 300}}
    geodp.publish(villages(1), **{"contribution": 1, **given}).write(tmp_path / "now")
    asked = (tmp_path / "now", "--statistic", "median", "--statistic", "top-100")
    median, top = run(*asked).stdout.splitlines()[1:]
    few, many = document_of(*asked, "--json")["statistics"]
    assert (few["below"], many["below"]) == (True, False)
    assert 0 < few["value"] < 300 < many["value"]
    assert median.split()[:5] == ["median", "<300", "–", "–", "–"]
    assert top.split()[:2] == ["top-100", f"{many['value']:,.0f}"]


def test_classes_that_are_no_numbers_are_refused(folders):
    assert "whole numbers" in error_of(folders / "now", "--classes", "few,many")


def test_figures_stand_apart_and_what_is_not_known_is_blank():
    known = Statistic("median", 3.25, 0.5, 2.75, 0.1, 2.5, 3.0, "prior map")
    unknown = Statistic("top-100", 1234.0, None, None, None, None, None, "nothing")
    head, first, second = (line.split() for line in _lines([known, unknown]))
    assert head[:4] == ["statistic", "released", "bias", "corrected"]
    assert head[4:] == ["95", "%", "interval", "found", "by"]
    assert first == ["median", "3.25", "0.5", "2.75", "2.5", "to", "3", "prior", "map"]
    assert second == ["top-100", "1,234", "nothing"]
