"""What is mutated, and the quick tests that must notice: one row for each module."""

from dataclasses import dataclass
from pathlib import Path

LEDGER = (
    "tests/test_ledger_attacks.py",
    "tests/test_ledger_changes.py",
    "tests/test_ledger.py",
    "-k",
    "not flipped and not does_not_grow",
)


@dataclass(frozen=True)
class Target:
    """A module, its tests, and perhaps some functions of it that are meant alone.

    ``compiled``: tests may use compiled kernels; not so where a kernel itself is changed, as Numba
    would take the unchanged one from its cache.
    """

    module: str
    tests: tuple[str, ...]
    functions: tuple[str, ...] = ()
    compiled: bool = True

    @property
    def path(self) -> Path:
        """Below the project's folder."""
        return Path(*self.module.split(".")).with_suffix(".py")


TARGETS = (
    Target("geodp.ledger", LEDGER),
    Target("geodp.books", LEDGER),
    Target("geodp.accounts", LEDGER),
    Target("geodp.chain", LEDGER),
    Target("geodp.loss", ("tests/test_loss.py",)),
    Target("geodp.neighbours", ("tests/test_ledger_attacks.py", "-k", "unit")),
    Target("geodp.keyfile", ("tests/test_keyfile.py",)),
    Target("geodp.contribution", ("tests/test_contribution.py",)),
)
