# SPDX-License-Identifier: Apache-2.0
"""joblib's parallel calls as tasks of a pool."""

from __future__ import annotations

import concurrent.futures
import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from .._core import InvalidArgument
from .cancellation import cancel_together
from .future import AnyFuture

if TYPE_CHECKING:
    from joblib.parallel import ParallelBackendBase


def joblib_backend(submit: Callable[..., AnyFuture], workers: int) -> ParallelBackendBase:
    """Return a backend of joblib that submits its batches of calls.

    Raises
    ------
    InvalidArgument
        When joblib is not installed.
    """
    try:
        return _backend_class()(submit, workers)
    except ImportError as error:
        raise InvalidArgument(f"joblib cannot be imported ({error}): pip install joblib") from error


def _call_batch(batch: Callable[[], list[object]]) -> list[object]:
    return batch()


@functools.cache
def _backend_class() -> Callable[..., ParallelBackendBase]:
    """Return its class, which needs joblib's."""
    from joblib import parallel

    class JoblibBackend(parallel.ParallelBackendBase):
        """Submits batches of calls; a parallel call inside of one runs in its rank alone."""

        supports_retrieve_callback = True
        default_n_jobs = -1

        def __init__(
            self, submit: Callable[..., AnyFuture], workers: int, nesting_level: int | None = None
        ) -> None:
            super().__init__(nesting_level=nesting_level)
            self._submit = submit
            self._workers = workers
            self._futures: weakref.WeakSet[AnyFuture] = weakref.WeakSet()

        def effective_n_jobs(self, n_jobs: int | None) -> int:
            """Return how many calls can run at once; numbers below 0 count from all ranks."""
            if n_jobs == 0:
                raise ValueError("n_jobs == 0 in Parallel has no meaning")
            if n_jobs is None:
                return 1
            return n_jobs if n_jobs > 0 else max(self._workers + 1 + n_jobs, 1)

        def submit(
            self,
            func: Callable[[], list[object]],
            callback: Callable[[concurrent.futures.Future[list[object]]], object],
        ) -> AnyFuture:
            """Submit a batch."""
            future = self._submit(_call_batch, func)  # which has the arguments, also large ones
            self._futures.add(future)
            future.add_done_callback(callback)
            return future

        apply_async = submit  # its name before joblib 1.5

        def retrieve_result_callback(self, out: AnyFuture) -> object:
            """Return the results of a batch that is done, or raise what it has raised."""
            return out.result()

        def abort_everything(self, ensure_ready: bool = True) -> None:
            """Keep from beginning what is not waited for any more."""
            cancel_together(list(self._futures))

        def get_nested_backend(self) -> tuple[ParallelBackendBase, None]:
            """Return that of parallel calls inside of a task."""
            return parallel.SequentialBackend(nesting_level=(self.nesting_level or 0) + 1), None

    return JoblibBackend
