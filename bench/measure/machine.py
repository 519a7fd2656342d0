"""What figures depend on: versions and processor, and nothing that names a place."""

from __future__ import annotations

import os
import platform
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numpy as np

from geodp import __version__


def machine() -> dict[str, Any]:
    """Versions, processor and its load; plain values."""
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
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "flags": sorted(name for name in features if features[name]),
    }
