"""What may follow a fault: nothing half, nothing charged and lost, nothing left, a sentence."""

import errno
import random
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tests.faults.calls import CALLS, Call, state_of
from tests.faults.desk import MANY, Desk

KINDS = ("kill", "fail", "stay")
"""The process is killed; one change fails; it and all that follow fail, as a disk is full."""

NUMBERS = (errno.ENOSPC, errno.EIO, errno.EROFS)


@dataclass(frozen=True)
class Fault:
    """What happens to which change of a call.

    Attributes
    ----------
    name : str
        Of the call.
    kind : str
        Of :data:`KINDS`.
    n : int
        Of the change, from 1.
    overwrite : bool
        Whether something is there that the call replaces.
    named : bool
        Whether the file system has no files without a name.
    """

    name: str
    kind: str
    n: int
    overwrite: bool
    named: bool

    @property
    def call(self) -> Call:
        """Its call."""
        return CALLS[self.name]

    @property
    def number(self) -> int:
        """The error; 0: a kill."""
        return 0 if self.kind == "kill" else NUMBERS[self.n % len(NUMBERS)]

    @property
    def last(self) -> int:
        """The last change that fails."""
        return MANY if self.kind == "stay" else self.n


@dataclass(frozen=True)
class Outcome:
    """What became of a fault.

    Attributes
    ----------
    charged : bool
        Whether it was charged and the release was not there.
    lost : bool
        Whether such a charge could not be resumed.
    left : tuple of str
        What is left after the next good run.
    """

    charged: bool = False
    lost: bool = False
    left: tuple[str, ...] = ()


class Matrix:
    """All faults of calls, each tried on a desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.changes = cache(self._changes)
        self.made = cache(self._names)

    def settings(self, name: str) -> list[tuple[bool, bool]]:
        """Return whether something is replaced and whether files need names, for a call."""
        call = CALLS[name]
        folder = (self.desk.made(name) / call.output).is_dir()
        return [
            (overwrite, named)
            for overwrite in ((False,) if call.replaces is False else (False, True))
            for named in ((False,) if folder else (False, True))
        ]

    def faults(self, name: str) -> Iterator[Fault]:
        """Yield all faults of a call."""
        for setting in self.settings(name):
            for n in range(1, len(self.changes(name, *setting)) + 1):
                for kind in KINDS:
                    yield Fault(name, kind, n, *setting)

    def sample(self, names: Sequence[str], seed: int) -> list[Fault]:
        """Draw a fault of every kind of each call, and one of each that is slow."""
        draw = random.Random(seed)
        drawn = []
        for name in names:
            setting = draw.choice(self.settings(name))
            for kind in [draw.choice(KINDS)] if CALLS[name].slow else KINDS:
                n = draw.randint(1, len(self.changes(name, *setting)))
                drawn.append(Fault(name, kind, n, *setting))
        return drawn

    def _changes(self, name: str, overwrite: bool, named: bool) -> list[str]:
        """Return the changes of a run without a fault."""
        call = CALLS[name]
        self.desk.begin(name, call, overwrite=overwrite)
        changes = self.desk.count(call, *_replacing(call, overwrite), named=named)
        assert len(changes) > 2
        assert self.desk.names() == self.made(name)
        return changes

    def _names(self, name: str) -> list[str]:
        """Return what a call leaves in the folder."""
        self.desk.begin(name, CALLS[name], overwrite=True)
        return self.desk.names()

    def attempt(self, fault: Fault) -> Outcome:
        """Let one fault happen, judge what is there then, and go on until a run is good."""
        desk, call = self.desk, fault.call
        changes = self.changes(fault.name, fault.overwrite, fault.named)
        what = f"{fault}: {changes[fault.n - 1]}"
        try:
            return self._attempt(fault)
        except Exception as error:
            error.add_note(f"{what}\nthere: {desk.names()}\n{call.words}")
            raise

    def _attempt(self, fault: Fault) -> Outcome:
        desk, call, out = self.desk, fault.call, self.desk.place / fault.call.output
        desk.begin(fault.name, call, overwrite=fault.overwrite)
        old, before, there = call.state(out), len(desk.charges(call)), desk.names()
        more = _replacing(call, fault.overwrite)
        told = {"first": fault.n, "last": fault.last, "number": fault.number}
        code, _, err = desk.run(call, *more, **told, named=fault.named)
        if fault.kind == "kill":
            assert code == -9, err
        else:
            assert code in (0, 1), err
        if code == 1:
            _require_sentence(err)
        self._require_private(call)
        new, charges = call.state(out), len(desk.charges(call)) - before
        assert charges in (0, 1)
        complete = code == 0 or new not in (None, old)
        if complete:
            call.require(out)
            assert charges == (call.charged is not None)
        elif new is None and old is not None:  # put aside, and the next run puts it back
            assert old in [call.state(one) for one in desk.place.glob(f".{out.name}.replaced-*")]
        if complete:
            self._repeat(call, new)
            return Outcome(left=self._left(fault))
        cleared = "could not be removed" not in err and call.state is state_of
        if (fault.kind, code, charges) == ("fail", 1, 0) and cleared:
            assert desk.names() == there
        waits = bool(charges) and self._resume(fault, before, more)
        if charges and call.resume == ("--resume",) and code == 1 and waits:
            assert "--resume" in err
        if not waits:
            self._go_on(fault, before + charges, more)
        return Outcome(bool(charges), bool(charges) and not waits, self._left(fault))

    def _go_on(self, fault: Fault, before: int, more: tuple[str, ...]) -> None:
        """Run a call again that has made nothing: it does so now, at its charge."""
        call = fault.call
        code, _, err = self.desk.run(call, *more)
        charges = len(self.desk.charges(call))
        assert code == 0, err
        assert charges == before + (call.charged is not None)
        call.require(self.desk.place / call.output)

    def _repeat(self, call: Call, new: object) -> None:
        """Run a call again whose output is complete: it is replaced, or stays as it is."""
        out = self.desk.place / call.output
        code, _, err = self.desk.run(call, *_replacing(call, True))
        if call.replaces is False:
            assert code in (0, 2), err
            assert call.state(out) == new
        else:
            assert code == 0, err
        call.require(out)

    def _resume(self, fault: Fault, before: int, more: tuple[str, ...]) -> bool:
        """Complete what was charged at no further charge; return whether that went."""
        call = fault.call
        if call.resume is None:
            return False
        code, _, err = self.desk.run(call, *call.resume, *more)
        assert len(self.desk.charges(call)) == before + 1
        if code == 0:
            call.require(self.desk.place / call.output)
            return True
        assert code == 2, err
        assert "Nothing waits" in err
        return False

    def _left(self, fault: Fault) -> tuple[str, ...]:
        return tuple(sorted({*self.desk.names()} - {*self.made(fault.name)}))

    def _require_private(self, call: Call) -> None:
        """Assert that nobody else may read what is for the operator, wherever it is by now."""
        own = {name for _, name in call.before}
        for path in self.desk.place.rglob("*"):
            if path.name == "restricted":
                assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
            elif call.confidential and path.name not in own:
                assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def _replacing(call: Call, overwrite: bool) -> tuple[str, ...]:
    return ("--overwrite",) if overwrite and call.replaces else ()


def _require_sentence(err: str) -> None:
    """Assert that a failure was told in one line."""
    told = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert len(told) == 1, err
    assert told[0].endswith("."), err
