"""The tool that tries mutants: which ones it makes, and that it tells who lives."""

import ast
import os
import subprocess
import sys

import pytest

from tests.mutation import identity
from tests.mutation.__main__ import equivalent, mutants_of
from tests.mutation.mutants import mutants
from tests.mutation.targets import ROOT, TARGETS, Target

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


def test_what_must_agree_altogether_is_compared_without_a_part():
    source = "a = (x, y) == (u, v)\nb = (x, y) not in {(u, v) for u, v in all}\nc = (x, y) == z"
    found = {one.name for one in mutants("m", ast.parse(source)) if " part: " in one.name}
    assert found == {
        "m:<module> part: (x, y) == (u, v) -> (x,) == (u,)",
        "m:<module> part: (x, y) == (u, v) -> (y,) == (v,)",
        "m:<module> part: (x, y) not in {(u, v) for u, v in all} -> "
        "(x,) not in {(u,) for u, v in all}",
        "m:<module> part: (x, y) not in {(u, v) for u, v in all} -> "
        "(y,) not in {(v,) for u, v in all}",
    }


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


@pytest.fixture(scope="module")
def identities():
    return identity.plan()


def test_all_targets_are_there_and_their_mutants_are_many(identities):
    named = {mutant.name for target in TARGETS for mutant in mutants_of(target)}
    assert len(named) >= 300
    drawn_from = {name.partition(":")[0] for name in set(equivalent()) - named}
    named |= {m.name for module in drawn_from for m in mutants_of(Target(module, ()))}
    named |= {*identities}
    assert set(equivalent()) <= named, "equivalent.txt has mutants that do not exist any more"
    assert all(equivalent().values()), "an equivalent mutant needs a reason"
    for target in TARGETS:
        for test in target.tests:
            file = ROOT / test.partition("::")[0]
            assert file.exists() or not file.suffix, f"{test} is not there"


TRIAL = """
from tests.mutation import trial
from tests.mutation.__main__ import mutants_of
from tests.mutation.targets import Target

good = Target("geodp.privacy.terms", ("tests/privacy/test_ledger_attacks.py", "-k", "unit"))
idle = Target("geodp.privacy.terms", ("tests/house/test_house.py", "-k", "cellar"))
mutant = next(m for m in mutants_of(good) if "casefold() != " in m.name)
loops = Target("geodp.privacy.hash_chain", ("tests/privacy/test_ledger_changes.py", "-k", "export"))
endless = next(m for m in mutants_of(loops) if ":Log.lines operator: len(line) + 1" in m.name)
trial.prepare()
most = 99, 99
rows = [(good, None, most), (good, mutant, most), (idle, mutant, most)]
rows += [(good, None, (0, 99)), (loops, endless, (600, 4))]
for target, chosen, limit in rows:
    (verdict,) = trial.attempt([(target, chosen)], {target.tests: limit}, 1)
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


LABELLED = '''
SALT = b"geodp key"
FIRST, SECOND = digest(b"stream", b"a"), digest(b"stream", b"b")

class Stream(IntEnum):
    TOTAL = 1

@dataclass
class Card:
    """Words."""
    name: str
    size: int
    note: str = "x"

    version: ClassVar[int] = 3

def name(key, number):
    if number < 0:
        raise ValueError("words")
    own, other = key.derive(FIRST), key.derive(SECOND)
    return digest(SALT, encode((("number", number), ("on", [own]))))
'''

IDENTITIES = {
    "m:<module> identity: b'geodp key' -> b'geodp keyx'",
    "m:<module> identity: b'stream' -> b'streamx'",
    "m:<module> identity: b'stream' -> b'streamx' (occurrence 2)",
    "m:<module> identity: b'a' -> b'ax'",
    "m:<module> identity: b'b' -> b'bx'",
    "m:<module> order: digest(b'stream', b'a') -> digest(b'a', b'stream')",
    "m:<module> order: digest(b'stream', b'b') -> digest(b'b', b'stream')",
    "m:Stream identity: 1 -> 8",
    "m:Card order of fields: name size note version -> size name note version",
    "m:Card identity: 3 -> 10",
    "m:name identity: 'number' -> 'numberx'",
    "m:name identity: 'on' -> 'onx'",
    "m:name order: ('number', number) -> (number, 'number')",
    "m:name order: ('on', [own]) -> ([own], 'on')",
    "m:name order: (('number', number), ('on', [own])) -> (('on', [own]), ('number', number))",
    "m:name order: digest(SALT, encode((('number', number), ('on', [own])))) -> "
    "digest(encode((('number', number), ('on', [own]))), SALT)",
}


def test_labels_streams_versions_and_orders_are_what_identifies_a_release():
    found = identity.mutants("m", ast.parse(LABELLED), ordered=True)
    streams = "m:name order: (key.derive(FIRST), key.derive(SECOND)) -> "
    streams += "(key.derive(SECOND), key.derive(FIRST))"
    assert {one.name for one in found} == IDENTITIES | {streams}
    cards = identity.mutants("m", ast.parse(LABELLED), ordered=False)
    assert {one.kind for one in cards} == {"identity", "order"}


def test_every_kind_of_release_has_mutants_of_identity(identities):
    assert len(identities) > 500
    for home in identity.KINDS:
        module = f"geodp.{home.replace('/', '.')}."
        of_kind = [one for _, one in identities.values() if one.module.startswith(module)]
        assert {one.kind for one in of_kind} >= {"identity", "order of fields"}, home
