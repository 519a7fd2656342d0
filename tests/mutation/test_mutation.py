"""The tool that tries mutants: which ones it makes, and that it tells who lives."""

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.mutation import trial
from tests.mutation.__main__ import equivalent, mutants_of
from tests.mutation.mutants import mutants
from tests.mutation.targets import TARGETS

SOURCE = '''
"""Words."""
LIMIT = 3

class Box:
    """Words."""
    size: int = 2

    @property
    def full(self) -> bool:
        """Words."""
        if self.size > LIMIT and not self.open:
            raise ValueError("words", 1)
        return sorted(self.size - 1, key=None)
'''

CHANGES = [
    "m:<module> constant: 3 -> 4",
    "m:<module> constant: 3 -> 2",
    "m:Box.<class> constant: 2 -> 3",
    "m:Box.<class> constant: 2 -> 1",
    "m:Box.full condition: self.size > LIMIT and (not self.open) -> "
    "not (self.size > LIMIT and (not self.open))",
    "m:Box.full guard: self.size > LIMIT and (not self.open) -> False",
    "m:Box.full operator: self.size > LIMIT and (not self.open) -> "
    "self.size > LIMIT or not self.open",
    "m:Box.full comparison: self.size > LIMIT -> self.size >= LIMIT",
    "m:Box.full comparison: self.size > LIMIT -> self.size <= LIMIT",
    "m:Box.full argument: sorted(self.size - 1, key=None) -> sorted(key=None)",
    "m:Box.full argument: sorted(self.size - 1, key=None) -> sorted(self.size - 1)",
    "m:Box.full operator: self.size - 1 -> self.size + 1",
    "m:Box.full constant: 1 -> 2",
    "m:Box.full constant: 1 -> 0",
]


def test_the_mutants_of_a_module_are_all_of_its_code_and_none_of_its_words():
    assert sorted(m.name for m in mutants("m", ast.parse(SOURCE))) == sorted(CHANGES)


def test_a_mutant_is_one_change_and_the_source_stays_as_it_is():
    tree = ast.parse(SOURCE)
    before = ast.unparse(tree)
    for mutant in mutants("m", tree):
        changed = ast.unparse(mutant.applied(tree))
        lines = zip(before.splitlines(), changed.splitlines(), strict=True)
        assert sum(old != new for old, new in lines) == 1
        compile(mutant.applied(tree), "m", "exec")
    assert ast.unparse(tree) == before


def test_names_do_not_change_with_other_lines_and_tell_repetitions_apart():
    moved = "import os\n\n\n" + SOURCE.replace("size: int = 2", "size: int = 2\n    other = ()")
    assert {m.name for m in mutants("m", ast.parse(moved))} == set(CHANGES)
    twice = mutants("m", ast.parse("def f(a):\n    return a + 1 if a else a + 1"))
    names = [m.name for m in twice]
    assert len(set(names)) == len(names)
    assert "m:f operator: a + 1 -> a - 1 (occurrence 2)" in names


def test_the_largest_is_turned_into_the_smallest_and_every_into_some():
    found = mutants("m", ast.parse("def f(a):\n    return max(a), all(a), least(a), a.min()"))
    turned = [(m.before, m.after) for m in found if m.kind == "function"]
    assert turned == [("max(a)", "min(a)"), ("all(a)", "any(a)")]


def test_functions_that_are_not_there_are_named():
    with pytest.raises(LookupError, match=r"Box\.empty"):
        mutants("m", ast.parse(SOURCE), ("Box.full", "Box.empty"))


def test_all_targets_are_there_and_their_mutants_are_many():
    named = {mutant.name for target in TARGETS for mutant in mutants_of(target)}
    assert len(named) >= 300
    assert set(equivalent()) <= named, "equivalent.txt has mutants that do not exist any more"
    assert all(equivalent().values()), "an equivalent mutant needs a reason"
    for target in TARGETS:
        for test in target.tests:
            file = Path(__file__).parents[2] / test.partition("::")[0]
            assert file.exists() or not file.suffix, f"{test} is not there"


TRIAL = """
from tests.mutation import trial
from tests.mutation.__main__ import mutants_of
from tests.mutation.targets import Target

good = Target("geodp.privacy.neighbours", ("tests/privacy/test_ledger_attacks.py", "-k", "unit"))
idle = Target("geodp.privacy.neighbours", ("tests/house/test_house.py", "-k", "cellar"))
mutant = next(m for m in mutants_of(good) if "casefold() != " in m.name)
loops = Target("geodp.privacy.hash_chain", ("tests/privacy/test_ledger_changes.py", "-k", "export"))
endless = next(m for m in mutants_of(loops) if ":Log.lines operator: len(line) + 1" in m.name)
trial.prepare()
most = 99, 99
rows = [(good, None, most), (good, mutant, most), (idle, mutant, most)]
rows += [(good, None, (0, 99)), (loops, endless, (600, 4))]
for target, chosen, limit in rows:
    (verdict,) = trial.attempt([(target, chosen)], {target.module: limit}, 1)
    print(verdict.survived, "tests/" in verdict.by, "long" in verdict.by)
"""


@pytest.mark.law
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants are tried in forks")
def test_who_is_killed_and_who_lives():
    done = subprocess.run(
        [sys.executable, "-c", TRIAL], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [
        "True False False",
        "False True False",
        "True False False",
        "False False True",
        "False False True",
    ], done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants are tried in forks")
def test_a_trial_without_an_output_kills_no_mutant(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "raise SystemExit(70)"])
    tried = trial._Running(TARGETS[0], None, tmp_path / "gone", time.monotonic(), 60.0)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(RuntimeError, match="could not start"):
        list(trial._ended({child.pid: tried}))
