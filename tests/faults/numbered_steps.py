# SPDX-License-Identifier: Apache-2.0
"""Streams of one process whose steps hold their own numbers."""

import numpy as np

import fluvial as fl


def put(series, index, n=1000):
    with series.step(time=index / 2) as step:
        step.put("x", np.full(n, float(index)))
    return step.accepted


def pair(name="disk", **options):
    writer = fl.open(name, "w", readers=0, queue_steps=2, step_timeout=1, **options)
    return writer, fl.open(name)


def indices(series):
    found = []
    for step in series:
        assert (step["x"].read() == step.index).all()
        found.append(step.index)
    return found
