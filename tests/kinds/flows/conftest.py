import pytest

from tests.kinds.flows.forms import sample_few_pairs
from tests.kinds.flows.test_publish import publish


@pytest.fixture(scope="package", autouse=True)
def few_pairs():
    """Few pairs of each size are enough for all but the tests of their errors."""
    with sample_few_pairs():
        yield


@pytest.fixture(scope="session")
def release():
    """A release that tests share."""
    return publish()
