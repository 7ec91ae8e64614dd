# SPDX-License-Identifier: Apache-2.0
"""Particles that are carried by a vector field, traced by several ranks together.

The field is periodic and stored on a grid of N³ points. It is cut into blocks, which are given
to the ranks in turn; each block has its own points and a margin of its neighbours'. A rank moves
the particles of its blocks by the Runge-Kutta method of fourth order until they leave the block,
and hands them over to the rank that has the next one.
"""

import dataclasses
import math

import numpy as np

MARGIN = 2  # points; a step must not lead further


def abc_flow(x, y, z):
    """Return the flow of Arnold, Beltrami and Childress, whose streamlines are partly chaotic."""
    a, b, c = math.sqrt(3), math.sqrt(2), 1.0
    return (
        a * np.sin(z) + c * np.cos(y),
        b * np.sin(x) + a * np.cos(z),
        c * np.sin(y) + b * np.cos(x),
    )


def taylor_green(x, y, z):
    """Return the vortex of Taylor and Green."""
    return (
        np.sin(x) * np.cos(y) * np.cos(z),
        -np.cos(x) * np.sin(y) * np.cos(z),
        np.zeros_like(x),
    )


@dataclasses.dataclass(frozen=True)
class Problem:
    """What is traced; lengths are in distances of the grid's points."""

    field: object = abc_flow
    points: int = 64
    particles: int = 2000
    steps: int = 100
    step: float = 0.25  # of a grid's distance at the speed 1

    def seeds(self):
        """Return where the particles begin: (particles, 3)."""
        return np.random.default_rng(7).uniform(0, self.points, (self.particles, 3))

    def stored(self, low, high):
        """Return the field at the grid's points from `low` up to `high`: (3, …)."""
        axes = [np.arange(a, b) * (2 * np.pi / self.points) for a, b in zip(low, high, strict=True)]
        return np.stack(np.broadcast_arrays(*self.field(*np.meshgrid(*axes, indexing="ij"))))


def cut(blocks):
    """Return how many blocks stand along each axis: as equal as can be."""
    shape = [1, 1, 1]
    left = blocks
    for divisor in range(2, blocks + 1):
        while left % divisor == 0:
            left //= divisor
            shape.append(divisor)
    shape, factors = shape[:3], sorted(shape[3:], reverse=True)
    for factor in factors:
        shape[shape.index(min(shape))] *= factor
    return tuple(shape)


class Block:
    """A part of the field, and what moves particles in it."""

    def __init__(self, problem, low, high):
        self.low, self.high = np.asarray(low), np.asarray(high)
        self.origin = self.low - MARGIN
        self.values = problem.stored(self.origin, self.high + MARGIN + 1)
        self.step = problem.step

    def velocity(self, at):
        """Return the field at positions (n, 3), interpolated between the points around each."""
        corner = np.floor(at).astype(np.int64)
        part = at - corner
        corner -= self.origin
        i, j, k = corner.T
        fx, fy, fz = part.T
        values = 0.0
        for di, wx in ((0, 1 - fx), (1, fx)):
            for dj, wy in ((0, 1 - fy), (1, fy)):
                for dk, wz in ((0, 1 - fz), (1, fz)):
                    values = values + wx * wy * wz * self.values[:, i + di, j + dj, k + dk]
        return values.T

    def moved(self, at):
        """Return positions one step later."""
        h = self.step
        k1 = self.velocity(at)
        k2 = self.velocity(at + 0.5 * h * k1)
        k3 = self.velocity(at + 0.5 * h * k2)
        k4 = self.velocity(at + h * k3)
        return at + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def has(self, at):
        """Tell which positions are in it."""
        return ((at >= self.low) & (at < self.high)).all(axis=1)


