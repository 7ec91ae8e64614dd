# SPDX-License-Identifier: Apache-2.0
"""A simulation that is written for ADIOS2; `adios2.xml` says where its steps go."""

import adios2
import numpy as np

plate = np.zeros((60, 80))
plate[20:40, 30:50] = 100.0

io = adios2.Adios("adios2.xml").declare_io("heat")
with adios2.Stream(io, "plate", "w") as stream:
    for _ in stream.steps(5):
        stream.write("T", plate, shape=[60, 80], start=[0, 0], count=[60, 80])
        if stream.current_step() == 0:
            stream.write_attribute("units", "K", "T")
        for _ in range(50):
            inner = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
            plate[1:-1, 1:-1] = inner / 4
