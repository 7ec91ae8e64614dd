# SPDX-License-Identifier: Apache-2.0
"""Calls of what plans routes, with right arguments."""

from __future__ import annotations

import json
import pathlib
import socket

import numpy as np
from wrong_calls.table import Call

import fluvial as fl


def routes(folder: pathlib.Path) -> list[Call]:
    """Return what plans routes."""
    file = folder / "topology.conf"
    file.write_text("SwitchName=s Nodes=n[1-3]\n")
    here = folder / "net.json"
    here.write_text(json.dumps({"hosts": [socket.gethostname()]}))
    net = fl.route.topology("torus:4x4")
    plan = fl.route.plan(net, [(0, 5)])
    right = {"network": net, "flows": [(0, 5), (1, 4, 2.0)], "planner": "best"}
    limits = {"proxies_per_path": 2, "paths_per_flow": 4, "paths_per_proxy": 8}
    alone = {
        **{"comm": None, "plan": fl.route.plan(net, [(0, 0)]), "data": {0: [1.0, 2.0]}},
        **{"paths": 2, "window": 100, "costs": "pami", "stall_timeout": 5.0, "strict": True},
        **{"reroute_after": 2.0, "checksum": True},
    }
    write = {"comm": None, "file": str(folder / "shared"), "data": {0: [1.0]}, "writers": 1}
    write |= {"align": 512, "window": 1024, "stall_timeout": 5.0}
    write |= {"network": net, "planner": "best", "strict": True}
    coupling = {
        **{"comm": None, "shape": (4, 4), "dtype": "f8", "has": [((0, 0), (4, 4))]},
        **{"wants": [((1, 1), (2, 2))], "network": net, "planner": "best", "paths": 2},
        **{"window": 100, "costs": "pami", "stall_timeout": 5.0, "reroute_after": 2.0},
        **{"checksum": True, "strict": True},
    }
    made = fl.route.Redistribution(None, 3, "f8", has=[(0, 3)], wants=[(1, 2)])
    step = {"arrays": [[1.0, 2.0, 3.0]], "out": [np.zeros(2)]}
    moving = fl.route.begin(None, alone["plan"], alone["data"])
    tuner = fl.route.Tuner(alone["plan"])
    helped = fl.route.HelperRanks(None, helps=False)
    limits_of_one = {"stall_timeout": 5.0, "reroute_after": 2.0, "checksum": True, "strict": True}
    tuned = {"comm": None, "data": {0: [1.0, 2.0]}, **limits_of_one}
    asked = {"bytes": 100, "flow": 0, "paths": 2, "costs": "mpi"}
    flow = {"nodes": 3, "arcs": [(0, 1, 2), (1, 2, 3)], "sources": 0, "sinks": 2}
    return [
        Call("route.topology", fl.route.topology, {"text": "torus:4x4"}),
        Call("route.topology", fl.route.topology, {"text": str(file)}),
        Call("route.plan", fl.route.plan, right | limits),
        Call("route.max_flow", fl.route.max_flow, flow),
        Call(
            "route.Tuner",
            lambda **wrong: fl.route.Tuner(**wrong).choice(2**20),
            {"plan": plan, "costs": "mpi", "known": {2**20: (3, 4096)}},
        ),
        Call("route.Tuner.choice", fl.route.Tuner(plan).choice, {"size": 2**20}),
        Call("route.Tuner.exchange", tuner.exchange, tuned),
        Call(
            "route.HelperRanks.exchange",
            helped.exchange,
            {"plan": alone["plan"], "data": {0: [1.0]}, "paths": 1, "window": 100},
        ),
        Call("route.Topology.placed", fl.route.topology(here).placed, {"comm": None}),
        Call("route.Topology.host", net.host, {"name": 3}),
        Call("route.Topology.name", net.name, {"node": 3}),
        Call("route.Topology.route", net.route, {"source": 0, "target": 5}),
        *(
            Call(f"route.Topology.{call.__name__}", call, {"sources": [0, 1], "sinks": 5})
            for call in (net.disjoint_paths_max, net.bandwidth_max)
        ),
        Call("route.Plan.predict", plan.predict, asked),
        Call("route.Plan.changed", plan.changed, {"flows": [(0, 5), (1, 2)]}),
        Call(
            "route.balance_sinks",
            fl.route.balance_sinks,
            {"network": net, "data": {0: 5, 1: 7}, "sinks": [5, 6]},
        ),
        Call("route.exchange", fl.route.exchange, alone),
        Call("route.begin", lambda **wrong: fl.route.begin(**wrong).wait(), alone),
        Call("route.Moving.wait", moving.wait, {"timeout": 5.0}),
        Call("route.sparse_write", fl.route.sparse_write, write),
        Call("route.Redistribution", fl.route.Redistribution, coupling),
        Call("route.Redistribution.move", made.move, step),
        Call("route.HelperRanks", fl.route.HelperRanks, {"comm": None, "helps": False}),
    ]
