# SPDX-License-Identifier: Apache-2.0
"""What goes on while the initializers of a pool run."""

import numpy as np
from harness import scenario


@scenario("job on 2 ranks", timeout=60)
class test_a_stream_goes_on_while_initializers_run:
    """Before, the rank that waited for the initializer did not take what this sent it."""

    def job(comm, fl, where):
        produces = comm.rank == 1
        with fl.Channel(comm, producer=produces, consumer=not produces) as channel:
            stream = channel.stream(dtype="f8", op="sum", buffer_bytes=1 << 16)

            def send_more_than_is_buffered():
                stream.send(np.ones(1_000_000))

            with fl.Pool(comm=comm, initializer=send_more_than_is_buffered):
                pass
            if produces:
                stream.terminate()
                return None
            stream.operate()
            return float(stream.result())

    def check(jobs):
        assert jobs.finish()["job"] == [1e6, None]
