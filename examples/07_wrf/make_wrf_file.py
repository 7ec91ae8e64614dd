# SPDX-License-Identifier: Apache-2.0
"""Write a file with the layout of WRF's output: a moving low over mountains.

The low is an analytic vortex, so that its centre and its strongest wind are known at every step.
The surface pressure has the mountains in it, and is lowest there: only pressure reduced to sea
level finds the low.
"""

import argparse
import datetime

import netCDF4
import numpy as np

GRAVITY, GAS_CONSTANT, LAPSE_RATE = 9.81, 287.0, 0.0065  # m/s², J/(kg K), K/m
SPACING = 9000.0  # m between grid points
RADIUS = 60_000.0  # m from the centre to the strongest wind
DEPTH, FASTEST = 6500.0, 45.0  # Pa below the surroundings; m/s
DRIFT = (4.0, 2.0)  # m/s eastwards and northwards, of the low and in the wind around it

SURFACE = {
    "XLAT": ("LATITUDE, SOUTH IS NEGATIVE", "degree_north"),
    "XLONG": ("LONGITUDE, WEST IS NEGATIVE", "degree_east"),
    "HGT": ("Terrain Height", "m"),
    "PSFC": ("SFC PRESSURE", "Pa"),
    "T2": ("TEMP at 2 M", "K"),
    "Q2": ("QV at 2 M", "kg kg-1"),
    "U10": ("U at 10 M", "m s-1"),
    "V10": ("V at 10 M", "m s-1"),
}
LEVELS = {
    "P": ("perturbation pressure", "Pa", "bottom_top"),
    "PB": ("BASE STATE PRESSURE", "Pa", "bottom_top"),
    "T": ("perturbation potential temperature (theta-t0)", "K", "bottom_top"),
    "QVAPOR": ("Water vapor mixing ratio", "kg kg-1", "bottom_top"),
    "PH": ("perturbation geopotential", "m2 s-2", "bottom_top_stag"),
    "PHB": ("base-state geopotential", "m2 s-2", "bottom_top_stag"),
}


def surface(step, steps, rows, columns):
    """Return the fields at one step, float64, by name; the low's centre is a grid point."""
    y, x = np.mgrid[0:rows, 0:columns].astype(float)
    share = step / max(steps - 1, 1)
    centre = np.rint([(0.25 + 0.5 * share) * (rows - 1), (0.8 - 0.6 * share) * (columns - 1)])
    dy, dx = (y - centre[0]) * SPACING, (x - centre[1]) * SPACING
    r = np.hypot(dx, dy) / RADIUS
    height = 2600 * np.exp(-((y / rows - 0.7) ** 2 + (x / columns - 0.25) ** 2) / 0.01)
    warmth = 299 - 12 * y / rows - LAPSE_RATE * height
    vapour = 0.015 * np.exp(-height / 2500) + 0.003 * np.exp(-(r**2))
    sea_level = 101_300 - DEPTH * np.exp(-(r**2) / 2) - 150 * y / rows
    between = warmth * (1 + 0.608 * vapour) + LAPSE_RATE * height / 2
    around = FASTEST * np.exp((1 - r**2) / 2) / RADIUS  # speed over distance, strongest at r = 1
    return {
        "XLAT": 15 + y * SPACING / 111_200,
        "XLONG": -80 + x * SPACING / 107_400,
        "HGT": height,
        "PSFC": sea_level * np.exp(-GRAVITY * height / (GAS_CONSTANT * between)),
        "T2": warmth,
        "Q2": vapour,
        "U10": -around * dy + DRIFT[0],
        "V10": around * dx + DRIFT[1],
    }


def levels(fields, count):
    """Return the 3-D fields above a surface: hydrostatic, with a constant lapse rate."""
    z = np.linspace(0, 16_000, count + 1)[:, None, None] + fields["HGT"]
    middle = (z[1:] + z[:-1]) / 2
    pressure = fields["PSFC"] * np.exp(-(middle - fields["HGT"]) / 8000)
    base = np.broadcast_to(pressure.mean(axis=(1, 2), keepdims=True), pressure.shape)
    temperature = fields["T2"] - LAPSE_RATE * (middle - fields["HGT"])
    return {
        "P": pressure - base,
        "PB": base,
        "T": temperature * (1e5 / pressure) ** 0.286 - 300,
        "QVAPOR": fields["Q2"] * np.exp(-(middle - fields["HGT"]) / 2500),
        "PH": np.zeros_like(z),
        "PHB": GRAVITY * z,
    }


def create(file, options):
    """Define dimensions, variables and attributes, as WRF has them."""
    sizes = {
        "Time": None,
        "DateStrLen": 19,
        "south_north": options.south_north,
        "west_east": options.west_east,
        "bottom_top": options.levels,
        "bottom_top_stag": options.levels + 1,
    }
    for name, size in sizes.items():
        if options.levels or "top" not in name:
            file.createDimension(name, size)
    file.TITLE = " OUTPUT FROM WRF V4.0 MODEL (an analytic vortex in its layout)"
    file.START_DATE = f"{options.start:%Y-%m-%d_%H:%M:%S}"
    file.DX = file.DY = np.float32(SPACING)
    file.MAP_PROJ = np.int32(3)
    file.createVariable("Times", "S1", ("Time", "DateStrLen"))
    packed = {"zlib": True, "complevel": 1} if options.format == "NETCDF4" else {}
    fields = {name: (*about, ()) for name, about in SURFACE.items()}
    if options.levels:
        fields |= {name: (*about, (dim,)) for name, (*about, dim) in LEVELS.items()}
    for name, (description, units, above) in fields.items():
        dims = ("Time", *above, "south_north", "west_east")
        variable = file.createVariable(name, "f4", dims, **packed)
        variable.FieldType = np.int32(104)
        variable.MemoryOrder = "XYZ" if above else "XY "
        variable.description, variable.units = description, units
        variable.stagger = "Z" if name in ("PH", "PHB") else ""
        variable.coordinates = "XLONG XLAT"


def main():
    """Write the file step by step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", help="of the file to write")
    parser.add_argument("--times", type=int, default=24, help="time steps (24)")
    parser.add_argument("--south-north", type=int, default=120, help="rows (120)")
    parser.add_argument("--west-east", type=int, default=150, help="columns (150)")
    parser.add_argument("--levels", type=int, default=0, help="of 3-D fields; 0: none (0)")
    parser.add_argument("--minutes", type=int, default=180, help="from step to step (180)")
    parser.add_argument(
        "--format",
        default="NETCDF3_64BIT_DATA",
        choices=["NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4"],
        help="NETCDF4 is compressed, the others are what WRF's io_form 2 and 11 write",
    )
    options = parser.parse_args()
    options.start = datetime.datetime(2005, 8, 28)
    with netCDF4.Dataset(options.path, "w", format=options.format) as file:
        create(file, options)
        for step in range(options.times):
            when = options.start + step * datetime.timedelta(minutes=options.minutes)
            file["Times"][step] = np.array(list(f"{when:%Y-%m-%d_%H:%M:%S}"), "S1")
            fields = surface(step, options.times, options.south_north, options.west_east)
            if options.levels:
                fields |= levels(fields, options.levels)
            for name, values in fields.items():
                file[name][step] = values


if __name__ == "__main__":
    main()
