# SPDX-License-Identifier: Apache-2.0
"""Where does a crystal of argon melt? LAMMPS over temperature and density, on one pool.

Each point is two tasks that start together: a simulation on some ranks, and its analysis on others,
to which it streams its atoms. Finished points are in a journal: a campaign that was killed and is
started again runs the rest. Results end in one netCDF file; a map is drawn anew for each result.

    fluvial run -n 4 campaign.py
    fluvial run -n 4 campaign.py --temperatures 0.5 1.0 1.5 --densities 0.9 1.0 --cells 4
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib

import numpy as np
import xarray as xr
from melting import STEPS_BETWEEN_OUTPUTS, analyse, simulate

import fluvial as fl


def main() -> None:
    """Run the campaign on the rank that leads; run its tasks on the others."""
    asked = arguments()
    with fl.Pool(journal=asked.folder / "melting.journal") as pool:
        if pool.leads:
            run(pool, asked)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--temperatures", type=float, nargs="+", default=list(np.linspace(0.4, 2.4, 11).round(3))
    )
    parser.add_argument(
        "--densities", type=float, nargs="+", default=list(np.linspace(0.84, 1.08, 7).round(3))
    )
    parser.add_argument("--cells", type=int, default=5, help="of the crystal, along each edge")
    parser.add_argument("--outputs", type=int, default=20, help="of each simulation")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path())
    return parser.parse_args()


def run(pool: fl.Pool, asked: argparse.Namespace) -> None:
    """Submit all points, and keep file and map up to date."""
    axes = {"temperature": asked.temperatures, "density": asked.densities}
    found = xr.Dataset(coords={**axes, "step": outputs_of(asked)})
    for name in ("order", "kinetic_temperature"):
        found[name] = (*axes, "step"), np.full([len(one) for one in found.coords.values()], np.nan)
    found.attrs["title"] = (
        "Bragg peaks of a Lennard-Jones crystal at constant density, reduced units"
    )
    draw(found, asked.folder / "melting.png")  # empty: nothing is known yet
    points = {}
    for t in asked.temperatures:
        for rho in asked.densities:
            points[submit(pool, asked, t, rho)] = t, rho
    known = sum(point.done() for point in points)
    print(f"{known} of {len(points)} points are in the journal", flush=True)
    for done in concurrent.futures.as_completed(points):
        (_, (order, kinetic)), (t, rho) = done.result(), points[done]
        place = {"temperature": t, "density": rho}
        found["order"].loc[place], found["kinetic_temperature"].loc[place] = order, kinetic
        late = order[len(order) // 2 :].mean()
        print(f"T = {t:g}, density {rho:g}: order {late:.2f}", flush=True)
        draw(found, asked.folder / "melting.png")
    found.to_netcdf(asked.folder / "melting.nc", engine="scipy")


def outputs_of(asked: argparse.Namespace) -> np.ndarray:
    """Return the steps at which simulations write."""
    return STEPS_BETWEEN_OUTPUTS * np.arange(1, asked.outputs + 1)


def submit(
    pool: fl.Pool, asked: argparse.Namespace, t: float, rho: float
) -> concurrent.futures.Future:
    """Submit a point: most of the ranks of its two tasks simulate."""
    stream = f"melting-{os.getpid()}-{asked.temperatures.index(t)}-{asked.densities.index(rho)}"
    ranks = max(1, min(2, pool.workers - 1))
    key = f"T={t:g} density={rho:g} cells={asked.cells} outputs={asked.outputs}"
    return pool.with_options(key=key).together(
        fl.task(simulate, stream, t, rho, asked.cells, asked.outputs).with_options(ranks=ranks),
        fl.task(analyse, stream, rho, asked.cells),
    )


def draw(found: xr.Dataset, path: pathlib.Path) -> None:
    """Draw the map as far as it is known, and the melting line, where the order is a quarter."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    late = found["order"].isel(step=slice(found.sizes["step"] // 2, None)).mean("step")
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.set_facecolor("0.9")  # what is not known yet
    mesh = axes.pcolormesh(
        found["density"], found["temperature"], late, vmin=0, vmax=1, shading="nearest"
    )
    if min(late.shape) > 1 and not bool(late.isnull().all()):
        axes.contour(found["density"], found["temperature"], late, [0.25], colors="white")
    axes.set(
        xlabel="density (σ⁻³)", ylabel="temperature (ε/k)", title="Bragg peaks; where they die"
    )
    figure.colorbar(mesh, label="order")
    whole = path.with_suffix(".part.png")
    figure.savefig(whole, dpi=110)
    whole.replace(path)  # a viewer always sees a whole picture
    pyplot.close(figure)


if __name__ == "__main__":
    main()
