# SPDX-License-Identifier: Apache-2.0
"""C functions of MPI_User_function type as operators."""

from __future__ import annotations

import numpy.typing as npt

from .._core import Builtin, declared_by
from ..base.arguments import to_dtype, to_int


class FromMPI(Builtin):
    """An operator from a C function of MPI_User_function type, as given to MPI_Op_create.

    The function computes ``inout[i] = in[i] ∘ inout[i]`` for ``i < *length``. It must be
    associative and commutative, and is called without the GIL. The result has the data's dtype;
    of nothing it is an InvalidArgument, since no identity is known. Weights are refused.

    Parameters
    ----------
    address
        Of the function: ``function.address`` of a numba ``@cfunc``, or a ctypes function pointer
        cast to an integer.
    dtype
        That the function is written for.
    datatype
        Bits of the MPI_Datatype that the function gets a pointer to; 0 for functions that do not
        look at it.
    name, version
        What ranks that reduce together know the function by, because functions cannot be compared.

    Examples
    --------
    >>> import ctypes, numpy as np, fluvial as fl
    >>> @ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 2,
    ...                   ctypes.POINTER(ctypes.c_int), ctypes.c_void_p)
    ... def farthest_from_zero(x, best, length, datatype):
    ...     for i in range(length[0]):
    ...         best[i] = max(x[i], best[i], key=abs)
    >>> address = ctypes.cast(farthest_from_zero, ctypes.c_void_p).value
    >>> float(fl.reduce(fl.ops.FromMPI(address, "float64"), np.array([1.0, -7.0, 3.0])))
    -7.0
    """

    def __init__(
        self,
        address: int,
        dtype: npt.DTypeLike,
        *,
        datatype: int = 0,
        name: str = "a function",
        version: str = "",
    ) -> None:
        super().__init__(
            address=to_int(address, "address", 0, 2**64 - 1),
            dtype=to_dtype(dtype).name,
            datatype=to_int(datatype, "datatype", 0, 2**64 - 1),
            declared=declared_by(None, name, version),
        )
