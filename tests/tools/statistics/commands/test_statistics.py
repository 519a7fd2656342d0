"""``geodp statistics``: what is said of a written release."""

import pytest

import geodp
from geodp.accuracy.interval import Interval
from geodp.tools.statistics.commands.statistics import _table, statistics
from geodp.tools.statistics.estimate import Statistic
from tests.command import Runner
from tests.tools.statistics.test_estimate import villages

pytestmark = pytest.mark.law

RUNNER = Runner(statistics)
run, error_of, document_of = RUNNER.run, RUNNER.error_of, RUNNER.document_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("statistics") / "now"
    key = geodp.NoiseKey(b"now".ljust(32))
    geodp.publish(villages(1), epsilon=2, key=key, contribution=1).write(folder)
    return folder


def test_a_document_has_what_python_says(folder):
    document = document_of(folder, "--statistic", "cells:500-1999", "--json")
    now = geodp.Release(geodp.io.verify.readback.read_release_table(folder)[0])
    twin = geodp.statistics.estimate_statistics(now, ["cells:500-1999"])
    assert document == {"statistics": [one.to_dict() for one in twin]}
    assert twin[0].basis == "below 1 %"


def test_a_line_for_each_statistic(folder):
    said = run(folder, "--classes", "1,10").stdout.splitlines()
    names = [line.split()[0] for line in said]
    assert names == ["statistic", "cells:1-9", "cells:10+", "top-100"]


def test_people_below_the_offices_limit_are_not_printed(tmp_path):
    key = geodp.NoiseKey(bytes(32))
    given = {"epsilon": 50, "key": key, "contribution": 1}
    for name, limit in (("few", 100_000), ("many", 300)):
        release = geodp.publish(villages(1), **given, metadata={"display_below": limit})
        release.write(tmp_path / name)
    asked = ("--statistic", "top-100", "--statistic", "cells:500-1999")
    top, cells = run(tmp_path / "few", *asked).stdout.splitlines()[1:]
    assert top.split()[:5] == ["top-100", "<100,000", "–", "–", "–"]
    assert cells.split()[:2] == ["cells:500-1999", "64"]
    many = run(tmp_path / "many", *asked).stdout.splitlines()[1]
    documents = [
        document_of(tmp_path / name, *asked, "--json")["statistics"] for name in ("few", "many")
    ]
    assert [[one["below"] for one in found] for found in documents] == [[True, False], [False] * 2]
    assert many.split()[:2] == ["top-100", f"{documents[1][0]['value']:,.0f}"]


def test_classes_that_are_no_numbers_are_refused(folder):
    assert "whole numbers" in error_of(folder, "--classes", "few,many")


def test_figures_stand_apart_and_what_is_not_known_is_blank():
    known = Statistic("cells:500+", 3.25, 0.5, Interval(2.75, 2.5, 3.0), 0.1, "release")
    unknown = Statistic("top-100", 1234.0, None, None, 5.0, "not estimable")
    head, first, second = (line.split() for line in _table([known, unknown]).splitlines())
    assert head[:4] == ["statistic", "released", "bias", "corrected"]
    assert head[4:] == ["95", "%", "interval", "found", "by"]
    assert first == ["cells:500+", "3.25", "0.5", "2.75", "2.5", "to", "3", "release"]
    assert second == ["top-100", "1,234", "not", "estimable"]
