"""The environment of figures: versions and processor, and nothing that names a place."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numpy as np

from geodp import __version__
from geodp.kernels import chacha
from geodp.kernels.jit import SHIPPED
from geodp.kernels.shipped import TARGETS

WIDTHS = {r"%zmm\d": "AVX-512", r"%ymm\d": "AVX2", r"%xmm\d": "SSE2", r"\bv\d+\.4s": "NEON"}
"""Registers in the cipher's machine code, the widest first, and their instructions."""


def machine() -> dict[str, Any]:
    """Collect versions, processor and its load as plain values."""
    features = llvm.get_host_cpu_features()
    return {
        "geodp": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": llvm.get_host_cpu_name(),
        "processors": os.cpu_count(),
        # A busy machine makes times incomparable, so its load is part of the result.
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "flags": sorted(name for name in features if features[name]),
    }


def registers() -> str:
    """Find the vector instructions that the cipher uses here, whatever the processor has.

    It is compiled once more, as neither cached nor shipped code reveals them. Numba's settings
    count: ``NUMBA_CPU_FEATURES`` switches AVX-512 off, ``NUMBA_CPU_NAME`` alone does not.
    """
    for target in TARGETS:
        if target.name == SHIPPED.target:
            command = [
                sys.executable,
                "-c",
                f"from {__name__} import registers; print(registers())",
            ]
            environment = {**os.environ, **target.environment}
            return subprocess.check_output(command, env=environment, text=True).strip()
    function = numba.njit(nogil=True, error_model="numpy")(chacha.lanes.py_func)  # type: ignore[attr-defined]
    one, state = np.uint32(1), np.zeros(16 * chacha.LANES, np.uint32)
    function(np.zeros(8, np.uint32), one, one, np.zeros(1, np.uint64), state)
    (code,) = function.inspect_asm().values()
    used = {name: len(re.findall(pattern, code)) for pattern, name in WIDTHS.items()}
    # Whole rounds, and not the few instructions around the loop.
    return next((name for name, times in used.items() if times > 500), "no vector instructions")
