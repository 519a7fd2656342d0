"""Options of commands that read records of amounts: help shows those that are taken."""

import pytest

from geodp.cli.readers import reader_options
from geodp.kinds.amounts.records import AmountRecords
from geodp.kinds.amounts.running.options import OF_OTHERS, OTHER_LIMITS
from tests.command import geodp


def test_other_readers_have_the_options_that_are_refused():
    taken = {one.name for one in AmountRecords.option_fields()} - {*OTHER_LIMITS}
    every = {one.name for one in reader_options()}
    # How many records a row stands for, and that rows are located, are said by other options; and
    # what is left out by those of counts.
    others = {"value", "points", "missing", "raster_unit"}
    assert every - taken - others == {*OF_OTHERS}


@pytest.mark.parametrize("command", ["publish", "publish-series", "choose-clip"])
def test_help_shows_no_option_that_is_refused(command):
    done = geodp("amounts", command, "--help-all")
    assert done.returncode == 0, done.stderr
    words = {*done.stdout.split()}
    assert "--person" in words
    for one in reader_options():
        if one.name in OF_OTHERS:
            assert words.isdisjoint(one.opts), one.opts
