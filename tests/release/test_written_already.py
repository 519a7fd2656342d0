"""A release that was read from a folder is not written again, whatever its kind."""

import pytest

import geodp
from geodp.errors import UsageError
from tests.kinds.amounts.made import publish as publish_amounts
from tests.kinds.amounts.series.made import publish as publish_amounts_series
from tests.kinds.flows.test_publish import publish as publish_flows
from tests.kinds.households.test_publish import publish as publish_households
from tests.refusals import refuses

KINDS = {
    "flows": publish_flows,
    "amounts": publish_amounts,
    "series of amounts": publish_amounts_series,
    "households": publish_households,
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_opened_release_is_not_written_again(kind, tmp_path):
    KINDS[kind]().write(tmp_path / "out")
    opened = geodp.open(tmp_path / "out")
    with refuses(UsageError, "release-written-already"):
        opened.write(tmp_path / "again")
    assert not (tmp_path / "again").exists()
