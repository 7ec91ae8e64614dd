# SPDX-License-Identifier: Apache-2.0
"""What a figure was measured on: CPU, cores, caches, memory, kernel, frequency governor, load."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_CPU0 = Path("/sys/devices/system/cpu/cpu0")


def describe_machine() -> dict[str, Any]:
    """Facts about this machine for the header line of a run; unknown ones are ``"unknown"``."""
    return {
        "cpu": name_cpu(_cpu_info()),
        "cores": len(os.sched_getaffinity(0)),
        "caches": cache_sizes(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "kernel": platform.release(),
        "governor": _first_line(_CPU0 / "cpufreq" / "scaling_governor"),
        "hypervisor": "yes" if " hypervisor" in _cpu_flags() else "no",
        "load": round(os.getloadavg()[0], 2),
    }


def cache_sizes() -> dict[str, int]:
    """Sizes in bytes of the data caches that core 0 uses, such as ``{"L1": 32768, "L2": …}``."""
    sizes: dict[str, int] = {}
    for index in sorted((_CPU0 / "cache").glob("index[0-9]*")):
        if _first_line(index / "type") == "Instruction":
            continue
        size = _first_line(index / "size")
        factor = {"K": 2**10, "M": 2**20, "G": 2**30}.get(size[-1:], 1)
        digits = size.rstrip("KMG")
        if digits.isdigit():
            sizes["L" + _first_line(index / "level")] = int(digits) * factor
    return sizes


def two_sides() -> tuple[frozenset[int], frozenset[int]]:
    """Disjoint sets of cores for a writer and a reader, of equal size, on distinct physical cores.

    With two cores each side gets one; with more, each side gets two at most, so that a contestant
    with a helper thread may use it.  With a single core both sides share it.
    """
    allowed = sorted(os.sched_getaffinity(0))
    distinct: list[int] = []
    seen: set[str] = set()
    for core in allowed:
        siblings = _first_line(
            Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        )
        if siblings == "unknown" or siblings not in seen:
            seen.add(siblings)
            distinct.append(core)
    cores = distinct if len(distinct) >= 2 else allowed
    if len(cores) < 2:
        return frozenset(cores), frozenset(cores)
    each = min(2, len(cores) // 2)
    return frozenset(cores[:each]), frozenset(cores[each : 2 * each])


def caption(machine: Mapping[str, Any]) -> str:
    """Return the words that stand under every picture: CPU, cores, last cache, kernel."""
    caches = machine["caches"]
    last = max(caches, default="")
    size = f", {last} {caches[last] / 2**20:g} MiB" if last else ""
    return f"{machine['cpu']}, {machine['cores']} cores{size}, Linux {machine['kernel']}"


def name_cpu(info: Sequence[str]) -> str:
    """Return the model of the CPU that the lines of /proc/cpuinfo tell of.

    Virtual machines call many CPUs the same, so the family and the model number stand behind.
    """
    facts: dict[str, str] = {}
    for line in info:
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    cpu = facts.get("model name") or platform.processor() or "unknown"
    if "cpu family" in facts and "model" in facts:
        cpu += f" (family {facts['cpu family']}, model {facts['model']})"
    return cpu


def _cpu_flags() -> str:
    for line in _cpu_info():
        if line.startswith("flags"):
            return " " + line.split(":", 1)[1].strip()
    return ""


def _cpu_info() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"
