"""A cluster that is named and does not answer is refused in a sentence."""

import pytest

from geodp.cluster import publishing
from geodp.errors import UsageError
from tests.refusals import refuses


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://", "tls://127.0.0.1:9"])
def test_a_scheduler_that_does_not_answer(address, monkeypatch):
    monkeypatch.setattr(publishing, "PATIENCE", 0.3)
    with refuses(UsageError, "cluster-silent"), publishing.connect(address, 1):
        pass
