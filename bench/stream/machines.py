# SPDX-License-Identifier: Apache-2.0
"""Simulated machines: platform and host files for SimGrid, after the two of the paper.

256 nodes of 16 ranks, like Blue Gene/Q's: a torus of four dimensions, or a fat tree of two levels
with full bisection; 2 GB/s a link and direction, 1 us a link.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RANKS_A_NODE = 16
NODES = 256


@dataclass(frozen=True)
class Machine:
    """A network, and where consumers and producers of a job are."""

    name: str
    topology: str
    parameters: str
    apart: bool  # producers in the other half of the job's nodes; otherwise on the next node

    def platform(self) -> str:
        """Return SimGrid's description of the whole machine."""
        return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="machine" prefix="node" suffix="" radical="0-{NODES - 1}"
           speed="10Gf" core="{RANKS_A_NODE}"
           bw="2GBps" lat="1us" loopback_bw="10GBps" loopback_lat="200ns"
           sharing_policy="SPLITDUPLEX"
           topology="{self.topology}" topo_parameters="{self.parameters}"/>
</platform>
"""

    def hosts(self, pairs: int) -> list[str]:
        """Return the node of each rank of a job with as many consumers as producers.

        Consumers come first.  No producer shares a node with its consumer.
        """
        nodes = -(-pairs // RANKS_A_NODE)
        if 2 * nodes > NODES:
            raise ValueError(f"{pairs} pairs take {2 * nodes} nodes, there are {NODES}")
        of_consumer = [rank // RANKS_A_NODE for rank in range(pairs)]
        if self.apart:
            numbers = [*of_consumer, *(nodes + node for node in of_consumer)]
        else:
            numbers = [*(2 * node for node in of_consumer), *(2 * node + 1 for node in of_consumer)]
        return [f"node{number}" for number in numbers]

    def write(self, folder: Path, pairs: int) -> tuple[Path, Path]:
        """Write both files into `folder` and return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        stem = self.name.replace(" ", "_").replace(",", "")
        platform, hosts = folder / f"{stem}.xml", folder / f"{stem}_{pairs}.hosts"
        platform.write_text(self.platform(), encoding="utf-8")
        hosts.write_text("\n".join(self.hosts(pairs)) + "\n", encoding="utf-8")
        return platform, hosts


TORUS = Machine("torus", "TORUS", "4,4,4,4", apart=False)
FAT_TREE = Machine("fat tree", "FAT_TREE", "2;16,16;1,16;1,1", apart=True)
MACHINES = TORUS, FAT_TREE
