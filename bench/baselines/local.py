"""Local oracles of other libraries: loops over devices in Python, timed on part of the reports.

The work of a device, and of a server for each report, is the same for all of them, so seconds are
given for one report, and multiplied by a benchmark that has more.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Cost:
    """The cost of a job, in seconds.

    Attributes
    ----------
    device, report, estimate : float
        Time to make one report, to aggregate one, and to estimate all values at the end.
    counts : float64[cells] or None
        The estimates, where they are unbiased.
    """

    device: float
    report: float
    estimate: float
    counts: NDArray[np.float64] | None

    def seconds(self, reports: int) -> float:
        """Compute the seconds of a whole job with this number of reports."""
        return reports * (self.device + self.report) + self.estimate


def pure_ldp_hadamard(value: NDArray[np.int64], cells: int, epsilon: float) -> Cost:
    """Time ``HadamardResponse`` of pure-ldp: Acharya, Sun, Zhang 2019."""
    from pure_ldp.frequency_oracles import hadamard_response as theirs

    server = theirs.HadamardResponseServer(epsilon, cells)
    client = theirs.HadamardResponseClient(epsilon, cells, server.get_hash_funcs())
    return _pure_ldp(server, client, value, cells)


def pure_ldp_local_hashing(value: NDArray[np.int64], cells: int, epsilon: float) -> Cost:
    """Time ``LHClient`` and ``LHServer`` of pure-ldp with the best number of hashes: OLH."""
    from pure_ldp.frequency_oracles import local_hashing as theirs

    server = theirs.LHServer(epsilon, cells, use_olh=True)
    return _pure_ldp(server, theirs.LHClient(epsilon, cells, use_olh=True), value, cells)


def _pure_ldp(server: Any, client: Any, value: NDArray[np.int64], cells: int) -> Cost:
    # It counts from 1.
    numbers = (value + 1).tolist()
    times = [time.perf_counter()]
    reports = [client.privatise(number) for number in numbers]
    times.append(time.perf_counter())
    for report in reports:
        server.aggregate(report)
    times.append(time.perf_counter())
    counts = np.asarray(server.estimate_all(range(1, cells + 1), suppress_warnings=True))
    times.append(time.perf_counter())
    device, report, estimate = np.diff(times).tolist()
    return Cost(device / value.size, report / value.size, estimate, counts)


def multi_freq_grr(value: NDArray[np.int64], cells: int, epsilon: float) -> Cost:
    """Time ``GRR_Client`` and ``GRR_Aggregator_MI`` of multi-freq-ldpy, which clips counts at 0."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR

    # Numba compiles it.
    GRR.GRR_Client(0, cells, epsilon)
    numbers = value.tolist()
    times = [time.perf_counter()]
    reports = [GRR.GRR_Client(number, cells, epsilon) for number in numbers]
    times.append(time.perf_counter())
    GRR.GRR_Aggregator_MI(reports, cells, epsilon)
    times.append(time.perf_counter())
    device, server = np.diff(times).tolist()
    return Cost(device / value.size, server / value.size, 0.0, None)


BASELINES = {
    "pure-ldp HadamardResponse": ("pure-ldp", pure_ldp_hadamard),
    "pure-ldp LocalHashing": ("pure-ldp", pure_ldp_local_hashing),
    "multi-freq-ldpy GRR": ("multi-freq-ldpy", multi_freq_grr),
}
"""The distribution of each baseline, and the function that measures it."""
