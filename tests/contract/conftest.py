"""Desks and releases of every kind: one of each for all checks, and one of its own on request."""

import pytest

from tests.contract.desk import CHARGED, KEPT, Desk, require
from tests.contract.kinds import KINDS, widen
from tests.contract.reading import LANGUAGES, LIMIT, REASON, write_page


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
def later(kind, tmp_path_factory):
    """A desk with another release of the same files in ``out``, with noise of its own."""
    desk = Desk(tmp_path_factory.mktemp("later"), kind)
    desk.published()
    return desk


@pytest.fixture(scope="session")
def elsewhere(kind, tmp_path_factory):
    """A desk with a release of the same files on a wider map in ``out``."""
    desk = Desk(tmp_path_factory.mktemp("elsewhere"), widen(kind))
    desk.published()
    return desk


@pytest.fixture(scope="session")
def limited(kind, tmp_path_factory):
    """A desk with the release of ``released`` in ``out``, whose counts are all below its limit."""
    desk = Desk(tmp_path_factory.mktemp("limited"), kind)
    desk.published(*KEPT, "--display-below", LIMIT)
    return desk


@pytest.fixture(scope="session")
def withdrawn(released, tmp_path_factory):
    """A desk with a copy of the release in ``out``, withdrawn for the reason REASON."""
    desk = Desk(tmp_path_factory.mktemp("withdrawn"), released.kind)
    desk.copy(released.folder / "out", "out")
    require(desk.run("withdraw", "out", "--reason", REASON))
    return desk


@pytest.fixture(scope="session")
def pages(withdrawn):
    """The page of the withdrawn release by its language."""
    return {language: write_page(withdrawn, language) for language in LANGUAGES}
