# SPDX-License-Identifier: Apache-2.0
"""The decorator `scenario`."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any

from harness.box import NoBox
from harness.jobs import Jobs
from harness.sentence import link_of, parse

Role = Callable[..., Any]


def scenario(
    sentence: str, *, timeout: float = 60.0, **roles: Role
) -> Callable[[type | Callable[..., None]], Callable[..., None]]:
    """Turn a class, or a check function, into a test that launches the jobs of `sentence`.

    Parameters
    ----------
    sentence
        The jobs and their sizes: "writer on 2 ranks, reader on 3 ranks"; and what joins the hosts
        of a cluster in a box: "writer on 2 hosts x 2 ranks, reader on 1 host x 3 ranks, link 100
        Mbit/s" (see `harness.sentence`).
    timeout
        Seconds for all jobs together; then every process is killed and the test fails.
    roles
        The function of each role, for the form over a function: ``@scenario("writer on 2 ranks",
        writer=writes_ramp)`` over ``def test_x(jobs): …``. Over a class they are its functions.
        "late reader" plays ``late_reader``, or ``reader`` where there is no such function.

    The check gets the jobs, not yet started, and after them any pytest fixtures and parameters.
    """
    casts, link = parse(sentence), link_of(sentence)

    def decorate(subject: type | Callable[..., None]) -> Callable[..., None]:
        functions = dict(vars(subject)) if isinstance(subject, type) else dict(roles)
        check = functions.get("check", _finish) if isinstance(subject, type) else subject
        played: dict[str, Role] = {}
        for cast in casts:
            role = functions.get(cast.name) or functions.get(cast.name.rpartition("_")[2])
            if role is None:
                raise TypeError(
                    f"{subject.__name__}: the scenario names {cast.name!r}, but there is no "
                    f"function {cast.name}(comm, fl, where)"
                )
            played[cast.name] = role

        def test(request: Any, tmp_path: Any, **others: Any) -> None:
            with _jobs(
                request,
                casts,
                module=inspect.getfile(subject),
                test=subject.__name__,
                where=tmp_path,
                timeout=timeout,
                link=link,
            ) as jobs:
                check(jobs, **others)

        own = [
            inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for n in ("request", "tmp_path")
        ]
        test.__signature__ = inspect.Signature(  # what pytest reads fixtures and parameters from
            own + list(inspect.signature(check).parameters.values())[1:]
        )
        test.__name__ = test.__qualname__ = subject.__name__
        test.__doc__ = subject.__doc__
        test.__module__ = subject.__module__
        test.roles = played
        if "FLUVIAL_SCENARIO_RANK" not in os.environ:
            import pytest

            test = pytest.mark.timeout(timeout + 30)(test)
            if any(cast.count > 1 and not cast.singly for cast in casts):
                # Otherwise no two ranks speak to each other by MPI, and which one is no matter.
                test = pytest.mark.any_mpi(test)
        return test

    return decorate


@contextlib.contextmanager
def _jobs(request: Any, casts: Any, **others: Any) -> Iterator[Jobs]:
    from harness.kept_jobs import kept_jobs  # needs pytest, which ranks do without

    try:
        kept = contextlib.ExitStack()
        jobs = kept.enter_context(kept_jobs(request, casts, **others))
    except NoBox as error:
        import pytest

        pytest.skip(str(error))
    with kept:
        yield jobs


def _finish(jobs: Jobs) -> None:
    jobs.finish()
