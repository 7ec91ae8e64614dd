# SPDX-License-Identifier: Apache-2.0
"""One rank of a pool of which one dies in a task behind which others were sent: the lead tells.

usage: pool_ahead_rank.py SERVERS DIRECTORY
"""

import pathlib
import sys

from counted_tasks import COUNTS, TASKS, VICTIM, begin
from pool_lead import said, tell

import fluvial as fl


def lead(pool):
    for _ in range(5):  # so that several are sent at once
        list(pool.map(begin, [0] * 1000))
    COUNTS[0] = 0
    tasks = [pool.submit(begin, number) for number in range(TASKS)]
    errors = [task.exception(timeout=30) for task in tasks]
    lost = [number for number, error in enumerate(errors) if error is not None]
    return [
        said(errors[VICTIM]),
        str({type(errors[number]).__name__ for number in lost}),
        str([number for number in lost if number > VICTIM]),
        str(COUNTS.tolist()),
    ]


def main():
    servers = int(sys.argv[1])
    pool = fl.Pool(stall_timeout=2, stuck_after=3, servers=servers)
    tell(pool, lead, pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()
