# SPDX-License-Identifier: Apache-2.0
"""Draws speed.png: the table "How near the limit" of docs/explanation/figures.md as bars."""

from __future__ import annotations

import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent / "explanation" / "figures.md"
_OURS, _LIMIT, _INK = "#0b6fb8", "#c8502d", "#333333"


def rows(page: str) -> list[tuple[str, float, str, str]]:
    """Return what was done, the share of the limit, the limit and the others, of each row."""
    section = page.split("\n## How near the limit\n")[1].split("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [(what, float(share), limit, others) for what, share, limit, others in cells]


def machine(page: str) -> str:
    """Return the CPU that the page names at its beginning."""
    (found,) = re.findall(r"\*\*an (.*?)\*\* \((.*?)\)", page, flags=re.DOTALL)
    return " ".join(f"{found[0]} ({found[1]})".split())


def draw(png: pathlib.Path) -> None:
    """Draw the bars, the first row at the top."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    page = PAGE.read_text(encoding="utf-8")
    measured = rows(page)
    figure, axis = pyplot.subplots(figsize=(10.5, 4.1), layout="constrained")
    for place, (what, share, limit, others) in enumerate(measured):
        axis.barh(place, share, height=0.62, color=_OURS)
        axis.text(0.012, place - 0.12, what, va="center", color="white", weight="bold", size=10)
        axis.text(0.012, place + 0.17, f"limit: {limit}", va="center", color="white", size=8)
        axis.text(1.02, place, f"{share:.2f} of the limit", va="center", color=_INK, size=10)
        axis.text(1.25, place, others, va="center", color=_INK, size=9)
    axis.axvline(1, color=_LIMIT, linewidth=1.6)
    axis.text(1, -0.55, "the limit ", ha="right", va="center", color=_LIMIT, size=9)
    axis.set(xlim=(0, 1.82), ylim=(len(measured) - 0.5, -0.8))
    axis.axis("off")
    axis.set_title(machine(page), loc="left", size=9, color=_INK)
    figure.suptitle("How near the limit", x=0.008, ha="left", weight="bold", size=13)
    figure.savefig(png, dpi=140)
    pyplot.close(figure)


if __name__ == "__main__":
    draw(HERE / "speed.png")
