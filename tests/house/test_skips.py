"""A test that is skipped for a reason that is not listed fails."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
HERE = Path(__file__).parents[1]


@pytest.fixture
def run(pytester):
    for name in ("conftest.py", "skips.txt"):
        (pytester.path / name).write_text((HERE / name).read_text("utf-8"), "utf-8")

    def call(source):
        pytester.makepyfile(f"import pytest\n{source}")
        return pytester.runpytest_inprocess("-p", "no:cacheprovider")

    return call


LISTED = "'takes no such grid'"
UNLISTED = "'it is late'"


@pytest.mark.parametrize(
    "source",
    [
        "def test_it(): pytest.skip({})",
        "@pytest.mark.skipif(True, reason={})\ndef test_it(): pass",
        "@pytest.fixture\ndef it(): pytest.skip({})\ndef test_it(it): pass",
    ],
)
def test_reasons_of_tests_are_looked_up(run, source):
    run(source.format(LISTED)).assert_outcomes(skipped=1)
    found = run(source.format(UNLISTED))
    assert found.ret == 1
    found.stdout.fnmatch_lines(["*does not list why: it is late*"])


def test_reasons_of_whole_files_are_looked_up(run):
    source = "pytest.skip({}, allow_module_level=True)\ndef test_it(): pass"
    run(source.format(LISTED)).assert_outcomes(skipped=1)
    run(source.format(UNLISTED)).assert_outcomes(errors=1)


def test_a_tool_that_is_not_installed_is_no_reason(run):
    run("pytest.importorskip('no_such_module')").assert_outcomes(errors=1)


def test_what_is_expected_to_fail_is_no_skip(run):
    run("@pytest.mark.xfail\ndef test_it(): raise ValueError").assert_outcomes(xfailed=1)
