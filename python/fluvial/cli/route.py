# SPDX-License-Identifier: Apache-2.0
"""`fluvial route`: paths of flows through a network, what they gain, and how fast a network is."""

from __future__ import annotations

from typing import Annotated

import typer

from .._core import InvalidArgument
from ..base.messages import shown, shown_text
from .printing import Format, print_as

_SIZE_MAX = 2**60  # what is above 2**63 no picture can show
_SIZES = tuple(2**k for k in range(10, 31, 2))


def add_route(app: typer.Typer) -> None:
    """Give the command its word `route`."""
    route = typer.Typer(
        no_args_is_help=True, help="Find paths of flows through a network, or measure one."
    )
    route.command("explain")(_explain)
    route.command("measure")(_measure)
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
    from ..route.network import topology
    from ..route.planning import plan
    from .route_rows import paths_of, sizes_of

    net = topology(network)
    count, *more = _to_sizes(size)
    if more:
        raise InvalidArgument(
            f"--bytes is one size, of each flow: got {shown(size)}; allowed: one. For several "
            f"write --sizes {shown_text(size)}"
        )
    flows = []
    for source, target in zip(sources, targets, strict=True):
        ends = net.host(source), net.host(target)  # a host may be called by name and by number
        if ends[0] == ends[1]:
            raise InvalidArgument(
                f"a flow to the host that it comes from takes no path: got --from {shown(source)} "
                f"and --to {shown(target)}; allowed: two hosts"
            )
        flows.append((*ends, count))
    made = plan(net, flows, planner, proxies_per_path=proxies, paths_per_flow=paths)
    others = _to_sizes(sizes) if sizes is not None else list(_SIZES)
    if png is not None:
        from .route_picture import draw

        draw(made, others, costs, png)
    if what_if or sizes is not None:
        rows = [row for i in range(len(flows)) for row in sizes_of(made, i, others, costs)]
    else:
        rows = [row for i in range(len(flows)) for row in paths_of(made, i, costs)]
    print_as(rows, str(net), format)


def _measure(
    out: Annotated[str, typer.Option(help="The JSON file of the topology.")],
    seconds: Annotated[float, typer.Option(help="Of one measurement of a bandwidth.")] = 0.25,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for a host's reply.")] = 60.0,
    progress: Annotated[bool, typer.Option(help="Say how far it is.")] = True,
    format: Annotated[Format, typer.Option(help="table, json or csv.")] = Format.table,
) -> None:
    """Measure how fast the hosts of a job reach each other, and write their topology.

    mpiexec -n 6 -hosts a,b,c fluvial route measure --out cluster.json
    """
    from .route_measuring import measure_network

    measure_network(out, seconds, timeout, progress, format)


def _to_sizes(text: str) -> list[int]:
    from ..base.byte_count import to_bytes

    sizes = [to_bytes(part.strip(), "the size of a message") for part in text.split(",")]
    for size in sizes:
        if not 1 <= size <= _SIZE_MAX:
            raise InvalidArgument(
                f"a size of a message is out of range: got {shown(text)}; allowed: 1 byte to "
                "1,048,576 TiB"
            )
    return sizes
