import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from geodp import progress

progress.EVERY = 3600.0  # what commands say here does not depend on how busy the machine is
os.environ["MPLBACKEND"] = "Agg"
os.environ["LANGUAGE"] = "C"  # of messages, whose language tests compare
# Matrices here are small, and processes run side by side: threads would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Under nohup and in shells' background jobs Ctrl-C is ignored, also by whatever tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Modules and tests stay to the end, so nothing is looked at for garbage until they are collected.
gc.disable()
# The first call of a kernel compiles it, so the time of one example means nothing.
settings.register_profile("default", deadline=None, max_examples=30)
settings.register_profile("ci", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

LINES = Path(__file__).with_name("skips.txt").read_text(encoding="utf-8").splitlines()
REASONS = tuple(line for line in LINES if line and not line.startswith("#"))


def fail_unless_listed(report):
    """Turn a skip for a reason that ``skips.txt`` does not list into a failure."""
    if report.skipped and not hasattr(report, "wasxfail"):
        *_, text = report.longrepr
        reason = text.removeprefix("Skipped: ")
        if not reason.startswith(REASONS):
            report.outcome = "failed"
            report.longrepr = f"skipped, and tests/skips.txt does not list why: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return fail_unless_listed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return fail_unless_listed((yield))


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """Releases and their folders that many tests read, each made once."""
    from tests.shared_releases import SharedReleases

    return SharedReleases(lambda: tmp_path_factory.mktemp("shared"))


@pytest.fixture
def ledger(tmp_path):
    """A ledger with one data set."""
    from tests.ledgers import small_ledger

    return small_ledger(tmp_path)


@pytest.fixture
def key(tmp_path):
    """A kept key, made for one test."""
    from geodp.privacy.key import NoiseKey
    from tests.keys import keep

    return NoiseKey.from_file(keep(tmp_path / "key"))


@pytest.fixture
def japanese(monkeypatch):
    """Sentences in Japanese, as where the environment asks for them."""
    import gettext

    from geodp.cli.translation import DOMAIN, FOLDER

    monkeypatch.setenv("LANGUAGE", "ja")
    before = gettext.textdomain(), gettext.bindtextdomain(DOMAIN)
    gettext.bindtextdomain(DOMAIN, str(FOLDER))
    gettext.textdomain(DOMAIN)
    yield
    gettext.textdomain(before[0])
    gettext.bindtextdomain(DOMAIN, before[1])


@pytest.fixture
def japanese_font(monkeypatch, tmp_path_factory):
    """A font of boxes for the letters of JIS X 0208, whatever this machine has."""
    from geodp.io.write.drawing import fonts
    from tests.io.write.drawing.test_fonts import font, forget

    folder = tmp_path_factory.mktemp("fonts")
    pairs = (bytes((row, place)) for row in range(0xA1, 0xF5) for place in range(0xA1, 0xFF))
    letters = b"".join(pairs).decode("euc_jp", errors="ignore")
    font(folder / "f.ttf", "Test Japanese", sorted(set(letters)))
    monkeypatch.setattr(fonts, "_folders", lambda: [folder])
    forget()
    yield
    forget()


def pytest_configure(config):
    """Run the contract, and fix what is left to chance where a run must be like the one before."""
    from tests.contract import table

    config.pluginmanager.register(table)
    if os.environ.get("CI"):
        from tests.chance import FixedNoise

        config.pluginmanager.register(FixedNoise())


def pytest_collection_finish():
    """Leave what is collected out of every later search for garbage."""
    gc.freeze()
    gc.enable()


def pytest_sessionstart(session):
    """Compile this worker's share of the kernels, where tests run side by side."""
    worker = getattr(session.config, "workerinput", None)
    if worker is not None:
        from tests.warm import compile_share

        compile_share(int(worker["workerid"].removeprefix("gw")), worker["workercount"])
