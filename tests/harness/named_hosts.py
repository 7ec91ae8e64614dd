# SPDX-License-Identifier: Apache-2.0
"""Ranks that believe to be on several hosts, and what each has of an array."""

import socket

import numpy as np

SHAPE = (23, 50, 4)


def field(index, shape=SHAPE):
    return np.arange(np.prod(shape), dtype="f4").reshape(shape) + 1000 * index


def name_hosts(comm, ranks):
    """Have so many ranks in a row believe that they are on one host."""
    socket.gethostname = lambda: f"node{comm.rank // ranks}"


def cut(size, parts, part):
    cuts = np.linspace(0, size, parts + 1).astype(int)
    return slice(int(cuts[part]), int(cuts[part + 1]))


def boxes(comm, shape, index):
    """Return the parts of this rank: slabs, columns, columns of the last axis, or two corners."""
    if index < 3:
        mine = cut(shape[index], comm.size, comm.rank)
        return [tuple(mine if axis == index else slice(0, n) for axis, n in enumerate(shape))]
    rows, half = cut(shape[0], comm.size, comm.rank), shape[1] // 2
    full = slice(0, shape[2])
    return [(rows, slice(half, shape[1]), full), (rows, slice(0, half), full)]
