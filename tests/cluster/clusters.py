"""Clusters of real worker processes on this machine, and what kills one of their workers."""

import logging
import os
import signal
import time
from pathlib import Path

import dask
import distributed

# A loaded machine takes its time, and fails nothing. But the time to connect stays at Dask's 30 s:
# for so long a worker goes on to ask one that is dead.
PATIENT = {
    "distributed.scheduler.worker-ttl": "1 hour",
    "distributed.scheduler.allowed-failures": 20,
    "distributed.worker.profile.enabled": False,
}

BACK = 120
"""Seconds in which a killed worker should be back."""


class Kill(distributed.WorkerPlugin):
    """Kills the worker that is the first to do what a file asks for: a task and its state.

    It stays with every worker, also those that start later: to add and remove plugins while
    workers die and start is a race of its own.
    """

    name = "kill"

    def __init__(self, order: str) -> None:
        self.order = order

    def transition(self, key, start, finish, **kwargs):
        if not str(key).startswith("geodp-"):
            return
        try:
            task, state = Path(self.order).read_text().split()
            if str(key).startswith(f"geodp-{task}-") and finish == state:
                os.unlink(self.order)  # of several workers only one can
                os.kill(os.getpid(), signal.SIGKILL)
        except FileNotFoundError:
            return


class Clusters:
    """Clusters by their number of workers, each started once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running = {}
        self._config = dask.config.set(PATIENT)

    def __call__(self, workers: int) -> distributed.Client:
        """A client of a cluster with so many workers, all of them running."""
        if workers in self._running and not self._whole(workers):
            self._stop(workers)
        if workers not in self._running:
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs=logging.ERROR,
                local_directory=str(self.folder / str(workers)),
            )
            client = distributed.Client(cluster)
            self._running[workers] = cluster, client
            client.wait_for_workers(workers, timeout=600)
            client.register_plugin(Kill(str(self._order(workers))))
        return self._running[workers][1]

    def _whole(self, workers: int) -> bool:
        """Wait until all workers are back.

        Dask does not start a worker again that dies before its nanny has seen it start; where
        several are killed soon after each other, none may be left. So one is killed only when all
        run, and a cluster that lost one is given up.
        """
        cluster, _ = self._running[workers]
        deadline = time.monotonic() + BACK
        while time.monotonic() < deadline:
            nannies = [nanny.status for nanny in cluster.workers.values()]
            if nannies == [distributed.Status.running] * workers and (
                len(cluster.scheduler.workers) == workers
            ):
                return True
            time.sleep(0.1)
        return False

    def _stop(self, workers: int) -> None:
        cluster, client = self._running.pop(workers)
        client.close()
        cluster.close()

    def kill(self, workers: int, task: str, state: str) -> None:
        """The next worker of a cluster that brings such a task into this state dies."""
        order = self._order(workers)
        new = order.with_suffix(".new")
        new.write_text(f"{task} {state}")
        new.rename(order)

    def killed(self, workers: int) -> bool:
        """Whether that has happened."""
        return not self._order(workers).exists()

    def close(self) -> None:
        """Stop them all."""
        for workers in [*self._running]:
            self._stop(workers)
        self._config.__exit__(None, None, None)

    def _order(self, workers: int) -> Path:
        return self.folder / f"kill-{workers}"
