"""Kernels that were compiled when geodp was built, and are part of its wheel.

A set is a file: a line of JSON that states the sources and versions it was compiled from and where
each function's code lies, followed by the codes in the format of Numba's own cache. A set is used
only on a processor that has all features it was compiled for, with the same sources and the same
Numba; see docs/decisions/0020. :mod:`geodp.kernels.build` makes the sets.

Kernels are compiled for the types of arguments that commands call them with, which are listed as
plain JSON values. A number is ``"int64"``, an array ``"uint64 1 C"`` or ``"uint64 1 C readonly"``,
a tuple a list of these, and a named tuple an object of one name,
``{"geodp.kernels.noise.NoiseTable": [...]}``.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba import types
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

LIST = Path(__file__).with_name("signatures.json")
"""File of the signatures with which Python calls each kernel, by the kernel's name.

``python -m tests.signatures`` writes it. Kernels that only other kernels call are compiled into
these and not listed.
"""
NUMBERS = (types.Integer, types.Float, types.Boolean)


def text_of(signature: Sequence[Any]) -> str | None:
    """Write the types of a call as text; None if a type is not supported."""
    try:
        return json.dumps([_write(one) for one in signature], separators=(",", ":"))
    except TypeError:
        return None


def types_of(text: str) -> tuple[Any, ...]:
    """Read the types of a call from text."""
    return tuple(_read(one) for one in json.loads(text))


def listed() -> Iterator[tuple[Any, tuple[Any, ...], str]]:
    """Iterate over the listed kernels, with the types of each call and their text."""
    for name, signatures in json.loads(LIST.read_text(encoding="utf-8")).items():
        for one in signatures:
            text = json.dumps(one, separators=(",", ":"))
            yield _named(name), types_of(text), text


def _named(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def _write(of: Any) -> Any:
    # Exact types only: a subclass such as an unaligned or otherwise special array is compiled on
    # demand instead of being confused with a plain one.
    if type(of) is types.Array and of.aligned:
        return f"{of.dtype} {of.ndim} {of.layout}" + " readonly" * (not of.mutable)
    if isinstance(of, types.BaseNamedTuple):
        made = of.instance_class
        return {f"{made.__module__}.{made.__qualname__}": [_write(one) for one in of.types]}
    if isinstance(of, types.BaseTuple):
        return [_write(one) for one in of.types]
    if type(of) in NUMBERS:
        return str(of)
    raise TypeError(of)


def _read(written: Any) -> Any:
    if isinstance(written, list):
        return types.BaseTuple.from_types([_read(one) for one in written])
    if isinstance(written, dict):
        ((name, parts),) = written.items()
        return types.BaseTuple.from_types([_read(one) for one in parts], _named(name))
    name, *form = written.split()
    number = numba.from_dtype(np.dtype(name))
    if not form:
        return number
    return types.Array(number, int(form[0]), form[1], readonly="readonly" in form)


FOLDER = Path(__file__).with_name("compiled")

HERE_ONLY = re.compile(r" at 0x[0-9a-f]+| from '[^']*'|(?<=^# File: ).*", re.MULTILINE)
"""What Numba's annotated sources say of folders and of addresses of memory."""


@dataclass(frozen=True)
class Target:
    """A kind of processor that sets are compiled for.

    Attributes
    ----------
    machine : str
        The result of ``platform.machine()``.
    name : str
        Name of the set.
    processor : str
        LLVM's name of the processor.
    features : tuple[str]
        Features that a processor needs beyond the baseline of its machine.
    avoided : tuple[str]
        Features that LLVM would use for all such processors, and that are switched off.
    """

    machine: str
    name: str
    processor: str
    features: tuple[str, ...]
    avoided: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Path of its set for this Python."""
        return FOLDER.joinpath(f"{_python()}-{self.name}.kernels")

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that make Numba compile for this target, in a separate process."""
        flags = [f"+{name}" for name in self.features] + [f"-{name}" for name in self.avoided]
        return {
            "NUMBA_CPU_NAME": self.processor,
            # The processor's name alone would leave the features of the building machine in the
            # code, and it would crash on older ones.
            "NUMBA_CPU_FEATURES": ",".join(flags),
            # Intel's vector library is not installed everywhere, and its results may differ in
            # the last digit.
            "NUMBA_DISABLE_INTEL_SVML": "1",
        }

    def runs_here(self) -> bool:
        """Whether this processor has all features that the target needs."""
        return platform.machine() == self.machine and _features() >= {*self.features}