class Decomposition:
    """Which block is where, and which rank has it: they are dealt out one by one."""

    def __init__(self, problem, blocks, ranks):
        self.shape = cut(blocks)
        if max(self.shape) > problem.points:
            raise ValueError(f"{blocks} blocks of a field of {problem.points} points a side")
        self.edges = [
            np.linspace(0, problem.points, count + 1).round().astype(int) for count in self.shape
        ]
        self.ranks = ranks

    def bounds(self, number):
        """Return the lowest and the highest corner of a block."""
        index = np.unravel_index(number, self.shape)
        low = [edges[i] for edges, i in zip(self.edges, index, strict=True)]
        high = [edges[i + 1] for edges, i in zip(self.edges, index, strict=True)]
        return low, high

    def block_of(self, at):
        """Return the numbers of the blocks that positions (n, 3) are in."""
        index = [
            np.searchsorted(edges, column, "right") - 1
            for edges, column in zip(self.edges, at.T, strict=True)
        ]
        return np.ravel_multi_index(index, self.shape)


def trace(comm, blocks_of_rank, problem, note=None):
    """Trace all particles on the ranks of `comm`, with so many blocks each.

    Collective. Returns on each rank the particles that end there: an array of rows (number,
    steps done, x, y, z), x, y and z not wrapped around the box; and how many rounds it took.
    `note(numbers, step, positions)` is told each step of each particle.
    """
    size = problem.points
    decomposition = Decomposition(problem, blocks_of_rank * comm.size, comm.size)
    mine = range(comm.rank, blocks_of_rank * comm.size, comm.size)
    blocks = {number: Block(problem, *decomposition.bounds(number)) for number in mine}
    seeds = problem.seeds()
    numbers = np.arange(problem.particles)
    rows = np.column_stack([numbers, np.zeros(len(numbers)), seeds, np.zeros((len(seeds), 3))])
    rows = rows[decomposition.block_of(seeds) % comm.size == comm.rank]
    ended, rounds = [], 0
    while True:
        leaving = []
        where = decomposition.block_of(rows[:, 2:5])
        for number in np.unique(where):
            done, gone = _advance(blocks[number], rows[where == number], problem, note)
            ended.append(done)
            leaving.append(gone)
        rows = np.concatenate([np.empty((0, 8)), *leaving])
        turns = np.floor(rows[:, 2:5] / size)
        rows[:, 5:8] += turns
        rows[:, 2:5] -= turns * size
        rows[:, 2:5] = np.where(rows[:, 2:5] >= size, 0.0, rows[:, 2:5])  # of -1e-17
        rounds += 1
        owners = decomposition.block_of(rows[:, 2:5]) % comm.size
        rows = _handed_over(comm, [rows[owners == rank] for rank in range(comm.size)])
        if comm.allreduce(len(rows)) == 0:
            break
    all_ended = np.concatenate([np.empty((0, 8)), *ended])
    positions = all_ended[:, 2:5] + size * all_ended[:, 5:8]
    return np.column_stack([all_ended[:, :2], positions]), rounds


def _advance(block, rows, problem, note):
    """Move particles until each is at its end or out of the block; return these, and those."""
    done, gone = [], []
    while len(rows):
        rows[:, 2:5] = block.moved(rows[:, 2:5])
        rows[:, 1] += 1
        if note is not None:
            note(rows[:, 0], rows[:, 1], rows[:, 2:5] + problem.points * rows[:, 5:8])
        at_end, inside = rows[:, 1] >= problem.steps, block.has(rows[:, 2:5])
        done.append(rows[at_end])
        gone.append(rows[~at_end & ~inside])
        rows = rows[~at_end & inside]
    return np.concatenate(done), np.concatenate(gone)


def _handed_over(comm, parts):
    """Send each rank its part; return what the others have sent."""
    counts = np.array([part.size for part in parts])
    coming = np.empty_like(counts)
    comm.Alltoall(counts, coming)
    received = np.empty(coming.sum())
    comm.Alltoallv([np.concatenate(parts).ravel(), counts], [received, coming])
    return received.reshape(-1, 8)


def trace_alone(problem):
    """Return where the particles end, (particles, 3), without blocks and without MPI."""
    whole = Block(problem, (0, 0, 0), (problem.points,) * 3)
    at, turns = problem.seeds(), 0.0
    for _ in range(problem.steps):
        at = whole.moved(at)
        over = np.floor(at / problem.points)
        turns = turns + over
        at = at - over * problem.points
    return at + turns * problem.points
