# SPDX-License-Identifier: Apache-2.0
"""How data moves from some hosts of a network to others, by more than one path.

A network sends each message its own single way, and leaves the other links idle. A *plan* moves a
flow by several *paths* at once: over hosts, called proxies, that pass it on. What a plan gains is
predicted before anything moves, and where one path is best it says so; `exchange` moves the data.
After Bui et al. 2016, "Improving sparse data movement performance using multiple paths on the Blue
Gene/Q supercomputer".

>>> import fluvial as fl
>>> plan = fl.route.plan("bgq:4x4x4x4x2", [(0, 426)])
>>> len(plan.paths[0]), plan.planner, round(plan.speed_up, 6)
(9, 'disjoint', 9.0)
>>> plan.paths[0][1].stops
(0, 2, 426)
"""

from .exchanging import Exchanged, PathUse, exchange
from .flows import MaxFlow, max_flow
from .helping import HelperRanks
from .measuring import Measured, measure
from .moving import Moving, begin
from .network import Link, Topology, names, topology
from .planning import Path, Plan, Prediction, plan
from .redistributing import RankFlow, Redistribution
from .sending import forward, recv, send
from .sinks import balance_sinks
from .tuning import Choice, Tuner
from .writing import SparseWritten, sparse_write

__all__ = [
    "Choice",
    "Exchanged",
    "HelperRanks",
    "Link",
    "MaxFlow",
    "Measured",
    "Moving",
    "Path",
    "PathUse",
    "Plan",
    "Prediction",
    "RankFlow",
    "Redistribution",
    "SparseWritten",
    "Topology",
    "Tuner",
    "balance_sinks",
    "begin",
    "exchange",
    "forward",
    "max_flow",
    "measure",
    "names",
    "plan",
    "recv",
    "send",
    "sparse_write",
    "topology",
]


def __dir__() -> list[str]:
    return sorted(__all__)