V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
V3 = (*V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
V4 = (*V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

HALF = ("prefer-256-bit",)
"""LLVM's tuning for v4, switched off: it uses 256 of 512 bits, as the first processors with wider
registers slowed down with them. With it ``topdown`` and ``pyramid`` take a fifth longer."""

TARGETS = (
    Target("x86_64", "x86-64-v4", "x86-64-v4", V4, HALF),
    Target("x86_64", "x86-64-v3", "x86-64-v3", V3),
    Target("x86_64", "x86-64-v2", "x86-64-v2", V2),
    Target("aarch64", "armv8-a", "generic", ()),
)
"""The best of a machine first; the levels of x86-64 are those of its psABI. Every 64-bit ARM
processor runs ``armv8-a``."""


def _features() -> set[str]:
    """Return this processor's features by LLVM's names; an empty set if LLVM does not know them."""
    try:
        return {name for name, there in binding.get_host_cpu_features().items() if there}
    except RuntimeError:
        return set()


def _python() -> str:
    """Return the tag of this Python, to which a set's pickled objects belong: ``cpython-313t``."""
    return f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"


def stamp(sources: str) -> dict[str, str]:
    """List what a set must match besides the processor: its sources and the compiler's versions.

    A set is machine code that calls into Numba and NumPy, so it runs only with what compiled it.
    """
    return {
        "sources": sources,
        "Python": _python(),
        "LLVM's triple": binding.get_process_triple(),
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        # The precision at which Numba's own cache distinguishes versions of NumPy.
        "NumPy": ".".join(np.__version__.split(".")[:2]),
    }


@dataclass(frozen=True)
class Shipped:
    """The set of compiled kernels in use.

    Attributes
    ----------
    target : str
        Its name; empty: no set is used, and kernels are compiled when they are called.
    wrong : str
        Why no set is used, as a sentence; otherwise empty.
    path : Path, optional
    codes : Mapping[str, tuple[int, int]]
        Offset and length of each code in the file, by kernel and types of a call.
    """

    target: str = ""
    wrong: str = ""
    path: Path | None = None
    codes: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def choose(cls, sources: str) -> Shipped:
        """Choose the best set for this processor that matches these sources."""
        config = numba.config
        if config.CPU_NAME is not None or config.CPU_FEATURES is not None or not config.ENABLE_AVX:
            return cls(wrong="Environment variables configure Numba for another processor.")
        wrong = "No functions for this system and processor came with geodp."
        for target in TARGETS:
            if target.path.exists() and target.runs_here():
                one = cls.read(target, sources)
                if not one.wrong:
                    return one
                wrong = one.wrong
        return cls(wrong=wrong)

    @classmethod
    def read(cls, target: Target, sources: str) -> Shipped:
        """Read the header of a target's set; ``wrong`` says why it cannot be used."""
        with target.path.open("rb") as file:
            head = file.readline()
        try:
            header = json.loads(head)
        except ValueError:
            return cls(wrong=f"{target.path} is not a set of compiled functions.")
        for name, here in stamp(sources).items():
            made = header["stamp"].get(name)
            if name == "sources" and made != here:
                return cls(wrong="The functions that came with geodp belong to other sources.")
            if made != here:
                what = f"The functions that came with geodp were compiled with {name} {made}"
                return cls(wrong=f"{what}; here it is {here}.")
        codes = {key: (len(head) + at, size) for key, (at, size) in header["codes"].items()}
        return cls(target.name, "", target.path, codes)

    def load(self, name: str, signature: Any, context: Any) -> Any:
        """Load Numba's result of compiling a kernel for these types; None if the set has none."""
        at, size = self.codes.get(f"{name} {text_of(signature)}", (0, 0))
        if self.path is None or not size:
            return None
        with self.path.open("rb") as file:
            file.seek(at)
            code = file.read(size)
        # This starts the part of Numba that compiled code needs. Numba's own cache loads the whole
        # compiler, which takes 0.3 s.
        rtsys.initialize(context)
        return CompileResultCacheImpl.rebuild(None, context, pickle.loads(code))


def save(target: Target, sources: str, results: Mapping[str, Any]) -> None:
    """Write a set atomically; ``results`` are Numba's compile results by kernel and types."""
    codes = {}
    for key, result in results.items():
        # Equal sources give equal bytes only without folders and addresses of memory.
        annotation = HERE_ONLY.sub("", str(result.type_annotation))
        placeless = result._replace(type_annotation=annotation)
        codes[key] = dumps(CompileResultCacheImpl.reduce(None, placeless))
    places, at = {}, 0
    for key, code in codes.items():
        places[key] = (at, len(code))
        at += len(code)
    head = json.dumps({"stamp": stamp(sources), "codes": places})
    FOLDER.mkdir(exist_ok=True)
    # Written under another name and renamed: an interrupted build leaves no truncated set.
    made = target.path.with_suffix(f".{os.getpid()}")
    made.write_bytes(b"".join([head.encode(), b"\n", *codes.values()]))
    made.replace(target.path)


class Layered(NullCache):  # type: ignore[misc]
    """A cache that looks into the shipped set first, then into Numba's own cache."""

    def __init__(self, shipped: Shipped, name: str, fallback: Any) -> None:
        self._shipped, self._name, self._fallback = shipped, name, fallback

    @property
    def cache_path(self) -> Any:
        """Folder for new code; None: it is not stored."""
        return self._fallback.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the code compiled for these types, if there is any."""
        code = self._shipped.load(self._name, sig, target_context)
        return self._fallback.load_overload(sig, target_context) if code is None else code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store newly compiled code."""
        self._fallback.save_overload(sig, data)

    def enable(self) -> None:
        """Switch the cache on."""
        self._fallback.enable()

    def disable(self) -> None:
        """Switch the cache off."""
        self._fallback.disable()

    def flush(self) -> None:
        """Clear the cache."""
        self._fallback.flush()
