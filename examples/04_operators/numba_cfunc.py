# SPDX-License-Identifier: Apache-2.0
"""A user-defined operator as a numba cfunc of MPI_User_function type: the sum in quadrature.

The same address could be given to MPI_Op_create. It runs without the interpreter.
It needs numba: pip install numba.
"""

import numba
import numpy as np
from numba import types

import fluvial as fl

signature = types.void(
    types.CPointer(types.double),  # in
    types.CPointer(types.double),  # inout
    types.CPointer(types.intc),  # length
    types.voidptr,  # datatype
)


@numba.cfunc(signature)
def in_quadrature(one, other, length, datatype):
    """other[i] = sqrt(one[i]² + other[i]²)."""
    for i in range(length[0]):
        other[i] = np.sqrt(one[i] ** 2 + other[i] ** 2)


errors = np.array([[3.0, 4.0, 12.0], [8.0, 9.0, 12.0]])
quadrature = fl.ops.FromMPI(in_quadrature.address, "float64")
print("all:", fl.reduce(quadrature, errors))
print("of each row:", fl.reduce(quadrature, errors, over=1))
