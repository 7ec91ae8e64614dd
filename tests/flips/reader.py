# SPDX-License-Identifier: Apache-2.0
"""Reads files again and again, each time with another bit inverted: a child of `trials.py`.

The argument is a library. Each line of the input is [file, byte, bit to invert or null], as JSON.
For each a line of the output says what was read: a digest for each dataset, by name, and for each
of its attributes; what was refused is left out. The library may crash: then the lines stop.
"""

import hashlib
import json
import os
import resource
import signal
import sys
import warnings

import numpy as np

ELEMENTS_MAX = 1 << 16  # of datasets with more elements, the shape alone counts
SECONDS_MAX = 10.0  # of processor time
MEMORY_MAX = 4 << 30
UNKNOWN = "read, but of a type that NumPy does not have"


def digest(values):
    """Of the numbers, whatever their byte order."""
    values = np.asarray(values)
    if values.dtype.kind not in "biufc":
        return None
    native = values.astype(values.dtype.newbyteorder("="))
    hashed = hashlib.sha1(native.tobytes()).hexdigest()[:12]
    return f"{native.dtype.kind}{native.dtype.itemsize}{list(native.shape)} {hashed}"


def attribute(value):
    """Return the same for a scalar and a list of one, for text and bytes; None for other kinds.

    Text that is not ASCII, too, is left out: libraries differ in what they make of it.
    """
    value = np.asarray(value)
    if value.dtype.kind in "biuf":
        return repr([float(x) for x in value.ravel()])
    if value.dtype.kind in "SOU":
        texts = [x.decode("latin-1") if isinstance(x, bytes) else str(x) for x in value.flat]
        text = repr([x.rstrip("\0") for x in texts])
        return text if text.isascii() and all(x.isascii() for x in texts) else None
    return None


def with_fluvial(path):
    """Fluvial, by the way that reads any layout."""
    from fluvial._core import Error, open_file

    found = {}
    try:
        file = open_file(path)
        names = file.names
    except Error:
        return found
    for name in names:
        try:
            dataset = file.dataset(name)
            shape = dataset.shape
            found[name] = (
                f"shape {list(shape)}"
                if np.prod(shape, dtype=float) > ELEMENTS_MAX
                else digest(dataset.read((0,) * len(shape), shape))
            )
            for key, value in dataset.attributes.items():
                found[f"{name}@{key}"] = attribute(value)
        except Error:
            pass
    return found


def with_h5py(path):
    """libhdf5, in the version that h5py brings along."""
    import h5py

    found = {}

    def visit(group, prefix, depth):
        for name in group:
            if isinstance(name, bytes):  # that is no text
                continue
            try:
                item = group[name]
            except Exception:
                continue
            attributes = attempt(lambda i=item: list(i.attrs), [])
            if isinstance(item, h5py.Group) and "value" in attributes:
                add_constant(item, prefix + name)
            elif isinstance(item, h5py.Group) and depth < 5:
                visit(item, f"{prefix}{name}/", depth + 1)
            elif isinstance(item, h5py.Dataset):
                add(item, prefix + name)

    def add_constant(item, name):  # of openPMD
        shape = attempt(lambda: np.ravel(item.attrs["shape"]).tolist(), [])
        if np.prod(shape, dtype=float) > ELEMENTS_MAX:
            found[name] = f"shape {shape}"
        else:
            found[name] = attempt(lambda: digest(np.full(shape, item.attrs["value"])), None)

    def add(item, name):
        try:
            large = np.prod(item.shape, dtype=float) > ELEMENTS_MAX
            found[name] = f"shape {list(item.shape)}" if large else digest(item[()])
        except Exception:
            return
        for key in attempt(lambda: list(item.attrs), []):
            try:
                found[f"{name}@{key}"] = attribute(item.attrs[key])
            except ValueError as error:  # NumPy does not have every number type that libhdf5 knows
                found[f"{name}@{key}"] = UNKNOWN if "precision" in str(error) else None
            except Exception:
                pass

    try:
        with h5py.File(path, "r") as file:
            visit(file, "", 0)
    except Exception:
        pass
    return found


def with_netcdf4(path):
    """netCDF-C."""
    import netCDF4

    found = {}
    try:
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            file.set_auto_chartostring(False)
            for name, variable in file.variables.items():
                try:
                    shape = variable.shape
                    large = np.prod(shape, dtype=float) > ELEMENTS_MAX
                    found[name] = f"shape {list(shape)}" if large else digest(variable[...])
                except Exception:
                    continue
                for key in attempt(variable.ncattrs, []):
                    found[f"{name}@{key}"] = attempt(
                        lambda v=variable, key=key: attribute(v.getncattr(key)), None
                    )
    except Exception:
        pass
    return found


def attempt(call, otherwise):
    try:
        return call()
    except Exception:
        return otherwise


LIBRARIES = {"fluvial": with_fluvial, "h5py": with_h5py, "netCDF4": with_netcdf4}


def inverted(path, byte, bit):
    """Invert a bit in place; the second time everything is as it was."""
    if bit is None:
        return
    with open(path, "r+b", buffering=0) as file:
        before = os.pread(file.fileno(), 1, byte)[0]
        os.pwrite(file.fileno(), bytes([before ^ 1 << bit]), byte)


def main(library):
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    for line in sys.stdin:
        path, byte, bit = json.loads(line)
        inverted(path, byte, bit)
        signal.setitimer(signal.ITIMER_PROF, SECONDS_MAX)
        found = LIBRARIES[library](path)
        signal.setitimer(signal.ITIMER_PROF, 0)
        inverted(path, byte, bit)
        print(json.dumps({n: v for n, v in found.items() if v and n.isascii()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
