"""Desks and releases of every kind: one of each for all checks, and one of its own on request."""

import pytest

from tests.contract.desk import CHARGED, KEPT, Desk
from tests.contract.kinds import KINDS
from tests.contract.reading import Reader
from tests.contract.records import RECORDS


@pytest.fixture(scope="session")
def kind(request):
    """The kind that is checked: all checks of one kind run one after the other."""
    return KINDS[request.param]


@pytest.fixture
def desk(kind, tmp_path):
    """A desk of the kind for one check, with its files, a kept key and a ledger."""
    return Desk(tmp_path, kind)


@pytest.fixture(scope="session")
def released(kind, tmp_path_factory):
    """A desk with a release of the kind in ``out``, which no check may change.

    Its noise is that of the kept key, and the ledger was charged for it.
    """
    desk = Desk(tmp_path_factory.mktemp("released"), kind)
    desk.published(*(() if kind.before else (*CHARGED, *KEPT)))
    return desk


@pytest.fixture(scope="session")
def reader(kind, tmp_path_factory):
    """A reader of changed worlds of the kind."""
    return Reader(Desk(tmp_path_factory.mktemp("read"), kind))


@pytest.fixture(scope="session")
def persons(kind, tmp_path_factory):
    """A reader of records of persons of the kind."""
    return Reader(Desk(tmp_path_factory.mktemp("persons"), RECORDS[kind.name]))
