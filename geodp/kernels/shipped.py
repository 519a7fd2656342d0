"""Kernels that were compiled when geodp was built, and travel with it.

A set is a file: a line of JSON, which says what it belongs to and where each code lies, and behind
it the codes, as Numba's own cache has them. It is used on a processor that has all that it was
compiled for, with these sources and with the Numba that compiled it, and else not at all.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from geodp.kernels.signatures import text_of

FOLDER = Path(__file__).with_name("compiled")


@dataclass(frozen=True)
class Target:
    """A kind of processor that sets are compiled for.

    Attributes
    ----------
    machine : str
        As ``platform.machine()`` says it.
    name : str
        Of the set.
    processor : str
        What LLVM calls it.
    features : tuple[str]
        What a processor needs beyond the least of its machine.
    avoided : tuple[str]
        What LLVM would do for all such processors, and does not.
    """

    machine: str
    name: str
    processor: str
    features: tuple[str, ...]
    avoided: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Where its set lies, of this Python."""
        return FOLDER.joinpath(f"{_python()}-{self.name}.kernels")

    @property
    def environment(self) -> dict[str, str]:
        """What makes Numba compile for it, in a process of its own."""
        marked = [f"+{name}" for name in self.features] + [f"-{name}" for name in self.avoided]
        return {
            "NUMBA_CPU_NAME": self.processor,
            # Or the code would have the features of this processor.
            "NUMBA_CPU_FEATURES": ",".join(marked),
            "NUMBA_DISABLE_INTEL_SVML": "1",  # a library that is not everywhere
        }

    def runs_here(self) -> bool:
        """Whether this processor has all that it needs."""
        return platform.machine() == self.machine and _features() >= {*self.features}


V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
V3 = (*V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
V4 = (*V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

HALF = ("prefer-256-bit",)
"""LLVM fills half of the registers of v4, as the first processors that had them slow down with all
of them. ``topdown`` and ``pyramid`` take a fifth longer so."""

TARGETS = (
    Target("x86_64", "x86-64-v4", "x86-64-v4", V4, HALF),
    Target("x86_64", "x86-64-v3", "x86-64-v3", V3),
    Target("x86_64", "x86-64-v2", "x86-64-v2", V2),
    Target("aarch64", "armv8-a", "generic", ()),  # all have what that needs
)
"""The best of a machine first; the levels of x86-64 are those of its psABI."""


def _features() -> set[str]:
    """Return what this processor has, by LLVM's names; nothing where that cannot be told."""
    try:
        return {name for name, there in binding.get_host_cpu_features().items() if there}
    except RuntimeError:
        return set()


def _python() -> str:
    """Name the Python whose objects a code holds: ``cpython-313t``."""
    return f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"


def stamp(sources: str) -> dict[str, str]:
    """Say what a set belongs to beside its processor: its sources, and what compiled them."""
    return {
        "sources": sources,
        "Python": _python(),
        "LLVM's triple": binding.get_process_triple(),
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "NumPy": ".".join(np.__version__.split(".")[:2]),  # Numba tells these apart
    }


@dataclass(frozen=True)
class Shipped:
    """The set that is used here.

    Attributes
    ----------
    target : str
        Its name; empty: none is used, and kernels are compiled when they are called.
    wrong : str
        Why none is, as a sentence; otherwise empty.
    path : Path, optional
    codes : Mapping[str, tuple[int, int]]
        By a kernel and the types of a call: where its code begins in the file, and how long it is.
    """

    target: str = ""
    wrong: str = ""
    path: Path | None = None
    codes: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def found(cls, sources: str) -> Shipped:
        """Return the best set for this processor that belongs to these sources."""
        config = numba.config
        if config.CPU_NAME is not None or config.CPU_FEATURES is not None or not config.ENABLE_AVX:
            return cls(wrong="The environment asks Numba for code of another kind.")
        wrong = "No functions for this system and processor came with geodp."
        for target in TARGETS:
            if target.path.exists() and target.runs_here():
                one = cls.opened(target, sources)
                if not one.wrong:
                    return one
                wrong = one.wrong
        return cls(wrong=wrong)

    @classmethod
    def opened(cls, target: Target, sources: str) -> Shipped:
        """Return the set of a target, or what is wrong with it."""
        with target.path.open("rb") as file:
            head = file.readline()
        try:
            said = json.loads(head)
        except ValueError:
            return cls(wrong=f"{target.path} is no set of functions.")
        for name, here in stamp(sources).items():
            made = said["stamp"].get(name)
            if name == "sources" and made != here:
                return cls(wrong="The functions that came with geodp belong to other sources.")
            if made != here:
                what = f"The functions that came with geodp were compiled with {name} {made}"
                return cls(wrong=f"{what}; here it is {here}.")
        codes = {key: (len(head) + at, size) for key, (at, size) in said["codes"].items()}
        return cls(target.name, "", target.path, codes)

    def load(self, name: str, signature: Any, context: Any) -> Any:
        """Return Numba's result of compiling a kernel for these types; None where it has none."""
        at, size = self.codes.get(f"{name} {text_of(signature)}", (0, 0))
        if self.path is None or not size:
            return None
        with self.path.open("rb") as file:
            file.seek(at)
            code = file.read(size)
        # All that a code needs of Numba. Its own cache loads what a compiler needs too: .3 s.
        rtsys.initialize(context)
        return CompileResultCacheImpl.rebuild(None, context, pickle.loads(code))


def save(target: Target, sources: str, results: Mapping[str, Any]) -> None:
    """Write a set, whole or not at all; ``results`` has Numba's own, by kernel and types."""
    codes = {
        key: dumps(CompileResultCacheImpl.reduce(None, result)) for key, result in results.items()
    }
    places, at = {}, 0
    for key, code in codes.items():
        places[key] = (at, len(code))
        at += len(code)
    head = json.dumps({"stamp": stamp(sources), "codes": places})
    FOLDER.mkdir(exist_ok=True)
    made = target.path.with_suffix(f".{os.getpid()}")
    made.write_bytes(b"".join([head.encode(), b"\n", *codes.values()]))
    made.replace(target.path)


class Layered(NullCache):  # type: ignore[misc]
    """What is asked for the code of a kernel: the shipped set, then what Numba keeps."""

    def __init__(self, shipped: Shipped, name: str, kept: Any) -> None:
        self._shipped, self._name, self._kept = shipped, name, kept

    @property
    def cache_path(self) -> Any:
        """Where new code is kept; None: nowhere."""
        return self._kept.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for these types, if anything was."""
        found = self._shipped.load(self._name, sig, target_context)
        return self._kept.load_overload(sig, target_context) if found is None else found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what had to be compiled."""
        self._kept.save_overload(sig, data)

    def enable(self) -> None:
        """Keep again."""
        self._kept.enable()

    def disable(self) -> None:
        """Keep no more."""
        self._kept.disable()

    def flush(self) -> None:
        """Forget what is kept."""
        self._kept.flush()
