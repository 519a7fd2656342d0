"""Options as data: what they say, and the one check of them for commands and functions."""

import json
from pathlib import Path

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.options.option import (
    Option,
    as_flag,
    as_keyword,
    check_together,
    grouped,
    joined,
)
from tests.refusals import refuses

TABLE = joined(
    grouped(
        "Domain",
        Option("--mask", "File.", type=Path, excludes=("bounds",)),
        Option("--mask-source", "Source.", needs=("mask",)),
        Option("--bounds", "Bounds.", type="bounds"),
    ),
    Option("--gap", "Gap.", low=0.0, high=1e6, needs=("pings", "stays")),
    Option("--pings", "Pings."),
    Option("--stays", "Stays."),
)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"mask_source": "a"}, "option-needs-option: --mask-source goes with --mask only"),
        ({"gap": 0.0}, "option-needs-option: --gap goes with --pings or --stays only"),
        ({"mask": "a", "bounds": "b"}, "option-excludes-option: --mask or --bounds, not both"),
    ],
)
def test_what_does_not_go_together_is_refused(given, told):
    with refuses(UsageError, told):
        check_together(TABLE, given)


@pytest.mark.parametrize(
    "given",
    [{}, {"mask": "a", "mask_source": "b"}, {"gap": 1.0, "stays": "s"}, {"mask_source": ()}],
)
def test_what_goes_together_is_taken(given):
    check_together(TABLE, given)


def test_a_need_that_a_command_does_not_have_is_none():
    check_together([TABLE.one("mask_source")], {"mask_source": "a"})


@pytest.mark.parametrize(
    ("option", "wrong", "told"),
    [
        (Option("--k", "K.", low=1), 0, "k= takes a whole number from 1 on"),
        (Option("--k", "K.", low=1), True, "whole"),
        (Option("--k", "K.", low=2, high=7), 8, "from 2 to 7"),
        (Option("--k", "K.", low=0.0, high=1.0), float("nan"), "a number from 0 to 1"),
        (Option("--k", "K.", choices=("a", "b")), "c", "one of a, b"),
    ],
)
def test_a_value_out_of_range_is_refused(option, wrong, told):
    with refuses(UsageError, f"option-out-of-range: {told}"):
        option.check(wrong, as_keyword)


def test_the_first_of_one_name_is_kept_at_its_place():
    other = Option("--bounds", "Other bounds.")
    found = joined(other, TABLE)
    assert [one.name for one in found[:2]] == ["bounds", "mask"]
    assert len(found) == len(TABLE)
    assert found.one("bounds").help == "Other bounds."
    assert found.one("mask", everyday=True).everyday


def test_an_option_is_plain_values():
    told = json.loads(json.dumps(TABLE.one("gap").describe()))
    assert (told["flag"], told["type"], told["low"], told["needs"]) == (
        *("--gap", "float", 0.0),
        ["pings", "stays"],
    )
    assert "default" not in told
    assert as_flag(TABLE.one("gap")) == "--gap"


def test_a_number_of_numpy_becomes_one_of_python():
    """A card states it, and JSON has no numbers of NumPy."""
    size = Option("--max-size", "Most persons.", type=int, low=2, high=100)
    assert type(size.check(np.int64(7), as_keyword)) is int
    share = Option("--share", "Part.", type=float, low=0, high=1)
    assert type(share.check(np.float32(0.5), as_keyword)) is float


def test_a_default_that_is_written_out_excludes_and_needs_nothing():
    """A recipe names every option, also those that are as they would be without it."""
    table = grouped(
        "Domain",
        Option("--order", "-", default="morton", excludes=("regions",)),
        Option("--regions", "-"),
        Option("--mean-size", "-", type=float, default=2.3, needs=("regions",)),
    )
    check_together(table, {"order": "morton", "regions": "areas.csv"})
    check_together(table, {"mean_size": 2.3})
    with refuses(UsageError, "option-excludes-option"):
        check_together(table, {"order": "official", "regions": "areas.csv"})
    with refuses(UsageError, "option-needs-option"):
        check_together(table, {"mean_size": 2.5})
