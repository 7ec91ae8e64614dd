# SPDX-License-Identifier: Apache-2.0
"""What a condition raises or returns wrongly on one rank is said on all, in one line."""

import h5py
import numpy as np
from harness import scenario


@scenario("job on 2 ranks", timeout=60)
class test_a_condition_that_fails_is_named_on_every_rank:
    def job(comm, fl, where):
        path = where / "x.h5"
        if comm.rank == 0:
            with h5py.File(path, "w") as file:
                file["x"] = np.arange(12.0).reshape(3, 4)
        comm.Barrier()

        def raises(values):
            raise ValueError("no\nsuch thing")

        def forgets(values):
            pass

        def refusal(function):
            with fl.open(str(path), comm=comm) as file:
                try:
                    file["x"].where(function).reduce("count")
                except Exception as error:
                    return type(error).__name__, str(error)

        return [refusal(raises), refusal(forgets)]

    def check(jobs):
        for raised, forgotten in jobs.finish()["job"]:
            assert "raises' raised ValueError: no such thing (" in raised[1]
            assert "\n" not in raised[1]
            assert forgotten[0] == "WrongType"
            assert "forgets' does not return bool: got None; allowed: " in forgotten[1]
