# SPDX-License-Identifier: Apache-2.0
"""What every test process begins with, and the examples that hypothesis draws.

Seeds are fixed in ``./run test`` and drawn in ``./run soak`` (`harness.many_seeds`).
"""

from __future__ import annotations

import os
import signal

from hypothesis import settings

pytest_plugins = ["harness.many_seeds", "harness.other_mpi"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what is in the background so. Tests of Ctrl-C are about programs in front.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# NumPy's linear algebra starts a thread for each core, which spins for longer than all the rest of
# the import takes, in each of the thousands of processes that the tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("fixed", derandomize=True)
settings.register_profile("drawn", derandomize=False)
settings.load_profile("drawn" if "FLUVIAL_TEST_SEED" in os.environ else "fixed")
