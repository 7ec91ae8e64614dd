# SPDX-License-Identifier: Apache-2.0
"""`fluvial route`: paths of flows through a network, what they gain, and how fast a network is."""

from __future__ import annotations

from typing import Annotated

import typer

from .._core import InvalidArgument
from ..base.byte_count import to_bytes
from ..base.messages import shown
from ..route.network import topology
from ..route.planning import Path, Plan, plan
from . import tables
from .printing import Format, print_as
from .route_measuring import measure_network
from .route_picture import draw

_SIZES = tuple(2**k for k in range(10, 31, 2))


def add_route(app: typer.Typer) -> None:
    """Give the command its word `route`."""
    route = typer.Typer(no_args_is_help=True, help="Paths of flows through a network.")
    route.command("explain")(_explain)
    route.command("measure")(measure_network)
    app.add_typer(route, name="route")


def _explain(
    network: Annotated[
        str, typer.Option("--topology", help="bgq:4x4x4x4x2, torus:8x8x8 …, or a file.")
    ],
    sources: Annotated[list[str], typer.Option("--from", help="A host. Repeatable, with --to.")],
    targets: Annotated[list[str], typer.Option("--to", help="A host. Repeatable, with --from.")],
    size: Annotated[str, typer.Option("--bytes", help="Of each flow: '16 MiB'.")] = "16 MiB",
    what_if: Annotated[
        bool, typer.Option("--what-if", help="Other sizes of messages, instead of the paths.")
    ] = False,
    sizes: Annotated[str | None, typer.Option(help="Those sizes, with commas.")] = None,
    planner: Annotated[str, typer.Option(help="best, direct, disjoint or min-max.")] = "best",
    costs: Annotated[str, typer.Option(help="Of the software: mpi, pami or tcp.")] = "mpi",
    proxies: Annotated[int, typer.Option(help="Of a path, 0 to 2.")] = 2,
    paths: Annotated[int, typer.Option(help="Of a flow, at most.")] = 16,
    png: Annotated[str | None, typer.Option(help="Draw it, too.")] = None,
    format: Annotated[Format, typer.Option(help="table, json or csv.")] = Format.table,
) -> None:
    """Say by which paths and proxies a flow moves, and what it gains.

    fluvial route explain --topology bgq:4x4x4x4x2 --from 0 --to 426 --png paths.png
    """
    if len(sources) != len(targets):
        raise InvalidArgument(
            f"--from and --to come in pairs: got {len(sources)} and {len(targets)}; allowed: as "
            "many of one as of the other"
        )
    net = topology(network)
    count = _to_sizes(size)[0]
    flows = [(source, target, count) for source, target in zip(sources, targets, strict=True)]
    made = plan(net, flows, planner, proxies_per_path=proxies, paths_per_flow=paths)
    others = _to_sizes(sizes) if sizes is not None else list(_SIZES)
    if png is not None:
        draw(made, others, costs, png)
    if what_if or sizes is not None:
        rows = [row for i in range(len(flows)) for row in sizes_of(made, i, others, costs)]
    else:
        rows = [row for i in range(len(flows)) for row in paths_of(made, i, costs)]
    print_as(rows, str(net), format)


def _to_sizes(text: str) -> list[int]:
    sizes = [to_bytes(part.strip(), "the size of a message") for part in text.split(",")]
    for size in sizes:
        if size < 1:
            raise InvalidArgument(
                f"a size of a message is out of range: got {shown(text)}; allowed: 1 byte or more"
            )
    return sizes


def _names(made: Plan, nodes: tuple[int, ...]) -> str:
    return " → ".join(map(made.topology.name, nodes))


def paths_of(made: Plan, flow: int, costs: str) -> list[tables.Row]:
    """Return one row a path of a flow."""
    source, target, size = made.flows[flow]
    found = made.predict(size, flow, costs=costs)
    ends = _names(made, (source, target))
    rows: list[tables.Row] = []
    for number, path in enumerate(_by_proxies(made.paths[flow]), start=1):
        rows.append(
            {
                "flow": ends,
                "path": number,
                "used": not found.direct and number <= found.paths,
                "proxies": _names(made, path.proxies) or "none",
                "links": len(path.nodes) - 1,
                "share": round(path.share, 6),
                "speed-up": round(found.speed_up, 2),
                "way": _names(made, path.nodes),
            }
        )
    if found.direct:
        for row in rows:
            row["used"] = row["proxies"] == "none"
    return rows


def _by_proxies(paths: list[Path]) -> list[Path]:
    """In the order in which the model uses them."""
    return sorted(paths, key=lambda path: len(path.proxies))


def sizes_of(made: Plan, flow: int, sizes: list[int], costs: str) -> list[tables.Row]:
    """Return one row a size of message: what is predicted for it."""
    source, target, _ = made.flows[flow]
    rows: list[tables.Row] = []
    for size in sizes:
        found = made.predict(size, flow, costs=costs)
        rows.append(
            {
                "flow": _names(made, (source, target)),
                "bytes": size,
                "paths": found.paths,
                "window (bytes)": None if found.direct else int(found.window),
                "time (s)": float(f"{found.seconds:.4g}"),
                "direct (s)": float(f"{found.direct_seconds:.4g}"),
                "speed-up": round(found.speed_up, 2),
            }
        )
    return rows
